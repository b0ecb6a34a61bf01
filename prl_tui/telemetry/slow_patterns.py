"""Regular expressions of a person, tried on a line for a bounded time.

Python's `re` cannot be interrupted and lets no other thread run meanwhile: an expression that tries many ways would
freeze the screen. So it is only asked where the work is small: an expression with one repetition at most, on a line of
ordinary length. For the rest there is the `regex` package, which takes a time limit and lets other threads run. It is
imported at the first such line.
"""

from __future__ import annotations

import importlib
import re
import sys
import time
from collections.abc import Iterable
from typing import Any

from prl_tui.i18n import t

LINE_SECONDS = 0.1
"""What one line may take."""
_FEW = 4
"""Repetitions up to which even each way of each costs little."""
_SHORT = 1000
"""Letters of a line on which one repetition, tried from each letter, takes milliseconds."""
_NOTED = 0.005
"""Seconds from which a line counts as slow."""
_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
_TRICKY = frozenset({"ASSERT", "ASSERT_NOT", "GROUPREF", "GROUPREF_EXISTS"})
_TOKEN = re.compile(r"\\N\{[^}]*\}|\\.|\{(?:\d+|\d*,\d*)\}|\{|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)


class TooSlowError(ValueError):
    """An expression took too long; the line that was tried is not known to match or not. Its text is a sentence."""


class BoundedPattern:
    """A regular expression that gives up, for good, once lines have taken too long."""

    def __init__(self, pattern: str, *, folds: bool = False, seconds: float = 0.5) -> None:
        """`folds`: upper and lower case are one; `seconds`: what all slow lines together may take.

        re.error, OverflowError or RecursionError for what is no expression.
        """
        self._text, self._flags = pattern, re.IGNORECASE if folds else 0
        self._plain = re.compile(pattern, self._flags)
        self._light = not _may_branch(pattern)
        self._bounded: Any = None
        self._left = seconds
        self.gave_up = False
        """Lines have taken too long: no other is tried."""

    def found(self, text: str, end: int = sys.maxsize) -> bool:
        """Whether it matches somewhere before letter `end`. TooSlowError where that takes too long."""
        if self._light and len(text) <= _SHORT:
            return self._plain.search(text, 0, end) is not None
        return bool(self._try("search", text, end) is not None)

    def spans(self, text: str, end: int = sys.maxsize) -> list[tuple[int, int]]:
        """Where it matches, from and to, empty matches left out. TooSlowError as `found`."""
        if self._light and len(text) <= _SHORT:
            found: Iterable[re.Match[str]] = self._plain.finditer(text, 0, end)
        else:
            found = self._try("finditer", text, end)
        return [match.span() for match in found if match.end() > match.start()]

    def _try(self, how: str, text: str, end: int) -> Any:
        if self.gave_up:
            raise self.error()
        began = time.perf_counter()
        try:
            pattern = self._compiled()
            found = getattr(pattern, how)(text, 0, min(end, len(text)), timeout=LINE_SECONDS, concurrent=True)
            found = list(found) if how == "finditer" else found
        except TimeoutError:
            self.gave_up = True
            raise self.error() from None
        took = time.perf_counter() - began
        self._left -= took if took > _NOTED else 0
        self.gave_up = self._left <= 0
        return found

    def _compiled(self) -> Any:
        if self._bounded is None:
            regex = importlib.import_module("regex")
            try:
                self._bounded = regex.compile(_same(self._text), regex.V0 | (regex.I if self._flags else 0))
            except (regex.error, OverflowError, RecursionError, MemoryError):
                self.gave_up = True
                raise self.error() from None
        return self._bounded

    def error(self) -> TooSlowError:
        """What is wrong, and what to write instead."""
        return TooSlowError(
            t("{text}: takes too long, it can match a line in too many ways; repeat a letter or a class, not a group (a+, not (a+)+), "
              "and say what may stand between two words ([^,]*, not .*).", text=self._text)
        )  # fmt: skip


def _same(pattern: str) -> str:
    """The expression as `regex` means it: what only it takes for fuzzy counts and nested sets is escaped."""

    def escaped(match: re.Match[str]) -> str:
        part = match[0]
        if part == "{":
            return r"\{"
        return (
            "[" + re.sub(r"(\\.)|\[", lambda inner: inner[1] or r"\[", part[1:], flags=re.DOTALL)
            if part[0] == "["
            else part
        )

    return _TOKEN.sub(escaped, pattern)


def _may_branch(pattern: str) -> bool:
    """Whether a valid expression can match in more ways than one repetition gives it."""
    parser = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
    return _weight(parser.parse(pattern), repeated=False) > 1


def _weight(tree: Iterable[Any], repeated: bool) -> int:
    """How many repetitions there are; what is worse counts as two."""
    weight = 0
    for operation, value in tree:
        name = str(operation)
        if name in _REPEATS and value[0] != value[1]:
            weight += 2 if repeated else 1
            weight += _weight(value[2], repeated=True)
        elif name in _REPEATS:
            weight += _weight(value[2], repeated or value[1] > _FEW)
        elif name in _TRICKY or (name == "BRANCH" and repeated):
            return 2
        else:
            weight += sum(_weight(part, repeated) for part in _parts(name, value))
    return weight


def _parts(name: str, value: Any) -> list[Any]:
    """What an operation is made of."""
    if name == "BRANCH":
        return list(value[1])
    if name == "SUBPATTERN":
        return [value[-1]]
    return [value] if name == "ATOMIC_GROUP" else []
