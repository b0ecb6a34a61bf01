r"""Text for Windows' cmd.exe: what its batch parser and a program's C runtime both leave as it is, or a refusal.

Two readers come one after the other. cmd reads `%` even in quotes, and takes `& | < > ( ) ^` for itself outside
them; a quote only turns that on and off. The C runtime then splits the line: `\"` is a quote, and backslashes count only
before one. Sources: Microsoft's "Parsing C command-line arguments" and "cmd", and "Everyone quotes command line arguments
the wrong way" (Windows engineering blog, 2011) for a caret before each special character where a quote is in the value.
"""

from __future__ import annotations

import re

from prl_tui.i18n import t

LONGEST = 8191
"""Characters that cmd takes in one line. Source: Microsoft's "Command prompt line string limitation"."""
_PLAIN = re.compile(r"[A-Za-z0-9_@+:./\\-]+", re.ASCII)
_SPECIAL = re.compile(r'[&|<>()^"!]')
_UNTOLD = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
"""Ends a line, or is eaten on the way; a tab comes through."""


def uncarried(text: str) -> str:
    """Why no line of cmd can carry a text, or ""."""
    found = _UNTOLD.search(text)
    if found is None:
        return ""
    if found[0] in "\r\n":
        return t("it has a line break")
    return t("it has the control character {code}", code=f"U+{ord(found[0]):04X}")


def argument(text: str) -> str:
    """Text as one argument of a program, in a batch file."""
    if _PLAIN.fullmatch(text):
        return text
    quoted = '"' + re.sub(r'(\\*)("|$)', _doubled, text) + '"'
    return _escaped(quoted, '"' in text)


def _doubled(match: re.Match[str]) -> str:
    """Backslashes before a quote are doubled, at the end too, where the closing quote comes."""
    return match[1] * 2 + ('\\"' if match[2] else "")


def assignment(name: str, value: str) -> str:
    """A variable's value, exactly, whatever stands in it."""
    return "set " + _escaped(f'"{name}={value}"', '"' in value)


def path(text: str) -> str:
    """A path in quotes; `~/` is the home."""
    doubled = text.replace("%", "%%")
    return f'"%USERPROFILE%\\{doubled[2:]}"' if text.startswith("~/") else f'"{doubled}"'


def told(sentence: str) -> str:
    """`echo` of a sentence."""
    return "echo " + _escaped(sentence.replace("\n", " "), True)


def _escaped(text: str, carets: bool) -> str:
    """Within quotes nothing but % is read; where a quote is in the text itself, nothing is left in quotes at all."""
    text = _SPECIAL.sub(r"^\g<0>", text) if carets else text
    return text.replace("%", "%%")
