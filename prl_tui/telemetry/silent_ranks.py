"""Ranks that stopped to write while the others went on: the odd ones out, to be looked at first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

SILENT_AFTER = 60.0
"""Seconds behind the newest output of any rank."""
AT_LEAST = 3
"""Ranks that must write: of two, nobody knows which one is odd."""


def silent(written: Mapping[int, float]) -> tuple[int, ...]:
    """Ranks whose last output (rank → seconds since the epoch) is old, where that is at most one in four that write.

    More of them are no odd ones: many programs let rank 0 alone speak.
    """
    if len(written) < AT_LEAST:
        return ()
    newest = max(written.values())
    found = tuple(sorted(rank for rank, when in written.items() if when < newest - SILENT_AFTER))
    return found if len(found) <= max(1, len(written) // 4) else ()
