"""Shell text: literals, and the names of the variables that carry fields."""

from __future__ import annotations

import re
import shlex

_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+", re.ASCII)


def literal(text: str) -> str:
    """Text as one word of a POSIX shell, unchanged whatever it holds."""
    return f"'{text}'" if bare(text) and text.startswith("=") else shlex.quote(text)  # zsh expands =NAME


def name_of(key: str) -> str:
    """The bash variable that carries a field."""
    return "v_" + re.sub(r"\W", "_", key, flags=re.ASCII)


def bare(text: str) -> bool:
    """The text needs no quotes."""
    return bool(_PLAIN.fullmatch(text))
