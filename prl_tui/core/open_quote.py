"""A list of words whose quote is left open: where it opens, and the same text in a form that works."""

from __future__ import annotations

from prl_tui.core import wordlist
from prl_tui.i18n import t

SHOWN = 24
"""Characters that are shown from the quote on."""
MOST = 60
"""Characters of a text that is told back with its quote closed; a longer one has an example instead."""
EXAMPLE = "'a b' c"


def told(key: str, text: str) -> str:
    """One sentence about a text that `wordlist.split` refuses. Nothing of one that may hold a secret is told back."""
    at, kept = opening(text), wordlist.without_secrets(text) == text
    works = mended(text) or EXAMPLE
    if at is None:
        return t("{key}: the backslash at the end escapes nothing; “{example}” would work.", key=key, example=works)
    if not kept:
        return t(
            "{key}: the quote at character {n} is left open; “{example}” would work.", key=key, n=at + 1, example=works
        )
    shown = text[at:] if len(text) - at <= SHOWN else f"{text[at : at + SHOWN]}…"
    return t("{key}: the quote at character {n}, “{shown}”, is left open; “{example}” would work.",
             key=key, n=at + 1, shown=shown, example=works)  # fmt: skip


def mended(text: str) -> str | None:
    """The text with its quote closed at the end, or its last backslash as one itself; None for a long one or a secret.

    An apostrophe within a word is one itself, behind a backslash.
    """
    if len(text) > MOST or wordlist.without_secrets(text) != text:
        return None
    at = opening(text)
    if at is None:
        made = f"{text}\\"
    elif at > 0 and text[at - 1].isalnum():
        made = f"{text[:at]}\\{text[at:]}"
    else:
        made = text + text[at]
    try:
        wordlist.split(made)
    except ValueError:
        return None
    return made


def opening(text: str) -> int | None:
    """Where the quote stands that nothing closes; None where none is open."""
    quote, at, i = "", 0, 0
    while i < len(text):
        char = text[i]
        if char == "\\" and quote != "'":
            i += 1  # it takes the next character with it
        elif char == quote:
            quote = ""
        elif not quote and char in "'\"":
            quote, at = char, i
        i += 1
    return at if quote else None
