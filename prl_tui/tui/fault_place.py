"""Where in a run's logs the fault is: of its cause, else of the first line that looks like an error."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from prl_tui.runs.overview import Overview


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
    if not one.view.errors:
        return None
    path = next((mark.path for mark in one.view.errors if mark.path != one.folder.output), one.view.errors[0].path)
    return FaultPlace(rank_of(one, path), path, None)


def rank_of(one: Overview, path: Path | None) -> int | None:
    """The rank whose log a file is; None for the launcher's."""
    return next((log.rank for log in one.view.ranks if path in {log.stdout, log.stderr}), None)
