"""When a run that lives has said nothing for longer than it should: the rule, with the clock given from outside.

A rank that waits for another one for ever prints nothing, its processes live and its GPUs may show 100 %: only the
age of its last output tells. A step that advances is output too (a bar, a row, a line), so one age is enough. Two
patiences: long before it is too long (`USUAL`), it is longer than its steps usually take (`LATE`): then no time left can
be promised and the age is told, which is true of an evaluation or a save as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prl_tui.i18n import nt, t
from prl_tui.telemetry.durations import format_duration

if TYPE_CHECKING:
    from prl_tui.telemetry.run_view import RunView


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a run may be silent before somebody is told."""

    least: float = 300.0
    """Seconds, however quick the steps: an evaluation or a checkpoint may print nothing for minutes."""
    steps: float = 10.0
    """So many of its usual (median) steps."""
    reports: float = 3.0
    """So many of its usual pauses between two reports: a trainer without a bar speaks every `logging_steps` only."""
    unpaced: float = 900.0
    """Seconds while no pace is known, before the first step above all, and after the last one: importing torch and
    swift takes 45 s from a cold disk, loading weights and compiling kernels many minutes."""


USUAL = Patience()
"""Beyond it, something is likely to be wrong."""
LATE = Patience(least=15.0, unpaced=math.inf)
"""Beyond it, the next step is later than usual; without a pace nobody knows what is usual."""


def limit(view: RunView, patience: Patience = USUAL) -> float:
    """Seconds of silence that this run may take now."""
    progress = view.progress
    step = view.step_seconds or (progress.seconds_per_step if progress is not None else None)
    at_work = progress is not None and 0 < progress.step < (progress.total or 0) and not view.done
    if not at_work or step is None:
        return patience.unpaced
    return max(patience.least, patience.steps * step, patience.reports * (view.report_seconds or 0.0))


def quiet_for(view: RunView, now: float, started: float | None, patience: Patience = USUAL) -> float | None:
    """Seconds of silence at `now` where they are more than this run may take, else None.

    `now` and `started` are seconds since the epoch; before the first output the silence began with the run.
    """
    since = max((moment for moment in (view.last_output, started) if moment is not None), default=None)
    if since is None or view.behind:
        return None
    silence = now - since
    return silence if silence > limit(view, patience) else None


def late_for(view: RunView, now: float, started: float | None) -> float | None:
    """Whole seconds since the last output where the next step is later than usual, else None."""
    silence = quiet_for(view, now, started, LATE)
    return float(int(silence)) if silence is not None else None


def late_words(seconds: float) -> str:
    """`last output 40 s ago`."""
    return t("last output {time} ago", time=format_duration(seconds))


def words(seconds: float) -> str:
    """`no output for 12 min`, whole minutes; hours beyond 99 of them."""
    minutes = int(seconds // 60)
    if minutes < 1:
        return t("no output for {n} s", n=int(seconds))
    if minutes < 100:
        return nt("no output for {n} min", "no output for {n} min", minutes)
    return nt("no output for {n} hour", "no output for {n} hours", minutes // 60)
