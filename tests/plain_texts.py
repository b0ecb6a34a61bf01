"""Texts that hypothesis draws, without those that a run refuses: it draws names of secrets out of our own source too."""

from __future__ import annotations

from collections.abc import Sequence

from prl_tui.core import secrets


def is_plain(*words: str) -> bool:
    """Whether none of the words is a secret: alone, beside its neighbours, or as a variable's value."""
    return secrets.hidden_words(words) == words and not any(secrets.looks_secret(f"V={word}") for word in words)


def plain(words: Sequence[str]) -> list[str]:
    """The words without those that are taken for secrets where they stand."""
    kept = list(words)
    while not is_plain(*kept):
        shown = secrets.hidden_words(tuple(kept))
        kept = [a for a, b in zip(kept, shown, strict=True) if a == b and is_plain(a)]
    return kept
