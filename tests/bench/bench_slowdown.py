"""What prl-tui costs a training: the same DDP work on all GPUs, bare and under prl-tui, in alternating pairs.

    python -m tests.bench.bench_slowdown [--pairs 10] [--steps 400] [--processes 2]

Bare is torchrun with its output in a file. The other is the same program launched by `prl-tui launch`, recorded at
1 Hz, and watched meanwhile by `prl-tui watch` on a terminal of 160x45. The work's own clock, from a barrier to a
barrier, is compared; printed are the pairs, the mean slowdown and its two-sided 95 % interval (Student's t on the
logarithms of the ratios).
"""

from __future__ import annotations

import argparse
import fcntl
import json
import math
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from pathlib import Path

WORK = Path(__file__).parent / "programs" / "fixed_work.py"
PRL = [sys.executable, "-m", "prl_tui"]
STUDENT = {
    2: 4.303,
    3: 3.182,
    4: 2.776,
    5: 2.571,
    7: 2.365,
    9: 2.262,
    10: 2.228,
    11: 2.201,
    13: 2.160,
    15: 2.131,
    19: 2.093,
}
"""97.5 % point of Student's t by degrees of freedom."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        os.environ.update(XDG_STATE_HOME=f"{home}/state", XDG_CACHE_HOME=f"{home}/cache", TERM="xterm-256color")
        logs: list[float] = []
        for number in range(options.pairs):
            ways = (bare, launched) if number % 2 == 0 else (launched, bare)
            taken = {way.__name__: way(home, options.steps, options.processes) for way in ways}
            ratio = taken["launched"] / taken["bare"]
            logs.append(math.log(ratio))
            print(
                f"pair {number + 1:2}  bare {taken['bare']:7.3f} s  under prl-tui {taken['launched']:7.3f} s  {ratio:.4f}",
                flush=True,
            )
    tell(logs)


def tell(logs: list[float]) -> None:
    """The mean slowdown and its interval, in percent."""
    mean = statistics.mean(logs)
    print(f"slowdown {100 * (math.exp(mean) - 1):+.3f} %")
    if len(logs) > 2:
        degrees = max(known for known in STUDENT if known <= len(logs) - 1)
        half = STUDENT[degrees] * statistics.stdev(logs) / math.sqrt(len(logs))
        low, high = (100 * (math.exp(mean + side * half) - 1) for side in (-1, 1))
        print(f"95 % interval {low:+.3f} to {high:+.3f} %")


def bare(home: Path, steps: int, processes: int) -> float:
    """Seconds of the work under torchrun alone."""
    out = home / "bare.txt"
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(processes)]
    with (home / "bare.log").open("wb") as log:
        subprocess.run([*command, str(WORK), str(out), str(steps)], stdout=log, stderr=log, check=True)
    return taken(out)


def launched(home: Path, steps: int, processes: int) -> float:
    """Seconds of the work launched, recorded and watched."""
    out = home / "launched.txt"
    values = {"script": WORK, "arguments": f"{out} {steps}", "nproc_per_node": processes, "training_env": "this"}
    words = [word for key, value in values.items() for word in ("--set", f"{key}={value}")]
    told = subprocess.run([*PRL, "launch", "custom", "--detach", "--json", "--no-probe", *words], stdout=-1, check=True)
    run = json.loads(told.stdout)["id"]
    with Watched(run):
        code = subprocess.run([*PRL, "watch", run, "--plain"], stdout=-3, check=False).returncode
    if code:
        raise SystemExit(f"the run ended with {code}")
    return taken(out)


def taken(out: Path) -> float:
    seconds = float(out.read_text())
    out.unlink()
    return seconds


class Watched:
    """The watch screen of a run on a terminal that somebody reads."""

    def __init__(self, run: str) -> None:
        self.command = [*PRL, "watch", run]

    def __enter__(self) -> Watched:
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execvp(self.command[0], self.command)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 45, 160, 0, 0))
        self.ended = threading.Event()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        return self

    def read(self) -> None:
        while not self.ended.is_set():
            if select.select([self.terminal], [], [], 0.2)[0]:
                try:
                    os.read(self.terminal, 1 << 16)
                except OSError:
                    return

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.reader.join()
        os.kill(self.pid, signal.SIGTERM)
        time.sleep(0.3)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


if __name__ == "__main__":
    main()
