"""How far a training is and when it will be done, from progress bars and metric rows.

A console carries many tqdm bars: loading weights, evaluating, writing shards. Only one is the training's, told by
its description (`Train` in ms-swift, `Epoch a/b` in plain loops) or, where it has none (the transformers Trainer),
by not being nested and by the metric rows that arrive while it runs.
"""

from __future__ import annotations

import math
import re
from collections import deque
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from prl_tui.telemetry import counts
from prl_tui.telemetry.durations import parse_clock

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prl_tui.telemetry.metrics import MetricRow

TRAINING_BARS = ("Train", "", r"Epoch:?\s*(?P<epoch>\d+)(?:/(?P<epochs>\d+))?")
"""Descriptions of the training's bar, as patterns; the empty one is a bar without description."""

BAR_TRIGGER = rb"%\|"
"""What every bar has."""

_BAR = re.compile(
    r"(?P<percent>\d{1,3})%\|[^|]*\|\s*(?P<step>\d+)/(?P<total>\d+)\s*"
    r"\[(?P<elapsed>[\d:]+)<(?P<remaining>[\d:?]+),\s*(?P<rate>\d+(?:\.\d*)?|\.\d+|\?)\s*(?P<unit>it/s|s/it)"
)
_WINDOW_SECONDS = 60.0  # recent speed is over at least this long where rows reach back so far
_LEAST_SECONDS = 10.0  # below it, elapsed times (whole seconds) are too coarse for a speed


@dataclass(frozen=True, slots=True)
class Progress:
    """Where the training stands."""

    step: int
    total: int | None
    """None where nothing says how far it goes."""
    epoch: float | None = None
    seconds_per_step: float | None = None
    """Recent speed."""
    eta_seconds: float | None = None
    """Until the last step, at the recent speed."""
    source: Literal["metrics", "bar"] = "metrics"
    """Which of the two gave the step."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One state of a tqdm bar."""

    description: str
    step: int
    total: int
    seconds_per_step: float | None
    remaining: float | None
    """Seconds, by the bar itself."""
    nested: bool
    """Drawn below another bar."""


def read_bar(text: str, nested: bool = False) -> Bar | None:
    """The bar in one frame of console text (other text may be glued to it), or None."""
    match = _BAR.search(text)
    if match is None or int(match["percent"]) > 100:
        return None
    step, total = counts.count(match["step"]), counts.count(match["total"])
    if step is None or total is None:
        return None
    rate = None if match["rate"] == "?" else float(match["rate"])
    pace = None if not rate or math.isinf(rate) else rate if match["unit"] == "s/it" else 1 / rate
    return Bar(
        description=_description(text[: match.start()]),
        step=step,
        total=total,
        seconds_per_step=pace,
        remaining=parse_clock(match["remaining"]),
        nested=nested,
    )


def _description(before: str) -> str:
    """What stands before a bar: `Train` of `…it/s]Train: `."""
    before = before.rstrip()
    return re.split(r"[|%\]]", before[:-1])[-1].strip() if before.endswith(":") else ""


class TrainingBar:
    """Follows the training's bar among all bars of a console."""

    def __init__(self, descriptions: Sequence[str] = TRAINING_BARS) -> None:
        self.current: Bar | None = None
        """The newest state of the training's bar, in steps of the whole training."""
        self.epoch: float | None = None
        """Epochs done, where the bar counts them."""
        self._patterns = [re.compile(pattern) for pattern in descriptions if pattern]
        self._bare_allowed = "" in descriptions
        self._described = False
        self._confirmed = False
        self._candidate: Bar | None = None

    def observe(self, bar: Bar) -> bool:
        """Take in a bar; whether it is the training's."""
        match = next((found for pattern in self._patterns if (found := pattern.fullmatch(bar.description))), None)
        if match is not None:
            self._described = True
            self.current = self._over_epochs(bar, match)
            return True
        if bar.description or not self._bare_allowed or self._described or bar.nested:
            return False
        if self._confirmed and self.current is not None and bar.total != self.current.total:
            self._candidate = bar
            return False
        self.current = bar
        return True

    def confirm(self) -> None:
        """A train row arrived: the newest bare bar is the training's."""
        if self._candidate is not None:
            self.current, self._candidate = self._candidate, None
        self._confirmed = self._confirmed or self.current is not None

    def _over_epochs(self, bar: Bar, match: re.Match[str]) -> Bar:
        """A bar that starts anew each epoch, as one over the whole training."""
        groups = match.groupdict()
        if not groups.get("epoch") or bar.total == 0:
            return bar
        epoch = counts.count(groups["epoch"])
        epochs = counts.count(groups.get("epochs") or groups["epoch"])
        if epoch is None or epochs is None or max(epoch, epochs) * bar.total > counts.MOST:
            return bar
        done = epoch - 1
        self.epoch = done + bar.step / bar.total
        return Bar(
            description=bar.description,
            step=done * bar.total + bar.step,
            total=max(epochs, done + 1) * bar.total,
            seconds_per_step=bar.seconds_per_step,
            remaining=None,
            nested=bar.nested,
        )


class Pace:
    """Recent seconds per step, from the elapsed times of metric rows."""

    def __init__(self) -> None:
        self._points: deque[tuple[int, float]] = deque(maxlen=256)

    def add(self, row: MetricRow) -> None:
        """Take in a row; those without step or elapsed time say nothing."""
        if row.kind != "train" or row.step is None or row.elapsed is None:
            return
        if self._points and (row.step < self._points[-1][0] or row.elapsed < self._points[-1][1]):
            self._points.clear()  # resumed: another clock
        self._points.append((row.step, row.elapsed))

    def seconds_per_step(self) -> float | None:
        """Over the last minute, or as far back as rows reach; None while that is under ten seconds."""
        if not self._points:
            return None
        last_step, last_time = self._points[-1]
        old_enough = (point for point in reversed(self._points) if last_time - point[1] >= _WINDOW_SECONDS)
        step, time = next(old_enough, self._points[0])
        if last_time - time < _LEAST_SECONDS or last_step <= step:
            return None
        return (last_time - time) / (last_step - step)

    def median_step(self) -> float | None:
        """Usual seconds per step over all rows that are kept; one long evaluation does not change it."""
        return _median([(late[1] - early[1]) / (late[0] - early[0]) for early, late in self._pairs()])

    def median_report(self) -> float | None:
        """Usual seconds between two rows of different steps."""
        return _median([late[1] - early[1] for early, late in self._pairs()])

    def _pairs(self) -> list[tuple[tuple[int, float], tuple[int, float]]]:
        return [(early, late) for early, late in pairwise(self._points) if late[0] > early[0]]


def _median(numbers: list[float]) -> float | None:
    return sorted(numbers)[len(numbers) // 2] if numbers else None


def pace_of(rows: Iterable[MetricRow]) -> Pace:
    """The pace after these rows."""
    pace = Pace()
    for row in rows:
        pace.add(row)
    return pace


def progress_of(
    row: MetricRow | None,
    total: int | None,
    pace: float | None,
    bar: Bar | None,
    bar_epoch: float | None = None,
    told: int | None = None,
) -> Progress | None:
    """The furthest that the newest row (its training has `total` steps) and the training's bar tell.

    `pace`: recent seconds per step from the rows, if known; else the row's average, else the bar's own.
    `told`: the step that the rows themselves name, which counts where nothing tells the total.
    """
    from_bar = bar is not None and (row is None or row.step is None or not total or bar.step > row.step)
    if bar is not None and total and bar.total != total:
        from_bar = False  # not this training's
    step, whole = None, total or None
    if bar is not None and from_bar:
        step, whole = bar.step, total or bar.total
    elif row is not None:
        step = row.step if total else told
    if step is None:
        return None
    average = row.seconds_per_step if row is not None else None
    speed = pace or average or (bar.seconds_per_step if bar is not None else None)
    eta = _eta(step, whole, speed)
    if eta is None:
        eta = row.remaining if row is not None else None
    epoch = bar_epoch if bar_epoch is not None else row.epoch if row is not None else None
    return Progress(step, whole, epoch, speed, eta, "bar" if from_bar else "metrics")


def _eta(step: int, total: int | None, speed: float | None) -> float | None:
    if total is None:
        return None
    left = max(0, total - step)
    return 0.0 if left == 0 else left * speed if speed is not None else None
