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
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from prl_tui.i18n import t
from prl_tui.telemetry import pattern_text

LINE_SECONDS = 0.1
"""What one line may take where somebody waits for a key."""
_FEW = 4
"""Repetitions up to which even each way of each costs little."""
_SHORT = 1000
"""Letters of a line on which one repetition, tried from each letter, takes milliseconds."""
_NOTED = 0.005
"""Seconds from which a line of ordinary length counts as slow."""
_NOTED_PER_LETTER = 2e-6
"""Seconds that each letter of a longer line may take before that: such lines are rare, and cost more by themselves."""
_FOLDS = "(?i)"
_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
_TRICKY = frozenset({"ASSERT", "ASSERT_NOT", "GROUPREF", "GROUPREF_EXISTS"})


class TooSlowError(ValueError):
    """An expression took too long; the line that was tried is not known to match or not. Its text is a sentence."""


@dataclass
class _Way:
    """An expression for one purpose."""

    plain: re.Pattern[str]
    light: bool
    """`re` may be asked, on a short line."""
    for_regex: str
    bounded: Any = None
    """As `regex` has it, once it was needed."""


class BoundedPattern:
    """A regular expression that gives up, for good, once lines have taken too long."""

    def __init__(
        self, pattern: str, *, folds: bool = False, seconds: float = 0.5, line_seconds: float = LINE_SECONDS
    ) -> None:
        """`folds`: upper and lower case are one; `seconds`: what all slow lines together may take, `line_seconds` one.

        re.error, OverflowError or RecursionError for what is no expression, or one that `re` takes for another than it says.
        """
        self._text, self._line_seconds = pattern, line_seconds
        self._flags = re.IGNORECASE if folds or pattern.startswith(_FOLDS) else 0
        if unknown := pattern_text.unknown_class(pattern):
            raise re.error(t("{name} is unknown here, {works} would work", name=unknown[0], works=unknown[1]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that `[[` may mean something else some day is nothing to who reads a log
            plain = re.compile(pattern, self._flags)
            pattern = pattern.removeprefix(_FOLDS)
            finding = pattern_text.for_finding(pattern)
            self._search = _Way(
                re.compile(finding, self._flags), not _may_branch(finding), pattern_text.for_regex(finding)
            )
            self._finditer = _Way(plain, not _may_branch(pattern), pattern_text.for_marking(pattern))
        self._left = seconds
        self.gave_up = False
        """Lines have taken too long: no other is tried."""

    def found(self, text: str, end: int = sys.maxsize) -> bool:
        """Whether it matches somewhere before letter `end`. TooSlowError where that takes too long."""
        if self._search.light and len(text) <= _SHORT:
            return self._search.plain.search(text, 0, end) is not None
        return bool(self._try(self._search, text, end, every=False))

    def spans(self, text: str, end: int = sys.maxsize) -> list[tuple[int, int]]:
        """Where it matches, from and to, empty matches left out. TooSlowError as `found`."""
        if self._finditer.light and len(text) <= _SHORT:
            found: Iterable[re.Match[str]] = self._finditer.plain.finditer(text, 0, end)
        else:
            found = self._try(self._finditer, text, end, every=True)
        return [match.span() for match in found if match.end() > match.start()]

    def _try(self, way: _Way, text: str, end: int, every: bool) -> list[Any]:
        """The first match, or `every` one."""
        if self.gave_up:
            raise self.error()
        end = min(end, len(text))
        began = time.thread_time()  # what other programs take in the meantime is not the expression's
        try:
            pattern = self._compiled(way)
            if every:
                found = list(pattern.finditer(text, 0, end, timeout=self._line_seconds, concurrent=True))
            else:
                match = pattern.search(text, 0, end, timeout=self._line_seconds, concurrent=True)
                found = [match] if match is not None else []
        except TimeoutError:
            self.gave_up = True
            raise self.error() from None
        took = time.thread_time() - began
        self._left -= took if took > max(_NOTED, _NOTED_PER_LETTER * end) else 0
        self.gave_up = self._left <= 0
        return found

    def _compiled(self, way: _Way) -> Any:
        if way.bounded is None:
            regex = importlib.import_module("regex")
            try:
                way.bounded = regex.compile(way.for_regex, regex.V0 | (regex.I if self._flags else 0))
            except (regex.error, OverflowError, RecursionError, MemoryError):
                self.gave_up = True
                raise self.error() from None
        return way.bounded

    def error(self) -> TooSlowError:
        """What is wrong, and what to write instead."""
        return TooSlowError(
            t("{text}: takes too long on a line here. Write a+ for (a+)+, and [^,]* for .* between two words.", text=self._text)
        )  # fmt: skip


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
