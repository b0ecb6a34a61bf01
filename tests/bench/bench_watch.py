"""What the watch screen costs while nothing happens, beside nvitop: `python -m tests.bench.bench_watch`.

Eight stub GPUs with a process each, one sweep a second on both sides, a terminal of 160x50 that reads what is drawn.
The run that is watched waits, or writes a line a second. Each figure is the whole family of processes.
"""

from __future__ import annotations

import argparse
import os
import pty
import signal
import statistics
import sys
import time
from pathlib import Path

import psutil

from prl_tui.runs import launcher, stop
from tests.bench.bench_gpus import drain, eight_busy_gpus, install_nvitop, row
from tests.nvml_stub.plugin import NvmlStub

PROGRAMS = {
    "a silent run": "import time; time.sleep(3600)",
    "a run with a line a second": "import time\nwhile True: print('line', time.time(), flush=True); time.sleep(1)",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    with eight_busy_gpus() as stub:
        name = str(stub.folder)
        os.environ.update(XDG_STATE_HOME=f"{name}/state", XDG_CACHE_HOME=f"{name}/cache")
        nvitop = install_nvitop(stub.folder)
        theirs = []
        if nvitop is not None:
            theirs = [cost([str(nvitop)], stub, options.seconds) for _ in range(options.turns)]
            tell("nvitop", theirs)
        for title, program in PROGRAMS.items():
            run = launcher.start(Path(name, "state/prl-tui/runs"), launcher.Job((sys.executable, "-uc", program)))
            ours = [watch(run.id, stub, options.seconds) for _ in range(options.turns)]
            tell(f"prl-tui watch, {title}", ours)
            if theirs:
                row("  ours / theirs", f"{middle(ours) / middle(theirs):.2f}")
            stop.stop(run)
            stop.wait(run, 20)


def watch(run: str, stub: NvmlStub, seconds: float) -> tuple[float, float]:
    return cost([sys.executable, "-m", "prl_tui", "watch", run], stub, seconds)


def tell(title: str, found: list[tuple[float, float]]) -> None:
    row(title, f"{middle(found):.2f} % of a core, {statistics.median(one[1] for one in found):.1f} MiB")


def middle(found: list[tuple[float, float]]) -> float:
    return statistics.median(one[0] for one in found)


def cost(command: list[str], stub: NvmlStub, seconds: float) -> tuple[float, float]:
    """Percent of a core and resident MiB of a program on a terminal with what it started, from 4 s after its start."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(command[0], command, stub.environment(TERM="xterm-256color", COLUMNS="160", LINES="50"))
    drain(terminal, 4)
    top = psutil.Process(pid)
    family = [top, *top.children(recursive=True)]
    begun, used = time.monotonic(), sum(map(spent, family))
    drain(terminal, seconds)
    percent = 100 * (sum(map(spent, family)) - used) / (time.monotonic() - begun)
    resident = sum(one.memory_info().rss for one in family) / (1 << 20)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(terminal)
    return percent, resident


def spent(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


if __name__ == "__main__":
    main()
