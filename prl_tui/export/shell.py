"""Shell text: literals, and the names of the variables that carry fields."""

from __future__ import annotations

import re
import shlex

_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+", re.ASCII)
_CURLED = re.compile("[\u2018\u2019]+")
"""Single quotation marks of a text: shellcheck takes them, between the shell's own, for a slip (SC1112)."""


def literal(text: str) -> str:
    """Text as one word of a POSIX shell, unchanged whatever it holds."""
    if bare(text) and text.startswith("="):
        return f"'{text}'"  # zsh expands =NAME
    return _CURLED.sub(lambda found: f"'\"{found[0]}\"'", shlex.quote(text))


def name_of(key: str) -> str:
    """The bash variable that carries a field."""
    return "v_" + re.sub(r"\W", "_", key, flags=re.ASCII)


def bare(text: str) -> bool:
    """The text needs no quotes."""
    return bool(_PLAIN.fullmatch(text))
