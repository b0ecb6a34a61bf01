"""Finds the next line with a text, or the next error, in slices that a screen can run between its frames.

What is searched is what a view shows: the plain text of each line's last state. A batch of raw lines is tested at
once; only where that may hit are its lines looked at one by one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from prl_tui.telemetry.error_lines import ERROR_TRIGGER, is_error
from prl_tui.telemetry.escapes import plain, without_escapes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prl_tui.telemetry.line_index import LineSource

BATCH = 512
_ERRORS = re.compile(ERROR_TRIGGER, re.MULTILINE)


class LineTest(Protocol):
    """What is looked for."""

    def may_hit(self, lines: bytes) -> bool:
        """Whether a line of these raw ones may hit; False only if none does."""

    def hits(self, text: str) -> bool:
        """Whether a plain line does."""


class TextTest:
    """A literal text; upper and lower case are one unless the text has capitals."""

    def __init__(self, needle: str) -> None:
        self.needle = needle
        self._folds = needle == needle.lower()
        self._raw = needle.encode("utf-8", "replace")
        others = (letter for letter in needle if not letter.isascii())
        self._raw_decides = not self._folds or all(letter.upper() == letter for letter in others)

    def may_hit(self, lines: bytes) -> bool:
        """Whether a line of these raw ones may hit."""
        if not self._raw_decides:
            return True
        lines = without_escapes(lines)
        return self._raw in (lines.lower() if self._folds else lines)

    def hits(self, text: str) -> bool:
        """Whether a plain line has the text."""
        return self.first_in(text) >= 0

    def first_in(self, text: str, start: int = 0) -> int:
        """Index of the text in a plain line from `start` on, -1 without one."""
        return (text.lower() if self._folds else text).find(self.needle, start)


class ErrorTest:
    """Lines that look like errors."""

    def may_hit(self, lines: bytes) -> bool:
        """Whether a line of these raw ones may hit."""
        return _ERRORS.search(without_escapes(lines)) is not None

    def hits(self, text: str) -> bool:
        """Whether a plain line looks like an error."""
        return is_error(text)


def find_line(source: LineSource, test: LineTest, start: int, backwards: bool = False) -> Iterator[int | None]:
    """Number of the first hit from line `start` on, around the end and back to `start`.

    Yields None after each batch without one, so that the caller can do something else; ends after the hit or,
    without any, after one round. Lines that come meanwhile are not searched.
    """
    total, generation = source.lines, source.generation
    for first, count in _batches(total, start, backwards):
        if source.generation != generation:
            return
        lines = source.read_lines(first, count)
        order = range(len(lines) - 1, -1, -1) if backwards else range(len(lines))
        if test.may_hit(b"\n".join(lines)):
            hit = next((index for index in order if test.hits(plain(lines[index]))), None)
            if hit is not None:
                yield first + hit
                return
        yield None


def _batches(total: int, start: int, backwards: bool) -> Iterator[tuple[int, int]]:
    """First line and number of lines of each batch, in the order of the search."""
    start = min(max(start, 0), max(total - 1, 0))
    if not backwards:
        for low, high in ((start, total), (0, start)):
            for first in range(low, high, BATCH):
                yield first, min(BATCH, high - first)
        return
    for low, high in ((0, min(start + 1, total)), (start + 1, total)):
        for end in range(high, low, -BATCH):
            first = max(low, end - BATCH)
            yield first, end - first
