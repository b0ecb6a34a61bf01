"""Texts in a YAML file, in forms that PyYAML and Go's readers take for exactly the same text.

A script stands as a literal block, so that a person can read it, where nothing in it could be read otherwise; else, as every
other text, between double quotes with JSON's escapes (`core.scalars`).
"""

from __future__ import annotations

import re

from prl_tui.core import scalars

_PLAIN = re.compile("[\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]*")
"""What YAML prints as it is, without its other line ends and the byte order mark."""


def text(value: str) -> str:
    """A text on one line."""
    return scalars.text(value)


def block(before: str, value: str, indent: int) -> list[str]:
    """Lines of `before` with a text after it: as a literal block `indent` columns in, where that is exact."""
    at_start = re.search(r"^[ \t]*\t|\A[ \n]", value, re.MULTILINE)
    if not _PLAIN.fullmatch(value) or at_start or not value:
        return [f"{before} {text(value)}"]
    body = value.rstrip("\n")
    ends = len(value) - len(body)
    keep = {0: "-", 1: ""}.get(ends, "+")
    room = " " * indent
    lines = [f"{room}{line}" if line else "" for line in body.split("\n")]
    return [f"{before} |{keep}", *lines, *([""] * (ends - 1))]
