"""Shell text: literals, and the names of the variables that carry fields."""

from __future__ import annotations

import re
import shlex

from prl_tui.i18n import t

_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+", re.ASCII)
_SETTING = re.compile(r"(?:--?[A-Za-z][\w-]*|[A-Za-z_]\w*)=[^=]*", re.ASCII)
"""A word with a bare `=`: zsh expands =NAME, and shellcheck takes `0=` and `a+=` for assignments (SC2191)."""
_RESERVED = frozenset(
    {"if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "in"}
    | {"select", "function", "time", "coproc"}
)
"""Words that a shell reads as its own where a command may begin; shellcheck calls a bare `then` or `done` a slip (SC1010)."""
_CURLED = re.compile("[\u2018\u2019]+")
"""Single quotation marks of a text: shellcheck takes them, between the shell's own, for a slip (SC1112)."""


def literal(text: str) -> str:
    """Text as one word of a POSIX shell, unchanged whatever it holds."""
    if text in _RESERVED or (bare(text) and "=" in text and not _SETTING.fullmatch(text)):
        return f"'{text}'"
    return _CURLED.sub(lambda found: f"'\"{found[0]}\"'", shlex.quote(text))


def no_arguments(example: str) -> str:
    """A line of a script that refuses arguments, which nothing in it would read; it has `fail`."""
    sentence = (
        t("this script takes no arguments; a variable changes a value, for example {example}", example=example)
        if example
        else t("this script takes no arguments; a variable changes a value")
    )
    return f"(( $# == 0 )) || fail {literal(sentence)}"


def name_of(key: str) -> str:
    """The bash variable that carries a field."""
    return "v_" + re.sub(r"\W", "_", key, flags=re.ASCII)


def bare(text: str) -> bool:
    """The text needs no quotes."""
    return bool(_PLAIN.fullmatch(text))
