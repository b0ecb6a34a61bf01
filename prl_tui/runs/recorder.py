"""Records a run's GPUs and host once a second: `recorder RUN_DIR [--interval S]`, a disposable process of its own.

It ends with the run. Killed before, it costs some seconds of the history: the supervisor starts it again
(`companion`), and where that was killed it reads the log on (`heir`). The driver is asked on a thread: while that
hangs, rows say so, and all else goes on.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from prl_tui.machine import child, host
from prl_tui.machine.gpus import SLOWER_WITHOUT_GPUS, Gpu, GpuSnapshot
from prl_tui.machine.nvml import Nvml
from prl_tui.runs import lock, proctree, records
from prl_tui.runs.folder import Ended, RunFolder, Started, read_ended, read_started
from prl_tui.runs.heir import Heir, Heritage
from prl_tui.runs.place import here
from prl_tui.telemetry.gpu_history import FILE, Header, Numbers, Row, Writer

MIB = 1 << 20
_STARTS_WITHIN = 60.0
"""Seconds in which a supervisor must have reported, where no lock shows it."""
MEMORY_EVERY = 5
"""Rows for one look at the memory: with a container's limits it is a dozen files."""
LOG_EVERY = 5
"""Rows for one look whether the log is still the one that is held here."""
_STALE = 3.0
"""Intervals after which an answer of the driver is too old to be recorded."""


class Driver(threading.Thread):
    """Asks the driver again and again; `latest` never waits for it."""

    def __init__(self, interval: float) -> None:
        super().__init__(name="driver", daemon=True)
        self._interval = interval
        self._last: tuple[GpuSnapshot, float] | None = None
        self._begun = time.monotonic()

    def run(self) -> None:
        """Until the process ends."""
        nvml = Nvml(processes=False)
        while True:
            self._begun = begun = time.monotonic()
            found = nvml.sweep()
            self._last = (found, time.monotonic())
            pause = self._interval if found.fault is None else max(self._interval, SLOWER_WITHOUT_GPUS)
            time.sleep(max(0.0, begun + pause - time.monotonic()))  # the pace: NVML tells nothing by itself

    def latest(self) -> tuple[GpuSnapshot | None, str]:
        """The last answer if it is fresh, and why there is none: `hung`, or the driver's own fault."""
        now, last = time.monotonic(), self._last
        if last is not None and last[0].fault is not None and now - last[1] < 2 * SLOWER_WITHOUT_GPUS:
            return None, last[0].fault.code
        if last is not None and now - last[1] < _STALE * max(1.0, self._interval):
            return last[0], ""
        return None, "hung" if now - self._begun > _STALE * max(1.0, self._interval) else ""


class Box:
    """The host's figures; `folder` is on the disk whose room matters."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ticks = _ticks()
        self._memory: float | None = None
        self._whole: float | None = None
        self._looks = 0

    def figures(self) -> Numbers:
        """How busy it is since the last look, and the other `gpu_history.HOST_COLUMNS`."""
        if self._looks % MEMORY_EVERY == 0:
            memory = host.memory()
            self._memory = (memory.total - memory.free) / MIB if memory is not None else None
            self._whole = memory.total / MIB if memory is not None else None
        self._looks += 1
        disk = host.space(self._folder)
        try:
            load: float | None = os.getloadavg()[0]
        except OSError:
            load = None
        room = disk.free / MIB if disk is not None else None
        return (self._busy(), self._memory, load, room, self._whole, host.oom_kills())

    def _busy(self) -> float | None:
        now, before = _ticks(), self._ticks
        self._ticks = now
        if now is None or before is None or now[1] <= before[1]:
            return None
        return 100.0 * (now[0] - before[0]) / (now[1] - before[1])


def _ticks() -> tuple[int, int] | None:
    """Busy and all clock ticks of the processors since boot; None where the kernel does not say."""
    try:
        with Path("/proc/stat").open("rb") as file:
            fields = [int(one) for one in file.readline().split()[1:9]]
        return sum(fields) - fields[3] - fields[4], sum(fields)
    except (OSError, ValueError, IndexError):
        return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Record until the run is over."""
    import argparse

    parser = argparse.ArgumentParser(prog="recorder", description=main.__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--interval", type=float, default=1.0, help="seconds between rows")
    parser.add_argument("--snapshot", action="store_true", help="have what the run was made of written down too")
    parser.add_argument(
        "--heir", type=Heritage.parse, help="the supervisor's pid, descriptors of its pipe, tank and log"
    )
    options = parser.parse_args(arguments)
    folder = RunFolder(options.folder)
    heir = Heir(folder, options.heir) if options.heir else None
    if heir is not None:
        heir.start()
    first = _snapshot if options.snapshot else None
    record(folder, max(0.05, options.interval), first, heir)
    sys.stdout.flush()
    os._exit(0)  # a driver that hangs on its thread holds nobody


def _snapshot(folder: RunFolder) -> None:
    """Another process, with the order that this one got on its standard input: git and packages take what they take."""
    with contextlib.suppress(OSError):
        subprocess.Popen(child.python_argv("prl_tui.runs.snapshot", str(folder.path)), cwd="/", start_new_session=True)


def record(
    folder: RunFolder,
    interval: float,
    first: Callable[[RunFolder], None] | None = None,
    heir: Heir | None = None,
) -> None:
    """Append a row each interval until the run in `folder` is over, and one at its end; call `first` after the first.

    While an `heir` has something to read the run is not over.
    """
    wanted, driver, box = _uuids(folder), Driver(interval), Box(folder.path)
    driver.start()
    writer = Writer(folder.path / FILE)
    begun = due = time.monotonic()
    begins, rows = True, 0
    while True:
        due += interval
        time.sleep(max(0.0, due - time.monotonic()))  # the pace of the rows
        due = max(due, time.monotonic() - interval)  # a box that slept is not caught up with
        if not folder.path.is_dir():
            return
        if heir is not None and rows % LOG_EVERY == 0:
            heir.keep_up()
        rows += 1
        over = _is_over(folder, time.monotonic() - begun) and not (heir is not None and heir.is_alive())
        snapshot, problem = driver.latest()
        cards = [gpu for gpu in snapshot.gpus if not wanted or gpu.uuid in wanted] if snapshot is not None else []
        header = _header(snapshot, cards) if snapshot is not None else None
        row = Row(time.time(), interval, tuple(map(_gpu, cards)), box.figures(), problem, begins)
        writer.add(header, row)
        begins = False
        if first is not None:
            first(folder)
            first = None
        if over:
            return


def _is_over(folder: RunFolder, waited: float) -> bool:
    if lock.held(folder.path / records.LOCK):
        return False
    if isinstance(read_ended(folder), Ended):
        return True
    started = read_started(folder)
    if not isinstance(started, Started) or started.supervisor is None:
        return waited > _STARTS_WITHIN
    if not started.is_at(here()):
        return True
    births = (started.supervisor, started.leader)
    return not any(birth is not None and proctree.is_alive(birth) for birth in births)


def _uuids(folder: RunFolder) -> frozenset[str]:
    """The GPUs that the run has reserved; none means that all of them are recorded."""
    info = folder.info()
    gpus = info.get("gpus") if isinstance(info, dict) else None
    return frozenset(map(str, gpus)) if isinstance(gpus, dict) else frozenset()


def _header(snapshot: GpuSnapshot, cards: Sequence[Gpu]) -> Header:
    return Header(
        snapshot.driver, tuple((gpu.index, gpu.uuid or "", gpu.name or "", gpu.memory_total) for gpu in cards)
    )


def _gpu(gpu: Gpu) -> Numbers | None:
    if gpu.state != "ok":
        return None
    memory = gpu.memory_used / MIB if gpu.memory_used is not None else None
    return (gpu.utilization, memory, gpu.power, gpu.temperature, gpu.sm_clock)


if __name__ == "__main__":
    sys.exit(main())
