"""Which of the checkpoints that a run named are still there: `save_total_limit` deletes the older ones.

One look at a folder tells of all checkpoints in it. Where the folder itself is not seen (another host's disk, a path
that was relative to nobody knows what) a checkpoint counts as there.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from prl_tui.telemetry.milestones import Checkpoint

EVERY = 2.0
"""Seconds between two looks at the folders."""


class Kept:
    """Looks again and again, not at every call."""

    def __init__(self, base: Path) -> None:
        """`base`: where relative paths start."""
        self._base = base
        self._named: tuple[Checkpoint, ...] = ()
        self._there: tuple[Checkpoint, ...] = ()
        self._due = 0.0

    def of(self, named: Sequence[Checkpoint], now: float, at_once: bool = False) -> tuple[Checkpoint, ...]:
        """Those of `named` that are there, in the same order; `now` in seconds of any steady or wall clock."""
        same = len(named) == len(self._named) and all(a == b for a, b in zip(named, self._named, strict=True))
        if same and not at_once and 0 <= self._due - now <= EVERY:
            return self._there
        self._due = now + EVERY
        self._named = tuple(named)
        folders: dict[Path, set[str] | None] = {}
        there = tuple(one for one in named if self._is_there(one, folders))
        if there != self._there:
            self._there = there
        return self._there

    def _is_there(self, one: Checkpoint, folders: dict[Path, set[str] | None]) -> bool:
        path = self._base / one.path
        if path.parent not in folders:
            folders[path.parent] = _names(path.parent)
        names = folders[path.parent]
        return names is None or path.name in names


def _names(folder: Path) -> set[str] | None:
    try:
        return set(os.listdir(folder))  # noqa: PTH208  (names alone)
    except (OSError, ValueError):
        return None
