"""Finds the next line with a text, or the next error, in slices that a screen can run between its frames.

A batch of raw lines is tested at once; only where that may hit are its lines looked at one by one.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from prl_tui.telemetry.escapes import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prl_tui.telemetry.line_index import LineSource
    from prl_tui.telemetry.line_tests import LineTest

BATCH = 512
_TURN = 0.02
"""Seconds of a batch after which the caller has its turn: a line may take long."""


def find_line(
    source: LineSource, test: LineTest, start: int, backwards: bool = False, batch: int = BATCH
) -> Iterator[int | None]:
    """Number of the first hit from line `start` on, around the end and back to `start`, `batch` lines at a time.

    Yields None after each batch without one, so that the caller can do something else; ends after the hit or,
    without any, after one round. Lines that come meanwhile are not searched.
    """
    total, generation = source.lines, source.generation
    for first, count in _batches(total, start, backwards, batch):
        if source.generation != generation:
            return
        lines = source.read_lines(first, count)
        order = range(len(lines) - 1, -1, -1) if backwards else range(len(lines))
        if test.may_hit(b"\n".join(lines)):
            turn = time.monotonic() + _TURN
            for index in order:
                if test.hits(plain(lines[index])):
                    yield first + index
                    return
                if time.monotonic() > turn:
                    yield None
                    if source.generation != generation:
                        return
                    turn = time.monotonic() + _TURN
        yield None


def _batches(total: int, start: int, backwards: bool, batch: int) -> Iterator[tuple[int, int]]:
    """First line and number of lines of each batch, in the order of the search."""
    start = min(max(start, 0), max(total - 1, 0))
    if not backwards:
        for low, high in ((start, total), (0, start)):
            for first in range(low, high, batch):
                yield first, min(batch, high - first)
        return
    for low, high in ((0, min(start + 1, total)), (start + 1, total)):
        for end in range(high, low, -batch):
            first = max(low, end - batch)
            yield first, end - first
