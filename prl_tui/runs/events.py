"""A run as events, each told once: for `watch --json`, and for waiting until something has happened."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from prl_tui.core.secrets import hidden_said
from prl_tui.i18n import t

if TYPE_CHECKING:
    from prl_tui.runs.overview import Overview
    from prl_tui.telemetry.metrics import MetricRow

Goal = Literal["finished", "failed"] | int
"""What is waited for: the end of the training, the first error, or a step."""
_STEP = re.compile(r"step=([1-9][0-9]{0,11})")


def goal(text: str) -> Goal:
    """`finished`, `failed` or `step=N`; ValueError with one sentence for anything else."""
    if text == "finished":
        return "finished"
    if text == "failed":
        return "failed"
    step = _STEP.fullmatch(text)
    if step is None:
        raise ValueError(t("{text}: finished, failed or step=N is needed, for example step=100.", text=text))
    return int(step[1])


def reached(wanted: Goal, one: Overview) -> bool:
    """Whether it has happened. `finished`: the training is done and nothing of the run is left.

    `failed`: a log shows an error, or the run ended badly. A step: it is done.
    """
    state = one.status.state
    if wanted == "finished":
        return state in {"finished", "finished-with-exit-error"}
    if wanted == "failed":
        badly = one.status.over and state in {"failed", "finished-with-exit-error", "lost"}
        return badly or bool(one.view.errors)
    return one.view.furthest >= wanted


class Events:
    """What is new at each look at a run."""

    def __init__(self) -> None:
        self._state: tuple[object, ...] = ()
        self._phase = ""
        self._rows = 0
        self._progress: tuple[object, ...] = ()
        self._checkpoints: set[str] = set()
        self._errors: set[Path] = set()

    def news(self, one: Overview, newest: Sequence[MetricRow]) -> Iterator[dict[str, Any]]:
        """Events since the last look, oldest kind of news first; `newest`: the rows that are kept, newest last."""
        view, status = one.view, one.status
        state = (status.state, one.quiet is not None)
        if state != self._state:
            self._state = state
            yield {"event": "state", "state": status.state, "stalled": state[1], "exit_code": status.exit_code}
        if view.phase != self._phase:
            self._phase = view.phase
            yield {"event": "phase", "phase": view.phase}
        yield from self._new_rows(view.rows, newest)
        progress = view.progress
        if progress is not None and (progress.step, progress.total) != self._progress:
            self._progress = (progress.step, progress.total)
            yield {"event": "progress", "step": progress.step, "total": progress.total,
                   "seconds_per_step": progress.seconds_per_step, "eta_seconds": progress.eta_seconds}  # fmt: skip
        for checkpoint in view.checkpoints:
            if checkpoint.path not in self._checkpoints:
                self._checkpoints.add(checkpoint.path)
                yield {"event": "checkpoint", "path": checkpoint.path, "step": checkpoint.step}
        for error in view.errors:
            if error.path not in self._errors:
                self._errors.add(error.path)
                yield {"event": "error", "file": str(error.path), "line": error.line + 1,
                       "text": hidden_said(error.text)}  # fmt: skip

    def _new_rows(self, count: int, newest: Sequence[MetricRow]) -> Iterator[dict[str, Any]]:
        """The rows that came; when the trainer's file takes the place of its console, rows are not told again."""
        new = min(max(0, count - self._rows), len(newest))
        self._rows = max(self._rows, count)
        for row in newest[len(newest) - new :]:
            values = {name: _number(value) for name, value in row.values.items()}
            yield {"event": "metrics", "kind": row.kind, "step": row.step, "epoch": row.epoch, "values": values}


def _number(value: float) -> float | str:
    """JSON has no nan and no infinities: they are texts."""
    return value if math.isfinite(value) else str(value)
