"""What a trainer reports: rows of metrics from `logging.jsonl`, and the series that charts draw.

The shapes are ms-swift's (3.3 to 4.6) and the transformers Trainer's; a row's kind is told by its keys. A table
keeps every series (thinned out, spikes kept) and the last rows, so its memory is bounded.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections import deque
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from prl_tui.telemetry import counts
from prl_tui.telemetry.durations import parse_duration
from prl_tui.telemetry.followed_tail import LineTail
from prl_tui.telemetry.series import Series, SeriesBuffer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Kind = Literal["train", "eval", "end", "summary"]

KEPT_ROWS = 1024
MOST_SERIES = 512
_STEP_OF = re.compile(r"(\d+)/(\d+)")
_STEP_KEYS = ("global_step/max_steps", "iteration")
_PLAIN_STEP_KEYS = ("global_step", "step")
_SPENT = ("elapsed_time", "remaining_time", "percentage", "epoch", *_STEP_KEYS)
_NO_SERIES = frozenset({"eval_runtime", "eval_samples_per_second", "eval_steps_per_second", *_PLAIN_STEP_KEYS})
_TEXT_LIMIT = 200
_DEEPEST = 16  # dicts in dicts
_HISTORY = b'"log_history"'


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One report of the trainer."""

    kind: Kind
    step: int | None
    """Optimizer steps done; None where the row does not say and order does not tell."""
    total: int | None = None
    """Steps that the training will have."""
    values: Mapping[str, float] = field(default_factory=dict)
    """Numbers by the trainer's own names, nan and infinities as they are; nested ones as `outer/inner`."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """What is no number."""
    epoch: float | None = None
    elapsed: float | None = None
    """Seconds since training started."""
    remaining: float | None = None
    """Seconds that the trainer expects to need."""
    seconds_per_step: float | None = None
    """Average since training started, whichever unit the trainer prints."""
    memory_gib: float | None = None

    def at_step(self, step: int | None) -> MetricRow:
        """The same row with this step, where it has none of its own."""
        return self if step is None or self.step is not None else replace(self, step=step)


def row_of(record: Mapping[str, object], needs_known_key: bool = False) -> MetricRow | None:
    """The row that a record stands for; None if it is none.

    `needs_known_key`: take only what surely is a trainer's report (for dicts found in console text).
    """
    values: dict[str, float] = {}
    texts: dict[str, str] = {}
    _flatten(record, "", values, texts)
    kind = _kind_of(record, values, needs_known_key)
    if kind is None:
        return None
    step, total = _step_of(values, texts, plain_too=kind in ("train", "eval"))
    return MetricRow(
        kind=kind,
        step=step,
        total=total,
        epoch=values.get("epoch"),
        elapsed=parse_duration(texts.get("elapsed_time", "")),
        remaining=parse_duration(texts.get("remaining_time", "")),
        seconds_per_step=_seconds_per_step(values),
        memory_gib=values.get("memory(GiB)"),
        values=MappingProxyType({name: value for name, value in values.items() if name not in _SPENT}),
        texts=MappingProxyType({name: text for name, text in texts.items() if name not in _SPENT}),
    )


def _kind_of(record: Mapping[str, object], values: Mapping[str, float], strict: bool) -> Kind | None:
    if "last_model_checkpoint" in record or "log_history" in record:
        return "summary"
    if "train_runtime" in record:
        return "end"
    if "eval_loss" in values or "eval_runtime" in values or "eval_reward" in values:
        return "eval"
    if "loss" in values or "reward" in values:
        return "train"
    if any(name.startswith(("eval_", "eval/")) for name in values):
        return "eval"
    if "train_loss" in values:
        return "train"
    return "train" if values and not strict else None


def _flatten(
    record: Mapping[str, object], prefix: str, values: dict[str, float], texts: dict[str, str], deep: int = 0
) -> None:
    for key, value in record.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            if deep < _DEEPEST:
                _flatten(value, f"{name}/", values, texts, deep + 1)
        elif (number := _number(value)) is not None:
            values[name] = number
        elif value is not None and not isinstance(value, list):
            with contextlib.suppress(ValueError):  # a whole number beyond what can be written in digits
                texts[name] = str(value)[:_TEXT_LIMIT]


def _number(value: object) -> float | None:
    """The float that `value` is or is clearly written as: transformers 5 quotes its numbers."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _step_of(values: Mapping[str, float], texts: Mapping[str, str], plain_too: bool) -> tuple[int | None, int | None]:
    for key in _STEP_KEYS:
        match = _STEP_OF.fullmatch(texts.get(key, ""))
        found = (counts.count(match[1]), counts.count(match[2])) if match else (None, None)
        if found[0] is not None and found[1] is not None:
            return found
    for key in _PLAIN_STEP_KEYS if plain_too else ():
        number = values.get(key)
        if number is not None and number.is_integer() and 0 <= number <= counts.MOST:
            return int(number), None
    return None, None


def _seconds_per_step(values: Mapping[str, float]) -> float | None:
    slow = values.get("train_speed(s/it)")
    fast = values.get("train_speed(iter/s)")
    if slow is not None and 0 < slow < math.inf:
        return slow
    return 1 / fast if fast is not None and 0 < fast < math.inf else None


class MetricTable:
    """Rows in the order of their arrival, and one series per metric."""

    def __init__(self) -> None:
        self.count = 0
        """Rows so far."""
        self.last: dict[Kind, MetricRow] = {}
        """The newest row of each kind."""
        self.total: int | None = None
        """Steps of the training, as the newest row that says so has it."""
        self._rows: deque[MetricRow] = deque(maxlen=KEPT_ROWS)
        self._buffers: dict[str, SeriesBuffer] = {}
        self.told: int | None = None
        """The last step that a training row named itself."""
        self.furthest = 0
        """The greatest step of all training rows: a restart goes back."""
        self._last_step: int | None = None
        self._views: Mapping[str, Series] | None = None

    @property
    def rows(self) -> tuple[MetricRow, ...]:
        """The last rows (at most 1,024)."""
        return tuple(self._rows)

    def newest(self, count: int) -> tuple[MetricRow, ...]:
        """The last `count` rows, or as many as are kept."""
        kept = len(self._rows)
        return tuple(self._rows[index] for index in range(max(0, kept - count), kept))

    def series(self) -> Mapping[str, Series]:
        """A view of each metric's points; the same object until a row is added."""
        if self._views is None:
            self._views = MappingProxyType({name: buffer.view() for name, buffer in self._buffers.items()})
        return self._views

    def add(self, row: MetricRow) -> None:
        """Take in one row; a train or eval row without a step gets it from its place."""
        if row.kind == "train" and row.step is not None:
            self.told = row.step
        if row.step is None and row.kind in ("train", "eval"):
            row = replace(row, step=(self._last_step or 0) + (row.kind == "train"))
        self.count += 1
        self._rows.append(row)
        self.last[row.kind] = row
        self.total = row.total or self.total
        if row.step is None or row.kind not in ("train", "eval"):
            return
        if row.kind == "train":
            self._last_step = row.step
            self.furthest = max(self.furthest, row.step)
        self._views = None
        for name, value in row.values.items():
            if name in self._buffers or (name not in _NO_SERIES and len(self._buffers) < MOST_SERIES):
                self._buffers.setdefault(name, SeriesBuffer()).append(row.step, value)


class MetricsFile:
    """A growing `logging.jsonl` and its table."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.table = MetricTable()
        self.unreadable_lines = 0
        """Whole lines that are no record."""
        self._tail = LineTail(path)
        self._generation = 0

    @property
    def problems(self) -> tuple[OSError, ...]:
        """Why the file cannot be read now."""
        return (self._tail.problem,) if self._tail.problem else ()

    @property
    def behind(self) -> bool:
        """Whether the last poll left bytes for the next one."""
        return self._tail.behind

    @property
    def modified(self) -> float | None:
        """When the file last changed, in seconds since the epoch; None before it exists."""
        return self._tail.modified

    def poll(self, budget: int = 4 << 20, ended: bool = False) -> bool:
        """Read at most `budget` new bytes; whether a row came. `ended`: no more will be written."""
        lines = self._tail.poll(budget)
        if self._tail.generation != self._generation:
            self._generation = self._tail.generation
            self.table, self.unreadable_lines = MetricTable(), 0
        if ended and not self._tail.behind and self._tail.pending:
            lines.append(self._tail.take_pending())
        before = self.table.count
        for line in lines:
            self._take(line)
        return self.table.count != before

    def close(self) -> None:
        """Give the file descriptor back."""
        self._tail.close()

    def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        record = _record_of(line)
        row = None if record is None else row_of(record)
        if row is None:
            self.unreadable_lines += 1
        else:
            self.table.add(row)


def _record_of(line: bytes) -> dict[str, object] | None:
    """The JSON object on a line. Of a line that a crash cut and the next start wrote on, the later one."""
    history = line.find(_HISTORY)
    if history > 0:  # the whole history once more, many megabytes after a long run: never parsed
        line = line[:history].rstrip(b", ") + b"}"
    for start in (0, line.rfind(b'{"')):
        if start < 0:
            continue
        try:
            record = json.loads(line[start:])
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            return record
    return None
