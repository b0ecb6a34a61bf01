"""An exception group's traceback, as CPython 3.11 and later print one: in margins, its members below it.

    + Exception Group Traceback (most recent call last):
    |   File "train.py", line 9, in <module>
    | ExceptionGroup: many (2 sub-exceptions)
    +-+---------------- 1 ----------------
      | ValueError: a

asyncio's TaskGroup and anyio raise them. A message's further lines have no margin (CPython 3.11 to 3.13).
"""

from __future__ import annotations

import re

HEAD = "  + Exception Group Traceback (most recent call last):"
"""Begins such a traceback; that of a group in a group has a bar for the plus."""

MOST = 400
"""Lines of one that are looked at."""

_MARGIN = re.compile(r"(?:  )+(?:\||\+-)")
_CLOSED = re.compile(r"(?:  )+\+-{36}$")
_BEFORE_ITS_OWN = (
    "Traceback (most recent",
    "Exception Group Traceback",
    "The above exception was",
    "During handling of",
)
"""What stands in a traceback's margin without indentation, and is not the exception's own line."""


def said(block: list[str]) -> tuple[str, int] | None:
    """`ExceptionGroup: many (2 sub-exceptions): ValueError: a`, and the number of the group's own line in its block.

    `block`: the lines from `HEAD` on, without marks; what follows the traceback does no harm. Of every group the first
    member is told, down to one that is none.
    """
    words: list[str] = []
    first, at, depth = 0, 1, 1
    while True:
        margin = "  " * depth
        ends = (n for n, line in enumerate(block[at:MOST], at) if line.startswith(f"{margin}+-"))
        section = block[at : next(ends, MOST)]
        own = _own_line(section, margin)
        if own is None:
            break
        words.append(section[own][len(margin) + 2 :].strip())
        first = first or at + own
        at += len(section)
        if at >= len(block) or not block[at].startswith(f"{margin}+-+-"):
            break
        at, depth = at + 1, depth + 1
    return (": ".join(words), first) if words else None


def end_of(texts: list[str], own: int) -> int:
    """The number of the last line of the traceback whose group's own line is `own`; that one where it breaks off."""
    end = own
    for number in range(own + 1, min(len(texts), own + MOST)):
        inside = _MARGIN.match(texts[number]) is not None
        if not inside and _CLOSED.match(texts[number - 1]):
            break
        end = number if inside else end
    return end


def _own_line(section: list[str], margin: str) -> int | None:
    """Which line of a traceback in its margin is the exception's own: the first that is not indented, of the last one."""
    own = None
    for number, line in enumerate(section):
        text = line[len(margin) + 2 :] if line.startswith(f"{margin}| ") else ""
        if text.startswith(_BEFORE_ITS_OWN):
            own = None
        elif own is None and text[:1].strip():
            own = number
    return own
