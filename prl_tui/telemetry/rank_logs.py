"""Per-rank log files as torchrun lays them out below `PET_LOG_DIR`: <id>/attempt_<k>/<local rank>/std*.log.

Each start makes a new <id> (rendezvous id and a random part) and each restart a new attempt; the newest counts.
A rank's pane shows both files through `MergedIndex`, whose module says why torchrun's own merge is not used.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prl_tui.telemetry.merged_index import MergedIndex

if TYPE_CHECKING:
    from pathlib import Path

_ATTEMPT = "attempt_"


@dataclass(frozen=True, slots=True)
class RankLog:
    """Where one local rank writes."""

    rank: int
    """Local rank on this node."""
    stdout: Path
    stderr: Path
    attempt: int
    """0 for the first start; torchrun counts restarts."""

    @property
    def is_gone(self) -> bool:
        """Neither file is there: torchrun made both, and somebody deleted them."""
        return not (self.stdout.exists() or self.stderr.exists())

    def open(self) -> MergedIndex:
        """Both files as one list of lines, for a log view."""
        return MergedIndex((self.stdout, self.stderr))


def find_rank_logs(ranks_dir: Path) -> tuple[RankLog, ...]:
    """The newest attempt's logs by rank; empty where there are none (yet) or the folder cannot be read."""
    with contextlib.suppress(OSError):
        starts = [folder for folder in ranks_dir.iterdir() if folder.is_dir()]
        newest = max(starts, key=lambda folder: folder.stat().st_mtime, default=None)
        attempts = _numbered(newest, _ATTEMPT) if newest else {}
        if attempts:
            attempt = max(attempts)
            ranks = _numbered(attempts[attempt], "")
            return tuple(
                RankLog(rank, folder / "stdout.log", folder / "stderr.log", attempt)
                for rank, folder in sorted(ranks.items())
            )
    return ()


def _numbered(folder: Path, prefix: str) -> dict[int, Path]:
    """Folders named prefix + number, by number."""
    names = ((entry.name.removeprefix(prefix), entry) for entry in folder.iterdir())
    return {int(name): entry for name, entry in names if name.isdecimal() and entry.name == f"{prefix}{name}"}
