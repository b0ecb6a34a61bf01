"""How long a person or a script waits: `check` against bare imports, the first frame, the form, a keystroke.

    python tests/bench/bench_start.py [--pairs 15] [--starts 5] [--keys 60]

Prints medians and ratios with their targets; asserts nothing. The two programs of a comparison alternate.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.e2e.terminal import Terminal, script

MINIMAL = """
from textual.app import App
from textual.widgets import Static
class Minimal(App):
    def compose(self):
        yield Static("first paint")
Minimal().run()
"""
SIZE = (160, 45)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--keys", type=int, default=60)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        environment = home(Path(folder))
        rows = [check(environment, folder, args.pairs), *frames(environment, folder, args.starts)]
        rows += keystrokes(environment, folder, args.keys)
    print(f"{'what':<44}{'measured':>12}{'beside':>12}{'ratio':>8}  target")
    for what, measured, beside, ratio, target in rows:
        print(f"{what:<44}{measured:>9.1f} ms{beside_text(beside):>12}{ratio_text(ratio):>8}  {target}")


def beside_text(value):
    return "" if value is None else f"{value:.1f} ms"


def ratio_text(value):
    return "" if value is None else f"{value:.2f}"


def home(folder):
    """The environment of somebody without settings or runs."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "XDG_STATE_HOME": str(folder / "state"),
        "TERM": "xterm-256color",
        "LC_ALL": "C.UTF-8",
    }


def check(environment, folder, pairs):
    """`prl-tui check --json` beside an interpreter that imports argparse and tomllib."""
    toml = "tomllib" if sys.version_info >= (3, 11) else "tomli"
    commands = (
        [script(), "check", "prl-grpo/standard-4gpu", "--json"],
        [sys.executable, "-c", f"import argparse, {toml}"],
    )
    times = ([], [])
    for _ in range(pairs + 1):
        for command, kept in zip(commands, times, strict=True):
            start = time.perf_counter()
            subprocess.run(command, env=environment, cwd=folder, stdout=subprocess.DEVNULL, check=True)
            kept.append(1000 * (time.perf_counter() - start))
    ours, bare = (statistics.median(kept[1:]) for kept in times)  # the first pair fills caches
    return "check --json / import argparse, tomllib", ours, bare, ours / bare, "≤ 2.5"


def shown(terminal, text, start):
    """Milliseconds from `start` until the terminal was sent a text.

    The bytes are looked at as they come, before the emulator takes them: its own time, tens of milliseconds for a
    full frame, is not the program's. That the emulator's screen has the text then too is checked afterwards.
    """
    wanted, begin, data = text.encode(), len(terminal.raw), bytearray()
    while wanted not in data:
        assert time.perf_counter() - start < 60, terminal.text
        data += os.read(terminal.child.child_fd, 1 << 16)
    took = 1000 * (time.perf_counter() - start)
    terminal.raw[begin:] = data
    terminal.stream.feed(bytes(data))
    assert text in terminal.text, terminal.text
    return took


def frames(environment, folder, starts):
    """First frame with the presets, and the form in use, beside a minimal Textual app's first paint."""
    paint, first, usable = [], [], []
    for _ in range(starts + 1):
        start = time.perf_counter()
        terminal = Terminal([sys.executable, "-c", MINIMAL], SIZE, environment, folder)
        paint.append(shown(terminal, "first paint", start))
        terminal.close()
        start = time.perf_counter()
        terminal = Terminal([script()], SIZE, environment, folder)
        first.append(shown(terminal, "standard-4gpu", start))
        shown(terminal, "looking at this box", start)
        terminal.child.send("3")
        usable.append(shown(terminal, "✗ 1 error", start))
        terminal.close()
    beside, one, two = (statistics.median(kept[1:]) for kept in (paint, first, usable))
    return [
        ("first frame with presets / minimal app", one, beside, one / beside, "≤ 1.3"),
        ("form usable (a key changes the verdict)", two, beside, two / beside, "≤ 2.5"),
    ]


def keystrokes(environment, folder, keys):
    """Keystroke → changed verdict on the screen."""
    terminal = Terminal([script()], SIZE, environment, folder)
    shown(terminal, "can launch here", time.perf_counter())
    end = time.perf_counter() + 1
    while time.perf_counter() < end:
        terminal.read(0.05)
    times = []
    terminal.child.send("8")
    shown(terminal, "= 8 samples", time.perf_counter())
    for n in range(keys):
        key, text = (("0", "= 80 samples"), ("\x7f", "= 8 samples"))[n % 2]
        start = time.perf_counter()
        terminal.child.send(key)
        times.append(shown(terminal, text, start))
        end = time.perf_counter() + 0.1
        while time.perf_counter() < end:
            terminal.read(0.02)
    terminal.close()
    times.sort()
    return [
        (f"keystroke → verdict, p50 of {keys}", statistics.median(times), None, None, ""),
        (f"keystroke → verdict, p95 of {keys}", times[int(0.95 * (len(times) - 1))], None, None, "≤ 50 ms"),
    ]


if __name__ == "__main__":
    main()
