"""How long a large log takes to be filtered and counted, and what keys wait for meanwhile; beside `grep -c` on the file.

python tests/bench/bench_log_filter.py [--mib 1000]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import tempfile
import time
from pathlib import Path

from textual.app import App
from textual.geometry import Region

from prl_tui.telemetry.line_tests import search_test
from prl_tui.telemetry.tail_first import TailFirst
from prl_tui.tui.widgets.log_filter import Shown
from prl_tui.tui.widgets.log_view import LogView

LINE = b"[rank0] 2026-11-27 21:30:00,123 step=%08d loss=2.34567 reward=0.1234 kl=0.0123 tok/s=12345 mem=61.2\n"
CASES = ("nothing", "filter ERROR", "filter rank0", "filter re:loss=2.*kl", "search ERROR")


def write(path, mib):
    block = b"".join(b"ERROR: bad %d\n" % n if n % 1000 == 0 else LINE % n for n in range(100_000))
    with path.open("wb") as file:
        for _ in range(max(1, (mib << 20) // len(block))):
            file.write(block)


def memory():
    """Bytes of this process that are in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class LogApp(App):
    def __init__(self, view):
        super().__init__()
        self.view = view

    def compose(self):
        yield self.view


async def measure(path, case):
    """A key every 5 ms that moves the view and draws all of it: what each one took."""
    what, _, typed = case.partition(" ")
    view = LogView(TailFirst.of(path))
    async with LogApp(view).run_test(size=(160, 45)) as pilot:
        view.poll()
        view.app.set_interval(0.1, view.poll)
        await pilot.pause()
        kept = most = memory()
        began, first, waits = time.monotonic(), None, []
        if what == "filter":
            view.narrow(Shown(only=search_test(typed)))
        elif what == "search":
            view.search(typed)

        def over():
            if what == "nothing":
                return time.monotonic() - began > 5
            return view.filtered.scan.done if view.filtered else view._count.counted

        while not over():
            due = time.perf_counter() + 0.005
            await asyncio.sleep(0.005)
            view.action_scroll_up()
            view.render_lines(Region(0, 0, view.size.width, view.size.height))
            most = max(most, memory())
            waits.append((time.perf_counter() - due) * 1e3)
            if first is None and view.lines:
                first = time.monotonic() - began
        waits.sort()
        print(f"{case:22} {time.monotonic() - began:6.2f} s, first line in sight {first or 0:5.2f} s, "
              f"a key: median {waits[len(waits) // 2]:5.1f}, p95 {waits[len(waits) * 95 // 100]:5.1f}, "
              f"longest {waits[-1]:5.1f} ms, memory +{(most - kept) / 2**20:.0f} MiB")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "output.log"
        write(path, options.mib)
        for command in (["wc", "-l"], ["grep", "-c", "ERROR"], ["grep", "-c", "loss=2.*kl"]):
            began = time.perf_counter()
            subprocess.run([*command, path], capture_output=True)  # grep would stop early for /dev/null
            print(f"{' '.join(command):22} {time.perf_counter() - began:6.2f} s")
        for case in CASES:
            asyncio.run(measure(path, case))


if __name__ == "__main__":
    main()
