"""Logs shown live in a flood: `python -m tests.bench.bench_flood [--lines 10000000]`.

Eight ranks write 5,000 lines a second each into real files, watched by the real app on a pty of 160x45; a key that
shows another rank's log is pressed four times a second, its latency counted until the new name is in what the terminal
got. Then they write the rest of `--lines` as fast as they can, and the app's memory is read. Once more over a terminal
that takes 100 kB/s. Textual's RichLog and Log get the same lines, for the same seconds. The writers run at nice 10.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from prl_tui.runs import launcher, stop
from tests.bench.bench_gpus import row

RANKS, RATE = 8, 5000
KEYS_EVERY = 0.25
SHOWN = re.compile("▸(all|r\\d|launcher)".encode())
PROGRAMS = Path(__file__).with_name("programs")
INTO_ITS_FOLDER = """
import os, sys
os.execv(sys.executable, [sys.executable, sys.argv[1], os.environ["PRL_RUN_DIR"] + "/ranks", *sys.argv[2:]])
"""
BARS = {"latency": 50, "link": 300, "memory": 80}
"""Milliseconds, milliseconds over the slow link, MiB."""


@dataclass
class Terminal:
    """A program on a pty, read at most at `link` bytes a second (0: at once)."""

    command: list[str]
    link: int = 0
    pid: int = field(init=False)
    descriptor: int = field(init=False)
    got: int = 0
    shown: bytes = b""

    def __post_init__(self) -> None:
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            os.execvpe(self.command[0], self.command, {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8"})
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 45, 160, 0, 0))
        self._begun = time.monotonic()

    def read(self, seconds: float) -> bytes:
        """What comes within some seconds, as soon as something does."""
        room = 1 << 16
        if self.link:
            allowed = (time.monotonic() - self._begun) * self.link - self.got
            if allowed < 512:
                time.sleep(min(seconds, (512 - allowed) / self.link))
                return b""
            room = min(room, int(allowed), 4096)
        if not select.select([self.descriptor], [], [], seconds)[0]:
            if self.link:  # a link that was idle carries no more afterwards
                self._begun, self.got = time.monotonic(), 0
            return b""
        data = os.read(self.descriptor, room)
        self.got += len(data)
        return data

    def drain(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.read(left)

    def wait_for(self, text: str, seconds: float = 30) -> None:
        until, seen = time.monotonic() + seconds, b""
        while text.encode() not in seen:
            if time.monotonic() > until:
                raise SystemExit(f"{self.command[-1]}: {text!r} did not come within {seconds:.0f} s")
            seen = seen[-4096:] + self.read(0.1)

    def latency(self, key: bytes, at_most: float = 15) -> float:
        """Milliseconds from a key until the terminal got another rank's name with the mark of the one that is shown."""
        os.write(self.descriptor, key)
        begun, seen = time.monotonic(), b""
        while time.monotonic() - begun < at_most:
            seen = seen[-64:] + self.read(0.05)
            others = [name for name in SHOWN.findall(seen) if name != self.shown]
            if others:
                self.shown = others[-1]
                break
        return 1e3 * (time.monotonic() - begun)

    def memory(self) -> float:
        """MiB resident of the program itself."""
        return psutil.Process(self.pid).memory_info().rss / (1 << 20)

    def end(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.descriptor)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=10_000_000, help="lines of all ranks together")
    parser.add_argument("--seconds", type=int, default=20, help="seconds of each measured flood")
    options = parser.parse_args()
    least = RANKS * RATE * (options.seconds + 5)
    lines = max(options.lines, least)
    if lines > options.lines:
        row("lines", f"{lines:,}: what {options.seconds} s of flood take")
    with tempfile.TemporaryDirectory() as name:
        os.environ.update(XDG_STATE_HOME=f"{name}/state", XDG_CACHE_HOME=f"{name}/cache")
        fast = ours(Path(name), lines, options.seconds)
        slow = ours(Path(name), least, options.seconds, link=100_000)
        judge("key latency p95", fast[0], BARS["latency"], "ms")
        judge("resident after all lines", fast[1], BARS["memory"], "MiB")
        judge("key latency p95 at 100 kB/s", slow[0], BARS["link"], "ms")
        for widget in ("RichLog", "Log"):
            peer(Path(name), widget, least, options.seconds)


def judge(title: str, found: float, bar: int, unit: str) -> None:
    row(f"  {title}", f"{found:.0f} {unit}: {'within' if found <= bar else 'MORE THAN'} {bar}")


def ours(root: Path, lines: int, seconds: int, link: int = 0) -> tuple[float, float]:
    """p95 of the key latency in milliseconds, and MiB resident at the end."""
    words = (str(PROGRAMS / "flood.py"), str(RANKS), str(RATE), str(seconds + 5), str(lines))
    run = launcher.start(root / "state/prl-tui/runs", launcher.Job((sys.executable, "-c", INTO_ITS_FOLDER, *words)))
    terminal = Terminal([sys.executable, "-m", "prl_tui", "watch", run.id], link)
    try:
        terminal.wait_for("r7")
        terminal.drain(2)
        first = terminal.memory()
        found = press(terminal, seconds)
        title = f"watch, {RANKS} x {RATE:,} lines/s" + (f", {link // 1000} kB/s" if link else "")
        row(title, f"{told(found)}, {terminal.memory():.0f} MiB ({first:.0f} at first)")
        while not (run.path / "ranks/flood/written").exists():
            terminal.drain(0.5)
        terminal.drain(5)
        resident = terminal.memory()
        row(f"  after {lines:,} lines", f"{resident:.0f} MiB, {resident - first:+.0f}")
        return percentile(found, 95), resident
    finally:
        terminal.end()
        stop.stop(run)
        stop.wait(run, 30)
        subprocess.run(["rm", "-rf", run.path / "ranks"], check=True)


def peer(root: Path, widget: str, lines: int, seconds: int) -> None:
    """The same files in one widget of Textual's, in an app of its own."""
    folder = root / widget
    words = [
        sys.executable,
        str(PROGRAMS / "flood.py"),
        str(folder),
        str(RANKS),
        str(RATE),
        str(seconds + 5),
        str(lines),
    ]
    writers = subprocess.Popen(words, start_new_session=True)
    terminal = Terminal([sys.executable, str(PROGRAMS / "textual_logs.py"), widget, str(folder), str(RANKS)])
    try:
        terminal.drain(2)
        first = terminal.memory()
        found = press(terminal, seconds)
        row(f"{widget}, the same lines", f"{told(found)}, {terminal.memory():.0f} MiB ({first:.0f} at first)")
    finally:
        terminal.end()
        os.killpg(writers.pid, signal.SIGKILL)
        writers.wait()
        subprocess.run(["rm", "-rf", folder], check=True)


def press(terminal: Terminal, seconds: int) -> list[float]:
    """Latencies of keys that go from rank to rank."""
    found: list[float] = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        due = time.monotonic() + KEYS_EVERY
        found.append(terminal.latency(b"]"))
        terminal.drain(max(0.0, due - time.monotonic()))
    return found[1:] or found


def told(found: list[float]) -> str:
    return f"key p50 {percentile(found, 50):.0f}, p95 {percentile(found, 95):.0f}, most {max(found):.0f} ms of {len(found)}"


def percentile(found: list[float], share: int) -> float:
    ordered = sorted(found)
    return ordered[min(len(ordered) - 1, len(ordered) * share // 100)]


if __name__ == "__main__":
    main()
