"""How fast a log of millions of lines is indexed and read, against `wc -l` on the same file.

python tests/bench/bench_log_index.py [--mib 200]
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import tempfile
import time
from pathlib import Path

from prl_tui.telemetry.console import ConsoleReader
from prl_tui.telemetry.line_index import LineIndex
from prl_tui.telemetry.line_search import find_line
from prl_tui.telemetry.line_tests import TextTest

BAR = "\r".join(f"Train:  {k}%|█▌   | {k}/100000 [00:12<10:00, 12.30it/s]" for k in range(5))
LINES = [
    b"[rank0] 2026-11-27 21:30:00,123 step=00000042 loss=2.34567 reward=0.1234 kl=0.0123 tok/s=12345 mem=61.2GiB\n",
    b"\x1b[32m[rank0]\x1b[0m \x1b[1mINFO\x1b[0m step=00000042 grad_norm=1.5000 lr=3.0e-04 tok/s=12345 ok\n",
]
BLOCK = (LINES[0] * 9 + LINES[1]) * 25 + BAR.encode() + b"\n"


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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mib", type=int, default=200)
    mib = parser.parse_args().mib
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "output.log"
        with path.open("wb") as file:
            for _ in range((mib << 20) // len(BLOCK)):
                file.write(BLOCK)
        path.read_bytes()  # into the page cache
        wc = best(lambda: subprocess.run(["wc", "-l", path], check=True, stdout=subprocess.DEVNULL))
        counted = int(subprocess.run(["wc", "-l", path], check=True, capture_output=True).stdout.split()[0])
        indexed = best(lambda: index_all(path))
        index = index_all(path)
        assert index.lines == counted
        half, most = windows(index)
        searched = timed(lambda: list(find_line(index, TextTest("no such text"), 0)))
        console = timed(lambda: read_console(path))
        print(f"{mib} MiB, {index.lines:,} lines")
        print(f"wc -l               {wc:7.3f} s")
        print(
            f"line index          {indexed:7.3f} s   {indexed / wc:5.2f} x wc   {index.lines / indexed / 1e6:.1f} M lines/s"
        )
        print(f"50-line window      {half:7.3f} ms p50, {most:.3f} ms p99")
        print(f"search, no hit      {searched:7.3f} s   {index.lines / searched / 1e6:.1f} M lines/s")
        print(f"console reader      {console:7.3f} s   {index.lines / console / 1e6:.1f} M lines/s")
        print(
            f"peak memory         {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB (the file was read whole once)"
        )


if __name__ == "__main__":
    main()
