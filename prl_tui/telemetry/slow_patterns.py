"""Regular expressions that may take for ever on a line of ordinary length.

Python's `re` cannot be interrupted and lets no other thread run meanwhile: such an expression would freeze the screen.
What takes exponential time has a repetition of something that can itself match in several ways, or a long row of things
that may be absent; what takes the cube of a line's length and more has the same repetition twice in a row, as `.*.*x`.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator
from typing import Any

_FEW = 4
"""Repetitions up to which even each way of each costs little."""
_IN_A_ROW = 10
"""Things in a row that may be absent: each of them doubles the ways."""
_BROAD = ("ANY", "NEGATE", "CATEGORY_WORD", "CATEGORY_NOT")
"""The parser's words for what takes most letters."""
_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})


def may_take_for_ever(pattern: str) -> bool:
    """Whether a valid expression has a repetition or a choice within a repetition, or one that follows itself."""
    parser = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
    tree = parser.parse(pattern)
    return _ambiguous(tree, repeated=False) or _follows_itself(tree)


def _follows_itself(tree: Iterable[Any]) -> bool:
    """Whether two repetitions of the same, or many that may be absent, have nothing between them that must be there."""
    row: list[str] = []
    absent = 0
    for name, value in _flat(tree):
        if name in _REPEATS and value[0] != value[1]:
            least, most, body = value
            what = repr(body)
            if most > _FEW and any(_overlap(what, one) for one in row):
                return True
            if least:
                row, absent = [], 0
            row += [what] if most > _FEW else []
            absent += least == 0
            if absent > _IN_A_ROW or _follows_itself(body):
                return True
        elif any(_follows_itself(part) for part in _parts(name, value)):
            return True
        else:
            row, absent = [], 0
    return False


def _flat(tree: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """A row of operations; a group's stand in it like any other."""
    for operation, value in tree:
        if str(operation) == "SUBPATTERN":
            yield from _flat(value[-1])
        else:
            yield str(operation), value


def _overlap(one: str, other: str) -> bool:
    """Whether two repetitions share a long text: they are the same, or each takes most letters."""
    return one == other or all(any(sign in body for sign in _BROAD) for body in (one, other))


def _ambiguous(tree: Iterable[Any], repeated: bool) -> bool:
    for operation, value in tree:
        name = str(operation)
        if name in _REPEATS:
            least, most, body = value
            if (repeated and least != most) or _ambiguous(body, repeated or most > _FEW):
                return True
        elif (repeated and name == "BRANCH") or any(_ambiguous(part, repeated) for part in _parts(name, value)):
            return True
    return False


def _parts(name: str, value: Any) -> list[Any]:
    """What an operation is made of."""
    if name == "BRANCH":
        return list(value[1])
    if name in {"SUBPATTERN", "ASSERT", "ASSERT_NOT"}:
        return [value[-1]]
    if name == "ATOMIC_GROUP":
        return [value]
    return [part for part in value[1:] if part is not None] if name == "GROUPREF_EXISTS" else []
