"""Regular expressions that may take for ever on a line of ordinary length.

Python's `re` cannot be interrupted and lets no other thread run meanwhile: such an expression would freeze the screen.
What takes exponential time has a repetition of something that can itself match in several ways.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from typing import Any

_FEW = 4
"""Repetitions up to which even each way of each costs little."""


def may_take_for_ever(pattern: str) -> bool:
    """Whether a repetition, or a choice, stands within a repetition of a valid expression."""
    parser = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
    return _ambiguous(parser.parse(pattern), repeated=False)


def _ambiguous(tree: Iterable[Any], repeated: bool) -> bool:
    for operation, value in tree:
        name = str(operation)
        if name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}:
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
