"""Heartbeats as this process saw them change: clocks of two hosts may differ by any time, a change is a change."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from prl_tui import steady
from prl_tui.core.value import Value
from prl_tui.runs import records

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_MOST = 4096
"""Heartbeats that are remembered."""


class _Look(Value):
    mark: object
    at: float
    changed: float | None


class Pulses:
    """Remembers the last look at each heartbeat. May be asked from several threads."""

    def __init__(self, clock: Callable[[], float] = steady.seconds) -> None:
        self._clock = clock
        self._looks: dict[Path, _Look] = {}
        self._lock = threading.Lock()

    def seen(self, path: Path, mark: object) -> float | None:
        """Seconds since this heartbeat was seen to change; None where it was not. `mark`: what changes with each beat.

        After a pause in which it may have changed and ended, a change says nothing.
        """
        now = self._clock()
        with self._lock:
            before = self._looks.pop(path, None)
            changed = before.changed if before is not None else None
            if before is not None and before.mark != mark:
                changed = now if now - before.at < records.HEARTBEAT_FRESH else None
            self._looks[path] = _Look(mark, now, changed)
            while len(self._looks) > _MOST:
                del self._looks[next(iter(self._looks))]
        return None if changed is None else max(0.0, now - changed)


PULSES = Pulses()
"""What this process has seen."""
