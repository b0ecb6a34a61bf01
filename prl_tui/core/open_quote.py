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
    at = opening(text)
    kept = wordlist.without_secrets(text) == text
    if at is None:
        mended = f"{text}\\" if kept and len(text) <= MOST else "a\\\\"
        return t("{key}: the backslash at the end escapes nothing; “{example}” would work.", key=key, example=mended)
    mended = _mended(text, at) if kept else EXAMPLE
    place = {"key": key, "n": at + 1, "example": mended}
    if not kept:
        return t("{key}: the quote at character {n} is left open; “{example}” would work.", **place)
    rest = text[at:]
    shown = rest if len(rest) <= SHOWN else f"{rest[:SHOWN]}…"
    return t(
        "{key}: the quote at character {n}, “{shown}”, is left open; “{example}” would work.", shown=shown, **place
    )


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


def _mended(text: str, at: int) -> str:
    """The text with its quote closed at the end; an apostrophe within a word is one itself, behind a backslash."""
    within = at > 0 and text[at - 1].isalnum()
    mended = f"{text[:at]}\\{text[at:]}" if within else text + text[at]
    if len(text) > MOST:
        return EXAMPLE
    try:
        wordlist.split(mended)
    except ValueError:
        return EXAMPLE
    return mended
