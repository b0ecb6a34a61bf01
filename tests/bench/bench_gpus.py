"""What the GPU sampler costs with eight stub GPUs, beside `nvitop -1`: `python -m tests.bench.bench_gpus`.

The stub answers at once, so the figures are the program's own cost; a real driver's calls come on top (0.06 ms a
sweep of two H100s was measured). nvitop is installed into a temporary environment; without one its rows are left
out. Times are the least of several runs, as other work on the machine only adds.
"""

from __future__ import annotations

import argparse
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prl_tui.machine.child import python_argv
from tests.nvml_stub.plugin import NvmlStub, build

SWEEPS = """
import statistics, sys, time
from prl_tui.machine.nvml import Nvml
from prl_tui.machine.gpu_json import line
nvml, clock = Nvml(), time.perf_counter
begun = clock(); nvml.sweep(); first = clock() - begun
sweeps, lines = [], []
for _ in range(300):
    begun = clock(); snapshot = nvml.sweep(); sweeps.append(clock() - begun)
    begun = clock(); line(snapshot); lines.append(clock() - begun)
print(first * 1e3, min(sweeps) * 1e3, statistics.median(sweeps) * 1e3, min(lines) * 1e3)
"""
EIGHT_JOBS = [f"{gpu} {key}" for gpu in range(8) for key in (f"pid {os.getpid()} 60000", "mem 60000", "util 98")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15, help="how long the sampler is watched")
    parser.add_argument("--runs", type=int, default=7, help="runs of each whole command")
    options = parser.parse_args()
    with eight_busy_gpus() as stub:
        sweeps(stub)
        nvitop = install_nvitop(stub.folder)
        if nvitop is None:
            row("nvitop", "not installable here")
        stub.set(*EIGHT_JOBS)
        commands(stub, nvitop, options.runs)
        live(stub, nvitop, options.seconds)


@contextmanager
def eight_busy_gpus() -> Iterator[NvmlStub]:
    """A box of eight stub GPUs with a process each; its folder is a temporary one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(shutil.which("gcc") or "cc", folder)
        stub = NvmlStub(folder, folder)
        stub.set(*EIGHT_JOBS)
        yield stub


def sweeps(stub: NvmlStub) -> None:
    """One process, many sweeps: eight GPUs with a process each, and eight idle ones."""
    for title, state in (("8 GPUs with a process each", EIGHT_JOBS), ("8 idle GPUs", [])):
        stub.set(*state)
        out = subprocess.run([sys.executable, "-c", SWEEPS], env=stub.environment(), stdout=-1, check=True).stdout
        first, least, median, line = map(float, out.split())
        row(f"sweep, {title}", f"{least:.2f} ms (median {median:.2f}, first {first:.0f} with the imports)")
        row("  the same as a JSON line", f"{line:.2f} ms")


def commands(stub: NvmlStub, nvitop: Path | None, runs: int) -> None:
    """Whole commands, start to end: one sweep of ours and `nvitop -1`."""
    ours = least(python_argv("prl_tui.machine.sampler", "--once"), stub, runs)
    row("one sweep in a process of its own", f"{ours[0]:.0f} ms, processor {ours[1]:.0f} ms")
    if nvitop is not None:
        theirs = least([str(nvitop), "-1"], stub, runs)
        row("nvitop -1", f"{theirs[0]:.0f} ms, processor {theirs[1]:.0f} ms")
        row("  ours / theirs", f"wall {ours[0] / theirs[0]:.2f}, processor {ours[1] / theirs[1]:.2f}")


def live(stub: NvmlStub, nvitop: Path | None, seconds: float) -> None:
    """At one sweep a second, after the start: our sampler (it draws nothing) and the whole live nvitop."""
    ours = watched(python_argv("prl_tui.machine.sampler", "--interval", "1"), stub, seconds)
    row("sampler at 1 Hz", f"{ours[0]:.2f} % of one core, {ours[1]:.1f} MiB resident")
    if nvitop is not None:
        theirs = watched([str(nvitop)], stub, seconds)
        row("nvitop at 1 Hz, with its screen", f"{theirs[0]:.2f} % of one core, {theirs[1]:.1f} MiB resident")
        row("  ours / theirs", f"processor {ours[0] / theirs[0]:.2f}, memory {ours[1] / theirs[1]:.2f}")


def least(command: list[str], stub: NvmlStub, runs: int) -> tuple[float, float]:
    """Least wall and processor milliseconds of some runs."""
    wall, processor = [], []
    for _ in range(runs):
        begun = time.perf_counter()
        child = subprocess.Popen(command, env=stub.environment(TERM="xterm"), stdin=-3, stdout=-3, stderr=-3)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"{command[0]} ended with {child.returncode}")
        wall.append(1e3 * (time.perf_counter() - begun))
        processor.append(1e3 * (usage.ru_utime + usage.ru_stime))
    return min(wall), min(processor)


def watched(command: list[str], stub: NvmlStub, seconds: float) -> tuple[float, float]:
    """Percent of a core and resident MiB of a program on a terminal, from three seconds after its start."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(command[0], command, stub.environment(TERM="xterm-256color", COLUMNS="160", LINES="50"))
    drain(terminal, 3)
    begun, used = time.monotonic(), ticks(pid)
    drain(terminal, seconds)
    spent, span = ticks(pid) - used, time.monotonic() - begun
    resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(terminal)
    return 100 * spent / os.sysconf("SC_CLK_TCK") / span, resident


def drain(terminal: int, seconds: float) -> None:
    """Read what is drawn, as a terminal would."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if select.select([terminal], [], [], left)[0]:
            os.read(terminal, 1 << 16)


def install_nvitop(folder: Path) -> Path | None:
    """nvitop in a temporary environment; None where that is impossible."""
    target = folder / "nvitop"
    try:
        subprocess.run([sys.executable, "-m", "venv", target], check=True, timeout=120, capture_output=True)
        subprocess.run([target / "bin/pip", "install", "nvitop"], check=True, timeout=300, capture_output=True)
    except (subprocess.SubprocessError, OSError):
        return None
    return target / "bin/nvitop"


def ticks(pid: int) -> int:
    """Processor time of a process in clock ticks."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def row(title: str, text: str) -> None:
    print(f"{title:<42} {text}", flush=True)


if __name__ == "__main__":
    main()
