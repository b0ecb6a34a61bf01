"""Words one after another in a sentence, and its end."""

from __future__ import annotations

from collections.abc import Iterable

from prl_tui.i18n import t


def listed(words: Iterable[str]) -> str:
    """Words as the language in force separates them: `a, b`."""
    return t(", ").join(words)


def sentence(text: str) -> str:
    """A text with its full stop as the language in force writes it; one that has an end of its own keeps that."""
    return text if text.endswith((".", "?", "。", "？")) else t("{reason}.", reason=text)
