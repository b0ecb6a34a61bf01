"""Failures that the demo plays on purpose: the switches, declared as data, and what each does to a rank."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

from prl_tui.demo.flags import flag, truth, whole
from prl_tui.i18n import mark

NOBODY = -1
DAEMON_LIFE = 900
"""Seconds after which a forgotten daemon ends by itself."""

_MIB = 1 << 20
_PIECE = 8
# The fault itself: a grandchild that stays behind.
_SLEEPER = f"import time; time.sleep({DAEMON_LIFE})"
# Between the rank and the sleeper stands a process that ends at once: the sleeper has no parent in the job.
_STARTER = (
    "import subprocess, sys\n"
    "quiet = dict.fromkeys(('stdin', 'stdout', 'stderr'), subprocess.DEVNULL)\n"
    f"child = subprocess.Popen([sys.executable, '-c', {_SLEEPER!r}], start_new_session=True, **quiet)\n"
    "print(child.pid)\n"
)


@dataclass(frozen=True, slots=True)
class FaultSwitches:
    """Which failures to play; all are off by default. Ranks are global, steps count from 1."""

    fail_rank: int = flag(NOBODY, whole(NOBODY), mark("this rank raises RuntimeError; -1 is no rank"))
    fail_step: int = flag(1, whole(1), mark("the step in which fail_rank fails"))
    hang_rank: int = flag(
        NOBODY,
        whole(NOBODY),
        mark("this rank stops answering, and the others wait for it; -1 is no rank"),
    )
    hang_step: int = flag(1, whole(1), mark("the step in which hang_rank hangs"))
    eat_memory_rank: int = flag(NOBODY, whole(NOBODY), mark("this rank takes host memory and keeps it; -1 is no rank"))
    eat_memory_mib: int = flag(256, whole(0), mark("MiB that eat_memory_rank takes, never more"), "MIB")
    eat_memory_step: int = flag(1, whole(1), mark("the step in which eat_memory_rank takes it"))
    exit_code_rank: int = flag(
        NOBODY, whole(NOBODY), mark("this rank leaves at once, without a traceback; -1 is no rank")
    )
    exit_code: int = flag(1, whole(0), mark("the code with which exit_code_rank leaves"))
    exit_code_step: int = flag(1, whole(1), mark("the step in which exit_code_rank leaves"))
    ignore_sigterm: bool = flag(False, truth, mark("every rank is deaf to SIGTERM and SIGINT"), "true|false")
    spawn_daemon: bool = flag(
        False,
        truth,
        mark("rank 0 starts an orphan in a session of its own, which sleeps for 15 minutes"),
        "true|false",
    )
    crash_at_exit: bool = flag(
        False,
        truth,
        mark("every rank dies by SIGSEGV after all is done and saved"),
        "true|false",
    )
    flood_lines: int = flag(0, whole(0), mark("print this many lines in each step on each rank"))


class Faults:
    """The switches at work in one rank."""

    def __init__(self, switches: FaultSwitches, rank: int) -> None:
        self._switches = switches
        self._rank = rank
        self._eaten: list[bytearray] = []

    def check(self, world_size: int) -> None:
        """ValueError if a switch names a rank that does not exist."""
        for name in ("fail_rank", "hang_rank", "eat_memory_rank", "exit_code_rank"):
            rank = getattr(self._switches, name)
            if rank >= world_size:
                raise ValueError(f"{name} ({rank}) does not exist with world_size ({world_size})")

    def at_start(self) -> None:
        """Play what happens before training."""
        if self._switches.ignore_sigterm:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        if self._switches.spawn_daemon and self._rank == 0:
            print(f"rank {self._rank} started daemon pid {start_daemon()}", flush=True)

    def at_step(self, step: int) -> None:
        """Play what happens when `step` begins."""
        switches = self._switches
        if switches.flood_lines:
            self._flood(step)
        if (self._rank, step) == (switches.eat_memory_rank, switches.eat_memory_step):
            self._eat()
        if (self._rank, step) == (switches.fail_rank, switches.fail_step):
            raise RuntimeError(f"simulated failure on rank {self._rank} at step {step}")
        if (self._rank, step) == (switches.exit_code_rank, switches.exit_code_step):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(switches.exit_code)
        while (self._rank, step) == (switches.hang_rank, switches.hang_step):
            time.sleep(60)  # the fault itself: a rank that hangs

    def at_end(self) -> None:
        """Play what happens after everything is done and said."""
        if self._switches.crash_at_exit:
            sys.stdout.flush()
            sys.stderr.flush()
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            signal.signal(signal.SIGSEGV, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGSEGV)

    def _flood(self, step: int) -> None:
        total = self._switches.flood_lines
        lines = (
            f"rank {self._rank} step {step} line {n}/{total} the harbour master counts every crate that comes ashore\n"
            for n in range(1, total + 1)
        )
        sys.stdout.writelines(lines)
        sys.stdout.flush()

    def _eat(self) -> None:
        """Take the memory in small pieces, each page written: memory that is only promised costs nothing."""
        left = self._switches.eat_memory_mib
        while left > 0:
            piece = min(left, _PIECE)
            self._eaten.append(bytearray(b"\xa5" * _MIB) * piece)
            left -= piece
        print(f"rank {self._rank} took {self._switches.eat_memory_mib} MiB of host memory", flush=True)


def start_daemon() -> int:
    """Start a sleeper in its own session whose parent is gone; its process id."""
    done = subprocess.run([sys.executable, "-c", _STARTER], check=True, capture_output=True, text=True)
    return int(done.stdout)
