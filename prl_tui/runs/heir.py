"""Reads a run's log on where its supervisor was killed: what lies in the pipes, and what the run writes from then on.

The recorder does so on a thread of its own, which no driver holds up. Without it the bytes in the pipes would be
gone, and the run's processes would write into a pipe that nobody reads: they would die of it.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time

from prl_tui.core.value import Value
from prl_tui.runs import proctree, records
from prl_tui.runs.folder import Ended, RunFolder, number, read_ended
from prl_tui.runs.logpump import LogPump, is_at, open_log

_TURN = 0.2
"""Seconds between two looks at the supervisor where the kernel cannot be asked to tell (before Linux 5.3)."""


class Heritage(Value):
    """What a supervisor leaves to its recorder."""

    supervisor: int
    """Its pid: the parent of this process for as long as it lives."""
    pipe: int
    """Descriptor from which the run's output is read."""
    tank: int
    """The same of what the supervisor has taken out of the pipe, on its way into the log."""
    log: int
    """Descriptor of the log."""

    @staticmethod
    def parse(text: str) -> Heritage:
        """From `SUPERVISOR,PIPE,TANK,LOG`. ValueError for anything else."""
        supervisor, pipe, tank, log = map(int, text.split(","))
        return Heritage(supervisor, pipe, tank, log)


class Heir(threading.Thread):
    """Waits for the supervisor's end; reads the log on unless that wrote down how the run ended."""

    def __init__(self, folder: RunFolder, heritage: Heritage) -> None:
        super().__init__(name="heir", daemon=True)
        self._folder, self._heritage = folder, heritage
        self._reads = False

    def keep_up(self) -> None:
        """Hold the log that the supervisor writes now: a deleted one takes its room on the disk while it is open here."""
        log, path = self._heritage.log, self._folder.output
        with contextlib.suppress(OSError):  # no log there, or the folder is gone: the old one it is, then
            if self._reads or not path.is_file() or is_at(log, path):
                return
            new = open_log(path)
            os.dup2(new, log, inheritable=False)
            os.close(new)

    def run(self) -> None:
        """Until the run has said everything."""
        await_end(self._heritage.supervisor)
        self._reads = True
        if isinstance(read_ended(self._folder), Ended):
            return
        beat = records.read_record(self._folder.path / records.HEARTBEAT)
        said = beat if isinstance(beat, dict) else {}
        before = int(number(said.get("dropped")) or 0)
        self._note(before, whole=False)
        pump = LogPump(self._heritage.log, self._folder.output)
        sure = said.get(records.SURE)
        if isinstance(sure, list) and len(sure) == 2:
            pump.take_over(*sure)
        look_at = 0.0
        for source in (self._heritage.tank, self._heritage.pipe):
            more = True
            while more:
                if time.monotonic() >= look_at:
                    pump.look()
                    look_at = time.monotonic() + records.HEARTBEAT_EVERY
                more = _moves(pump, source)
        pump.close()
        self._note(before + pump.dropped, whole=True)

    def _note(self, dropped: int, *, whole: bool) -> None:
        pid, ticks = proctree.birth(os.getpid()) or (os.getpid(), 0)
        said = {"since": time.time(), "whole": whole, "dropped": dropped, "reader": {"pid": pid, "ticks": ticks}}
        with contextlib.suppress(OSError):  # a full disk, a folder that was removed
            records.write_record(self._folder.path / records.LOG_END, said)


def _moves(pump: LogPump, source: int) -> bool:
    """Whether there is more to come; waits a while for it. The supervisor may have set its end not to wait."""
    if not select.select([source], [], [], records.HEARTBEAT_EVERY)[0]:
        return True
    with contextlib.suppress(BlockingIOError):
        return pump.move(source) > 0
    return True


def await_end(parent: int) -> None:
    """Wait until this process has another parent than that: at its end the kernel gives it one."""
    try:
        told = [os.pidfd_open(parent)] if os.getppid() == parent else []
    except (AttributeError, OSError):
        told = []
    while os.getppid() == parent:
        select.select(told, [], [], _TURN)
    for descriptor in told:
        os.close(descriptor)
