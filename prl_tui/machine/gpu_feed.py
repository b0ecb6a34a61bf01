"""The screen's side of the sampler: a child process that may hang, and a reader that never does.

`GpuFeed` runs one plain daemon thread that starts the child, reads its pipe and replaces it when it hangs or ends.
The thread only waits in `poll` with a wake-up pipe and is never joined, so neither `stop` nor the interpreter's
exit waits for it. A child that cannot be killed (it hangs inside the driver) is left behind, and only a few such.
`once` is the same for one sweep in the calling thread.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from prl_tui.core.value import Value
from prl_tui.machine.gpu_faults import GpuFault
from prl_tui.machine.gpus import SLOWER_WITHOUT_GPUS, GpuSnapshot, keep_lost
from prl_tui.machine.sampler_child import SamplerChild, Wake, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FIRST_ANSWER = 30.0
"""Seconds for the first sweep: initialising eight GPUs without persistence mode takes many seconds."""
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
"""Seconds before another child is tried: at first, and once several have failed."""
_GRACE = 1.0
_TOO_MANY_STUCK = 3


class Reading(Value):
    """What the feed knows now."""

    snapshot: GpuSnapshot | None
    """The last one; None before the first."""
    age: float | None
    """Seconds since it came."""
    stale: bool
    """Whether a newer one should have come by now."""
    waited: float
    """Seconds since the feed was started: how long a first answer is awaited."""
    fault: GpuFault | None = None
    """Why nothing newer comes: the child hangs or ended."""
    restarts: int = 0

    @property
    def problem(self) -> str | None:
        """The one sentence to show, if there is a problem: the feed's own, else the driver's."""
        if self.fault is not None:
            return self.fault.sentence
        return self.snapshot.problem if self.snapshot else None


class GpuFeed:
    """Snapshots at an interval, for as long as a screen wants them. All methods return at once."""

    def __init__(
        self,
        interval: float = 1.0,
        *,
        hang_after: float | None = None,
        first_answer: float = FIRST_ANSWER,
        environment: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`hang_after`: seconds of silence after which the child is replaced (at least ten by default)."""
        self.interval = interval
        self._hang_after = hang_after if hang_after is not None else max(10.0, 5 * interval)
        self._first_answer = first_answer
        self._environment = environment
        self._clock = clock
        self._pump: _Pump | None = None
        self._begun: float | None = None
        self._last: tuple[GpuSnapshot, float] | None = None

    def start(self) -> None:
        """Begin sampling; nothing happens if it already does."""
        if self._pump is None:
            self._begun = self._clock()
            self._pump = _Pump(self._spawn, self._take, self._first_answer, self._hang_after)
            self._pump.start()

    def latest(self) -> Reading:
        """The last snapshot with its age; never waits."""
        now = self._clock()
        last, pump = self._last, self._pump
        waited = now - self._begun if self._begun is not None else 0.0
        age = now - last[1] if last else None
        fault, restarts = (pump.fault, pump.restarts) if pump else (None, 0)
        if fault is not None and fault.code == "hung":
            fault = GpuFault("hung", {"seconds": f"{waited if age is None else age:.0f}"})
        if last is None or age is None:
            return Reading(None, None, fault is not None, waited, fault, restarts)
        return Reading(last[0], age, fault is not None or age > self._stale_after(last[0]), waited, fault, restarts)

    def stop(self) -> None:
        """Kill the child and forget it; the last snapshot stays. Never waits for a hung driver."""
        pump, self._pump = self._pump, None
        if pump is not None:
            pump.stop()

    @property
    def child_pid(self) -> int | None:
        """The sampler's pid while there is one."""
        return self._pump.child_pid if self._pump else None

    def _spawn(self) -> SamplerChild:
        return SamplerChild(["--interval", str(self.interval)], self._environment)

    def _take(self, line: bytes) -> bool:
        """Keep one line of the child; False if it is no snapshot."""
        snapshot = parse(line)
        if snapshot is not None:
            self._last = (keep_lost(self._last[0] if self._last else None, snapshot), self._clock())
        return snapshot is not None

    def _stale_after(self, snapshot: GpuSnapshot) -> float:
        period = self.interval if snapshot.fault is None else max(self.interval, SLOWER_WITHOUT_GPUS)
        return max(3.0, 3 * period)


class _Pump(threading.Thread):
    """The feed's thread: one life from `start` to `stop`."""

    def __init__(
        self, spawn: Callable[[], SamplerChild], take: Callable[[bytes], bool], first_answer: float, hang_after: float
    ) -> None:
        super().__init__(name="gpu-feed", daemon=True)
        self._spawn, self._take = spawn, take
        self._first_answer, self._hang_after = first_answer, hang_after
        self._child: SamplerChild | None = None
        self._stuck: list[SamplerChild] = []
        self._stopping = False
        self._wake = Wake()
        self.fault: GpuFault | None = None
        self.restarts = 0

    @property
    def child_pid(self) -> int | None:
        child = self._child
        return child.pid if child else None

    def stop(self) -> None:
        """From any thread: kill the child now, and let the thread end by itself."""
        self._stopping = True
        child = self._child
        if child is not None:
            child.kill()
        self._wake.call()

    def run(self) -> None:
        pause = FIRST_PAUSE
        while not self._stopping:
            answered = self._one_child()
            pause = FIRST_PAUSE if answered else min(2 * pause, LONGEST_PAUSE)
            if not self._stopping:
                self._wake.wait(pause)
                self.restarts += 1
        self._wake.close()

    def _one_child(self) -> bool:
        """Run one child until it hangs, ends or is not wanted; whether it ever answered."""
        self._stuck = [child for child in self._stuck if not child.ended()]
        if len(self._stuck) >= _TOO_MANY_STUCK:
            return False
        try:
            child = self._child = self._spawn()
        except OSError as error:
            self.fault = GpuFault("reader-ended", {"how": str(error)})
            return False
        answered, hung = False, False
        while not self._stopping and not hung:
            seconds = self._hang_after if answered else self._first_answer
            lines = child.read(seconds, self._wake)
            if lines is None:
                break
            hung = not lines and not self._stopping
            for line in lines:
                if self._take(line):
                    answered, self.fault = True, None
        self._let_go(child, hung=hung)
        return answered

    def _let_go(self, child: SamplerChild, *, hung: bool) -> None:
        """Kill the child and give it a moment to be gone; one that stays is left to the kernel."""
        if hung:
            self.fault = GpuFault("hung")
        elif not self._stopping and (how := child.how_it_ended(_GRACE)):
            self.fault = GpuFault("reader-ended", {"how": how})
        if not child.end(_GRACE):
            self._stuck.append(child)
        self._child = None


def once(
    timeout: float = FIRST_ANSWER, environment: Mapping[str, str] | None = None, child: SamplerChild | None = None
) -> GpuSnapshot:
    """One sweep in a child of its own; a driver that does not answer within `timeout` seconds is a fault.

    `child`: one that was started for it before, with `--once`; it is used up.
    """
    try:
        child = child or SamplerChild(["--once"], environment)
    except OSError as error:
        return GpuSnapshot(time.time(), fault=GpuFault("reader-ended", {"how": str(error)}))
    lines = child.read(timeout)
    how = child.how_it_ended(_GRACE) if lines is None else None
    child.end(_GRACE)
    found = parse(lines[-1]) if lines else None
    if found is not None:
        return found
    fault = GpuFault("hung", {"seconds": f"{timeout:.0f}"}) if how is None else GpuFault("reader-ended", {"how": how})
    return GpuSnapshot(time.time(), fault=fault)
