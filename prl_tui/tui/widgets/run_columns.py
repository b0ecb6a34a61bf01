"""The cells of each column of the list of runs: when a run began stays where there is little room."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len

from prl_tui.runs import overview
from prl_tui.runs.overview import Overview
from prl_tui.tui.cells import safe

DAY = "%Y-%m-%d"
ROOMY = 90
"""Columns beyond which the start has a place of its own."""
ID = 8
"""Cells of the first column, the blank behind it included."""
_STATE, _LEAST_STATE = 16, 8
_LEAST_WHAT = 14
"""Cells that a longer name of what is trained keeps."""


class Longest(NamedTuple):
    """Cells of the longest words of all rows; `brief` of how far without the total, `short` of when (`start_words`)."""

    state: int = 0
    what: int = 0
    far: int = 0
    brief: int = 0
    took: int = 0
    start: int = 0
    short: int = 0

    @classmethod
    def of(cls, runs: Sequence[Overview], today: str) -> Longest:
        """Of these runs."""
        told = [
            (
                overview.status_word(one),
                safe(one.what),
                overview.progress_words(one),
                overview.progress_words(one, total=False),
                overview.took(one),
                start_words(one.created, today),
                start_words(one.created, today, short=True),
            )
            for one in runs
        ]
        return cls(*(max(map(cell_len, words)) for words in zip(*told, strict=True)))


class Columns(NamedTuple):
    """Cells of state, what, how far and how long; `start` of when it began, before how long, 0 where it is not there.

    A blank follows state and what; how far and `start` have it within.
    """

    state: int
    what: int
    far: int
    took: int
    start: int = 0


def columns(longest: Longest, width: int) -> Columns:
    """A longer time takes its cells where how far leaves some, else from what."""
    state, what, far, took = (25, 33, 21, 12) if width > 120 else (_STATE, 20, 21, 9)
    more = max(0, longest.took - took)
    left = max(far - more, min(far, longest.far + 1))
    found = Columns(state, what - (left - (far - more)), left, took + more)
    return found if width > ROOMY else _with_start(found, longest, width)


def _with_start(found: Columns, longest: Longest, width: int) -> Columns:
    """When each began: the day and the time, else one of them, in cells that no other column needs.

    Where those are too few, long ways lose their totals, and then long names their ends.
    """
    whole = Columns(max(_LEAST_STATE, longest.state), longest.what, longest.far + 1, longest.took)
    brief = whole._replace(far=longest.brief + 1)
    cut = brief._replace(what=min(_LEAST_WHAT, longest.what))
    for needed, start in ((whole, longest.start), (whole, longest.short), (brief, longest.short), (cut, longest.short)):
        given = _give(found, needed, start + 1, width)
        if given is not None:
            return given
    return found


def _give(found: Columns, needed: Columns, start: int, width: int) -> Columns | None:
    """The columns with one for the start, the others as narrow as it takes; None where one would miss needed cells."""
    missing = start - (width - (ID + found.state + 1 + found.what + 1 + found.far + found.took))
    free = {
        name: max(0, getattr(found, name) - getattr(needed, name)) for name in ("far", "took", "state", "what")
    }  # in the order in which they give
    if missing > sum(free.values()):
        return None
    cells = found._asdict()
    for name, most in free.items():
        given = max(0, min(most, missing))
        cells[name] -= given
        missing -= given
    return Columns(**{**cells, "start": start})


def far_words(one: Overview, cells: int) -> str:
    """How far a run came, without the total where that has no room."""
    words = overview.progress_words(one)
    return words if cell_len(words) < cells else overview.progress_words(one, total=False)


def start_words(created: float | None, today: str, *, short: bool = False) -> str:
    """`11-29 10:02`, of `today` (as `DAY` says it) `10:02`; `short`: of another day the day alone. – if not known."""
    if not created:
        return "–"
    began = time.localtime(created)
    day = time.strftime(DAY, began)
    if today and day == today:
        return time.strftime("%H:%M", began)
    return time.strftime("%m-%d" if short and today else "%m-%d %H:%M", began)
