"""Whether a run that is followed goes on, also where nobody knows for a while: one late heartbeat ends nothing."""

from __future__ import annotations

import sys
import time

from prl_tui.i18n import t
from prl_tui.runs import records
from prl_tui.runs.folder import RunFolder
from prl_tui.runs.state import RunStatus

PATIENCE = 2 * records.HEARTBEAT_FRESH
"""Seconds for which a run of another place is looked at again after it was heard of last."""


class Doubt:
    """Remembers since when the state of one run is unknown."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._since: float | None = None
        self._told = False

    def goes_on(self, seen: RunStatus) -> bool:
        """Whether to look again: it lives, or may be heard of again. Says so on stderr once, where nobody knows."""
        if seen.goes_on:
            self._since = None
            self._tell_orphaned(seen)
            return True
        if seen.state != "unknown" or not (self._folder.path / records.HEARTBEAT).is_file():
            return False
        now = time.monotonic()
        if self._since is None:
            self._since = now
            print(
                t(
                    "nobody knows whether run {id} goes on: {reason}; it is looked at again for {n} s",
                    id=self._folder.id,
                    reason=seen.detail,
                    n=round(PATIENCE),
                ),
                file=sys.stderr,
            )
        return now - self._since < PATIENCE

    def _tell_orphaned(self, seen: RunStatus) -> None:
        """Once, on stderr: it is followed although its supervisor is gone."""
        if seen.orphaned and not self._told:
            self._told = True
            print(t("run {id}: {words}", id=self._folder.id, words=f"{seen.detail}."), file=sys.stderr, flush=True)
