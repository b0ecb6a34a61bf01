"""What a line may be searched and filtered by: a text, a regular expression, a level, or several of them.

What is tested is what a view shows: the plain text of each line's last state. `may_hit` looks at many raw lines at
once, so that a log without a hit costs next to nothing per line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from prl_tui.i18n import t
from prl_tui.telemetry.escapes import plain, without_escapes
from prl_tui.telemetry.line_index import LINE_LIMIT
from prl_tui.telemetry.line_levels import LEVELS, TRIGGERS, Level, level_of
from prl_tui.telemetry.slow_patterns import BoundedPattern, TooSlowError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

REGULAR = "re:"
"""Before a text that is a regular expression."""


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
        return (text.lower() if self._folds else text).find(self.needle) >= 0

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where the text is in a plain line, from and to."""
        line = text.lower() if self._folds else text
        start = line.find(self.needle)
        while start >= 0 and self.needle:
            yield start, start + len(self.needle)
            start = line.find(self.needle, start + len(self.needle))


class PatternTest:
    """A regular expression; upper and lower case are one unless it has capitals."""

    def __init__(self, needle: str, pattern: str) -> None:
        """`needle`: as it was typed. ValueError, with a sentence, for what is no expression."""
        self.needle = needle
        folds = not any(letter.isupper() for letter in re.sub(r"\\.", "", pattern))
        try:
            self.pattern = BoundedPattern(pattern, folds=folds)
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(t("{text}: not a regular expression: {reason}.", text=pattern, reason=error)) from None

    def may_hit(self, lines: bytes) -> bool:  # noqa: ARG002
        """Whether a line of these raw ones may hit: only the lines themselves tell."""
        return True

    def hits(self, text: str) -> bool:
        """Whether it matches somewhere in a plain line, of which the first 8 KiB are looked at; TooSlowError."""
        return self.pattern.found(text, LINE_LIMIT)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where it matches in a plain line, from and to; nowhere in a line that takes too long."""
        try:
            return iter(self.pattern.spans(text, LINE_LIMIT))
        except TooSlowError:
            return iter(())


class LevelTest:
    """Lines with one of these levels of their own."""

    def __init__(self, *levels: Level) -> None:
        self.levels = frozenset(levels)

    @classmethod
    def from_on(cls, least: Level) -> LevelTest:
        """A level and the graver ones."""
        return cls(*LEVELS[: LEVELS.index(least) + 1])

    def may_hit(self, lines: bytes) -> bool:
        """Whether a line of these raw ones may hit."""
        lines = without_escapes(lines)
        return any(TRIGGERS[level].search(lines) is not None for level in self.levels)

    def hits(self, text: str) -> bool:
        """Whether a plain line has such a level."""
        return level_of(text) in self.levels


class ErrorTest(LevelTest):
    """Lines that look like errors."""

    def __init__(self) -> None:
        super().__init__("error")


SearchTest = TextTest | PatternTest


def search_test(typed: str) -> SearchTest:
    """The test for what a person typed: a text as it stands, or a regular expression behind `re:`.

    ValueError, with a sentence, where that is none.
    """
    pattern = typed.removeprefix(REGULAR)
    return PatternTest(typed, pattern) if typed.startswith(REGULAR) and pattern else TextTest(typed)


@dataclass(frozen=True)
class LineFilter:
    """Lines that pass all of its tests."""

    only: tuple[LineTest, ...] = ()
    """Each of them must hit."""
    without: tuple[LineTest, ...] = ()
    """None of them may."""

    def passes(self, raw: bytes) -> bool:
        """Whether a raw line does."""
        return bool(self.chosen([raw]))

    def chosen(self, lines: Sequence[bytes]) -> Sequence[int]:
        """Which of these raw lines pass, by their places."""
        left: Sequence[int] = range(len(lines))
        texts: dict[int, str] = {}
        joined = b"\n".join(lines)
        for test, wanted in [*((one, True) for one in self.only), *((one, False) for one in self.without)]:
            if not left:
                break
            if not test.may_hit(joined):
                left = () if wanted else left
                continue
            near = _near_hits(test, lines)
            left = [n for n in left if near[n // _FEW] or not wanted]
            for n in left:
                if near[n // _FEW] and n not in texts:
                    texts[n] = plain(lines[n])
            left = [n for n in left if (near[n // _FEW] and test.hits(texts[n])) == wanted]
        return left


_FEW = 64


def _near_hits(test: LineTest, lines: Sequence[bytes]) -> list[bool]:
    """For each few lines, whether one of them may hit: hits that are rare cost no Python work for the lines between."""
    if len(lines) <= _FEW:
        return [True]
    return [test.may_hit(b"\n".join(lines[n : n + _FEW])) for n in range(0, len(lines), _FEW)]
