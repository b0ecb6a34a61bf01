"""Where in a run's logs the fault is: of its cause, else of the first line that looks like an error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from prl_tui.runs.overview import Overview
from prl_tui.telemetry.error_lines import ErrorMark


class FaultPlace(NamedTuple):
    """A log and, where it is known, the line."""

    rank: int | None
    """None: the launcher's log."""
    path: Path
    at: int | None
    """A byte of the line; None: the first error in it."""


def find(one: Overview) -> FaultPlace | None:
    """None where no line looks like an error."""
    if one.cause is not None and one.cause.path is not None:
        return FaultPlace(rank_of(one, one.cause.path), one.cause.path, one.cause.at or 0)
    return _first_of(one, one.view.errors)


def of_stop(one: Overview) -> FaultPlace | None:
    """Where the first error lines are of a run that had none before its stop; None where the stop caused none either."""
    return _first_of(one, one.view.stop_errors)


def _first_of(one: Overview, marks: Sequence[ErrorMark]) -> FaultPlace | None:
    """A rank's own log before the one of all."""
    if not marks:
        return None
    path = next((mark.path for mark in marks if mark.path != one.folder.output), marks[0].path)
    return FaultPlace(rank_of(one, path), path, None)


def rank_of(one: Overview, path: Path | None) -> int | None:
    """The rank whose log a file is; None for the launcher's."""
    return next((log.rank for log in one.view.ranks if path in {log.stdout, log.stderr}), None)
