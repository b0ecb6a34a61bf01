"""Words one after another in a sentence."""

from __future__ import annotations

from collections.abc import Iterable

from prl_tui.i18n import t


def listed(words: Iterable[str]) -> str:
    """Words as the language in force separates them: `a, b`."""
    return t(", ").join(words)
