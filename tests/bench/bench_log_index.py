"""How fast a log of millions of lines is shown at its end, indexed and read: `python -m tests.bench.bench_log_index`.

Lines of 128 bytes, as training logs have them. The whole index stands beside `wc -l` on the same file, the time until
the last line is on a terminal beside toolong, lnav and `less +G` where they are installed; what is missing is named.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from prl_tui.telemetry.console import ConsoleReader
from prl_tui.telemetry.line_index import LineIndex
from prl_tui.telemetry.line_search import find_line
from prl_tui.telemetry.line_tests import TextTest
from tests.bench.bench_flood import Terminal
from tests.bench.bench_gpus import row

WIDTH = 128
BAR = "\r".join(f"Train:  {k}%|█▌   | {k}/100000 [00:12<10:00, 12.30it/s]" for k in range(5))
LINES = [
    b"[rank0] 2026-11-27 21:30:00,123 step=00000042 loss=2.34567 reward=0.1234 kl=0.0123 tok/s=12345 mem=61.2GiB",
    b"\x1b[32m[rank0]\x1b[0m \x1b[1mINFO\x1b[0m step=00000042 grad_norm=1.5000 lr=3.0e-04 tok/s=12345 ok",
]
PLAIN, COLOURED = (line.ljust(WIDTH - 1, b".") + b"\n" for line in LINES)
BLOCK = (PLAIN * 9 + COLOURED) * 25 + BAR.encode() + b"\n"
LAST = "the-very-last-line-of-all"
PARTS = 2
"""Processes of the trial that counts in several."""


def best(run, times=3):
    return min(timed(run) for _ in range(times))


def timed(run):
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def index_all(path):
    index = LineIndex(path)
    while index.update(32 << 20):
        pass
    return index


def windows(index, count=2000):
    chance = random.Random(1)
    times = []
    for _ in range(count):
        first = chance.randrange(index.lines - 60)
        started = time.perf_counter()
        rows = index.read_lines(first, 50)
        times.append(time.perf_counter() - started)
        assert len(rows) == 50
    times.sort()
    return times[count // 2] * 1e3, times[count * 99 // 100] * 1e3


def read_console(path):
    reader = ConsoleReader([path])
    reader.poll(32 << 20)
    while reader.behind:
        reader.poll(32 << 20)
    assert reader.bar.current is not None


def count_part(path, begin, end):
    """Newlines of a part, by block, as LineIndex counts them."""
    found, descriptor = 0, os.open(path, os.O_RDONLY)
    for at in range(begin, end, 1 << 16):
        block = os.pread(descriptor, min(1 << 16, end - at), at)
        found += len(block) - len(block.replace(b"\n", b""))
    os.close(descriptor)
    return found


def in_parts(pool, path):
    """The same counting in several processes: what there is to win."""
    size = path.stat().st_size
    cuts = [size * n // PARTS for n in range(PARTS + 1)]
    return sum(pool.starmap(count_part, [(path, cuts[n], cuts[n + 1]) for n in range(PARTS)]))


def until_last(command, keys=b"", up=None):
    """Milliseconds from the start, or from the moment that `up` was seen, until the last line is on the terminal."""
    terminal = Terminal(command)
    try:
        begun = time.monotonic()
        if up is not None:
            terminal.wait_for(up, 60)
            begun = time.monotonic()
        if keys:
            terminal.drain(0.3)  # they are read once the first screen is there
            os.write(terminal.descriptor, keys)
            begun = time.monotonic()
        terminal.wait_for(LAST, 120)
        return 1e3 * (time.monotonic() - begun)
    finally:
        terminal.end()


def peers(path):
    """Who shows the last line when."""
    ours = [sys.executable, "-m", "prl_tui", "watch", str(path)]
    row("prl-tui, from its start", f"{min(until_last(ours) for _ in range(3)):.0f} ms")
    row("  once the app is up", f"{min(until_last(ours, up='prl-tui') for _ in range(3)):.0f} ms (bar 100)")
    for name, command, keys in (
        ("less", ["less", "+G", str(path)], b""),
        ("lnav", ["lnav", str(path)], b""),
        ("tl", ["tl", str(path)], b"\x1b[F"),
    ):
        if shutil.which(name) is None:
            row(" ".join(command[:-1]), "not installed here")
            continue
        try:
            row(" ".join(command[:-1]), f"{until_last(command, keys):.0f} ms" + (" from the End key" if keys else ""))
        except SystemExit:
            row(" ".join(command[:-1]), "not within 120 s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--no-peers", action="store_true", help="only the index")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "output.log"
        with path.open("wb") as file:
            for _ in range((options.mib << 20) // len(BLOCK)):
                file.write(BLOCK)
            file.write(f"{LAST}\n".encode())
        os.environ.update(XDG_STATE_HOME=f"{folder}/state", XDG_CACHE_HOME=f"{folder}/cache", LESSHISTFILE="-")
        index_figures(path, options.mib)
        if not options.no_peers:
            peers(path)


def index_figures(path, mib):
    """The whole index, windows of it, a search, the reader of metrics."""
    subprocess.run(["cat", path], stdout=subprocess.DEVNULL, check=True)  # into the page cache
    wc = best(lambda: subprocess.run(["wc", "-l", path], check=True, stdout=subprocess.DEVNULL))
    counted = int(subprocess.run(["wc", "-l", path], check=True, capture_output=True).stdout.split()[0])
    indexed = best(lambda: index_all(path))
    index = index_all(path)
    assert index.lines == counted
    row("file", f"{mib} MiB, {index.lines:,} lines")
    row("wc -l", f"{wc:.3f} s")
    row("line index", f"{indexed:.3f} s, {indexed / wc:.2f} x wc (bar 3), {index.lines / indexed / 1e6:.1f} M lines/s")
    with multiprocessing.Pool(PARTS) as pool:
        assert in_parts(pool, path) == counted
        parted = best(lambda: in_parts(pool, path))
    row(f"  its counting alone, in {PARTS} processes", f"{parted:.3f} s, {parted / wc:.2f} x wc")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    row("peak memory", f"{memory} MiB")
    half, most = windows(index)
    row("50-line window", f"{half:.3f} ms p50, {most:.3f} ms p99")
    searched = timed(lambda: list(find_line(index, TextTest("no such text"), 0)))
    row("search, no hit", f"{searched:.3f} s, {index.lines / searched / 1e6:.1f} M lines/s")
    console = timed(lambda: read_console(path))
    row("console reader", f"{console:.3f} s, {index.lines / console / 1e6:.1f} M lines/s")


if __name__ == "__main__":
    main()
