"""The recorder of a run, as its supervisor keeps it: started beside the run, and again where it dies, a few times.

It is none of the run's processes: in a session of its own, at low priority, and with a mark that says so, since it
is a child of the supervisor like what the run leaves behind. It inherits the reading ends of the log's pipes and
the log: should the supervisor be killed, the recorder reads on (`heir`).
"""

from __future__ import annotations

import os
import subprocess

from prl_tui.runs import records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LOW = 10
"""Niceness of what only looks on."""

PAUSES = (1.0, 5.0, 25.0, 125.0, 600.0)
"""Seconds before it is started again, each time longer: a driver that kills whoever asks it is not asked for ever."""

STEADY = 3600.0
"""Seconds after which a recorder has lived well: its end is a first one again."""


class Companion:
    """One recorder after the other. Times are seconds of one monotonic clock."""

    def __init__(self, folder: Path, argv: Sequence[str], given: bytes) -> None:
        self._folder, self._argv = folder, list(argv)
        self._given = os.memfd_create("order")  # a file without a name: it may hold secrets
        os.write(self._given, given)
        self.pid: int | None = None
        self.next_at: float | None = 0.0
        """When it is to be started; None while it runs, and once nobody will start it any more."""
        self._begun = 0.0
        self._deaths = 0

    def start(self, now: float, inherited: Sequence[int]) -> None:
        """Start it, with these descriptors; where the system refuses, it is tried again later."""
        self.next_at, self._begun = None, now
        os.lseek(self._given, 0, os.SEEK_SET)
        heritage = ["--heir", ",".join(map(str, (os.getpid(), *inherited)))] if inherited else []
        around = {name: value for name, value in os.environ.items() if name != records.MARKER}
        try:
            child = subprocess.Popen(
                [*self._argv, *heritage],
                env={**around, records.BESIDE: str(self._folder)},
                cwd="/",
                stdin=self._given,
                start_new_session=True,
                pass_fds=inherited,
            )
        except OSError:
            self._again(now)
            return
        child.returncode = 0  # it is reaped among the others
        self.pid = child.pid
        try:
            os.setpriority(os.PRIO_PROCESS, child.pid, LOW)
        except OSError:
            return

    def ended(self, now: float, wait_status: int) -> None:
        """It has ended: by itself, because the run is over, or its folder gone; or else before its time."""
        self.pid = None
        if wait_status != 0:
            self._again(now)

    def _again(self, now: float) -> None:
        if now - self._begun > STEADY:
            self._deaths = 0
        if self._deaths < len(PAUSES):
            self.next_at = now + PAUSES[self._deaths]
        self._deaths += 1
