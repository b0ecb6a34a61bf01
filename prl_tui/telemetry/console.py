"""What a run's console output tells: metric dicts, the training's bar, milestones, the first error.

The text is one growing file, what a pipe received: bars repaint with carriage returns, ranks' texts may run into
each other (`…4.25it/s][rank1]: Traceback`), and under `PET_TEE` each rank's text begins with `[default0]:`,
possibly in the middle of a line. Only rank 0's metrics and bars count. Only frames with a trigger in them cost
more than a search.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prl_tui import steady
from prl_tui.telemetry import swallowed
from prl_tui.telemetry.console_dicts import find_dicts
from prl_tui.telemetry.error_lines import ERROR_TRIGGER, ErrorMark, FirstErrors
from prl_tui.telemetry.escapes import plain
from prl_tui.telemetry.followed_tail import Frame, FrameTail
from prl_tui.telemetry.metrics import MetricRow, MetricTable, row_of
from prl_tui.telemetry.milestones import SWIFT_ANCHORS, Anchor, Milestones, trigger_of
from prl_tui.telemetry.progress import BAR_TRIGGER, TRAINING_BARS, TrainingBar, read_bar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

_KEY = rb"(?:loss|reward|train_loss|train_runtime|eval[\w/]*)"
_METRIC_KEY = rb"'" + _KEY + rb"'\s*:|\"" + _KEY + rb"\"\s*:"
_TEE = re.compile(rb"\[default(\d{1,6})\]:")
_BAR_END = re.compile(rb"(?:it/s|s/it)[^\]\r\n]*\]")
_UP = b"\x1b[A"  # tqdm draws a lower bar and moves back up
_LONGEST = 64 << 10  # bytes of one frame that are looked at
_PAIR = re.compile(r"([A-Za-z_][\w/.()]*)[ =:]+([-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|nan|inf))(?![\w.])")


@dataclass(frozen=True, slots=True)
class ConsoleFormat:
    """How a program writes to its console; the default is ms-swift's and the transformers Trainer's."""

    bars: tuple[str, ...] = TRAINING_BARS
    """Descriptions of the training's bar, as patterns; empty: a bar without one."""
    anchors: tuple[Anchor, ...] = SWIFT_ANCHORS
    metric_lines: tuple[str, ...] = ()
    """Patterns of metrics written as plain lines: groups `step`, `total`, `epoch`, `pairs` (a run of `name value`);
    any other group is a metric of that name."""
    failures: tuple[str, ...] = ()
    """Patterns of failures that the program goes on from (`telemetry.swallowed`)."""


class ConsoleReader:
    """Reads the console of a run as it grows: one file, or the two of a rank whose output was not merged."""

    def __init__(
        self,
        paths: Sequence[Path],
        console: ConsoleFormat | None = None,
        clock: Callable[[], float] = steady.seconds,
        *,
        short: bool = False,
    ) -> None:
        """`short`: of a huge file only the start and the end (`FrameTail`)."""
        self.paths = tuple(paths)
        self._short = short
        self._format = console or ConsoleFormat()
        self._clock = clock
        self._lines = [re.compile(pattern) for pattern in self._format.metric_lines]
        self._tails: tuple[FrameTail, ...] = ()
        self._start_again()

    @property
    def position(self) -> int:
        """Bytes read so far."""
        return sum(tail.position for tail in self._tails)

    @property
    def behind(self) -> bool:
        """Whether the last poll left bytes for the next one."""
        return any(tail.behind for tail in self._tails)

    @property
    def problems(self) -> tuple[OSError, ...]:
        """Why files cannot be read now."""
        return tuple(tail.problem for tail in self._tails if tail.problem)

    @property
    def modified(self) -> float | None:
        """When a file last changed, in seconds since the epoch; None before there is one."""
        return max((tail.modified for tail in self._tails if tail.modified is not None), default=None)

    @property
    def errors(self) -> dict[Path, ErrorMark]:
        """The first line of each file that looks like an error, of those that have one."""
        return {path: found.first for path, found in self.first_errors.items() if found.first is not None}

    def poll(self, budget: int = 4 << 20, ended: bool = False) -> bool:
        """Read at most `budget` new bytes of each file; whether they told anything.

        `ended`: no more will be written, so what is unfinished is taken as it is.
        """
        told = False
        for number, tail in enumerate(self._tails):
            frames = tail.poll(budget)
            if tail.generation:  # truncated or replaced: what was read is void
                self._start_again()
                return True
            for frame in frames:
                told |= self._take(frame, tail.path)
            if not tail.behind:
                told |= self._look_ahead(number, ended)
        if not self.behind:
            self._live = True
        return told

    def close(self) -> None:
        """Give the file descriptors back."""
        for tail in self._tails:
            tail.close()

    def _start_again(self) -> None:
        self.close()
        self._tails = tuple(FrameTail(path, self._wanted(), short=self._short) for path in self.paths)
        self.table = MetricTable()
        self.bar = TrainingBar(self._format.bars)
        self.milestones = Milestones(self._format.anchors)
        self.swallowed = swallowed.Finder(self._format.failures)
        """Of every rank."""
        self.first_errors = {path: FirstErrors() for path in self.paths}
        """Of each file."""
        self._waiting: list[MetricRow] = []
        self._ahead: dict[int, Frame] = {}
        self._live = False

    def _wanted(self) -> re.Pattern[bytes]:
        patterns = [anchor.pattern for anchor in self._format.anchors]
        patterns += [*self._format.metric_lines, swallowed.TORCHRUN, *self._format.failures]
        triggers = [BAR_TRIGGER, _METRIC_KEY, ERROR_TRIGGER]
        triggers.append(trigger_of(patterns))
        return re.compile(b"|".join(triggers), re.MULTILINE)

    def _look_ahead(self, number: int, ended: bool) -> bool:
        """A bar is whole before its line is; when no more comes, so is everything else."""
        told = False
        pending = self._tails[number].pending
        if ended and pending.text and pending != self._ahead.get(number):
            self._ahead[number] = pending
            told = self._take(pending, self.paths[number])
        elif _BAR_END.search(pending.text):
            for rank, part, text in _by_rank(pending.text):
                told |= rank == 0 and self._take_bar(part, text, whole=False)
        if ended:
            told |= self._release_rows(None)
        return told

    def _take(self, frame: Frame, path: Path) -> bool:
        told = False
        now = self._clock() if self._live else None
        for rank, part, text in _by_rank(frame.text):
            told |= self.first_errors[path].take(path, frame.line, text)
            told |= self.swallowed.take(text)
            if rank == 0:
                told |= self._take_bar(part, text)
                told |= self._take_metrics(text)
                told |= self.milestones.observe(text, frame.line, now)
        return told

    def _take_bar(self, part: bytes, text: str, whole: bool = True) -> bool:
        """`whole`: the frame has ended, so that what tells a nested bar is there."""
        bar = read_bar(text, nested=part.rstrip().endswith(_UP))
        before = self.bar.current
        if bar is None or not (whole or bar.description or (before and before.total == bar.total)):
            return False
        if not self.bar.observe(bar):
            return False
        released = self._release_rows(self.bar.current.step if self.bar.current else None)
        return released or self.bar.current != before

    def _take_metrics(self, text: str) -> bool:
        records = find_dicts(text) if "{" in text else []
        rows = [row for record in records if (row := row_of(record, needs_known_key=True)) is not None]
        if not rows and self._lines:
            rows = [row for pattern in self._lines if (row := _row_of_line(pattern, text)) is not None][:1]
        for row in rows:
            if row.kind == "train":
                self.bar.confirm()
            if row.step is None and row.kind in ("train", "eval") and self.bar.current is not None:
                # The Trainer repaints its bar right after it wrote a dict: the next bar tells the step.
                self._release_rows(None)
                self._waiting.append(row)
            else:
                self._release_rows(None)
                self.table.add(row)
        return bool(rows)

    def _release_rows(self, step: int | None) -> bool:
        """Rows that waited for a bar enter the table, with the step it showed."""
        for row in self._waiting:
            self.table.add(row.at_step(step))
        released = bool(self._waiting)
        self._waiting.clear()
        return released


def _by_rank(raw: bytes) -> Iterator[tuple[int, bytes, str]]:
    """Each rank's text in a frame: local rank (the launcher counts as 0), raw and plain."""
    rank, position = 0, 0
    raw = raw[:_LONGEST]
    for mark in [*_TEE.finditer(raw), None]:
        part = raw[position : mark.start() if mark else len(raw)]
        if part:
            yield rank, part, plain(part)
        if mark:
            rank, position = int(mark[1]), mark.end()


def _row_of_line(pattern: re.Pattern[str], text: str) -> MetricRow | None:
    """The row that a plain metric line stands for, or None if it is not one."""
    match = pattern.search(text)
    if match is None:
        return None
    groups = {name: value for name, value in match.groupdict().items() if value is not None}
    record: dict[str, object] = dict(_PAIR.findall(groups.pop("pairs", "")))
    step, total = groups.pop("step", None), groups.pop("total", None)
    if step and total:
        record["global_step/max_steps"] = f"{step}/{total}"
    elif step:
        record["step"] = step
    return row_of(record | groups)
