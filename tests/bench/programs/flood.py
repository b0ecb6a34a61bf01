"""Ranks that chatter: `flood.py FOLDER RANKS RATE SECONDS TOTAL` writes one log a rank, as torchrun's log folder has them.

Each rank writes `RATE` lines a second for `SECONDS`, then the rest of its share of `TOTAL` lines as fast as it can, and
stays. Every tenth line has colours, every hundredth is a progress bar of five states.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

BURST = 0.02
"""Seconds between two writes of a rank: a program's buffer is not emptied for each line."""


def text(rank: int, first: int, count: int) -> bytes:
    """Some lines of a training log."""
    found = []
    for step in range(first, first + count):
        line = f"[rank{rank}] step={step:08d} loss=2.34567 reward=0.1234 kl=0.0123 tok/s=12345 mem=61.2GiB lr=3.0e-04"
        if step % 100 == 0:
            line = "\r".join(f"Train: {n}%|##  | {step}/100000 [00:12<10:00, 12.30it/s]" for n in range(5))
        elif step % 10 == 0:
            line = f"\x1b[32m[rank{rank}]\x1b[0m \x1b[1mINFO\x1b[0m step={step:08d} grad_norm=1.5000 ok"
        found.append(line)
    return ("\n".join(found) + "\n").encode()


def write(path: Path, rank: int, rate: int, seconds: float, total: int) -> None:
    """One rank's life."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_name("stderr.log").touch()
    with path.open("ab", buffering=0) as out:
        begun, done = time.monotonic(), 0
        while (now := time.monotonic() - begun) < seconds and done < total:
            due = min(total, int(now * rate))
            if due > done:
                out.write(text(rank, done, due - done))
                done = due
            time.sleep(BURST)
        block = text(rank, 0, 2000)
        while total - done >= 2000:
            out.write(block)
            done += 2000
        out.write(text(rank, done, total - done) if done < total else b"")


def main() -> None:
    folder, ranks, rate, seconds, total = Path(sys.argv[1]), *map(int, sys.argv[2:6])
    os.nice(10)
    children = []
    for rank in range(ranks):
        pid = os.fork()
        if pid == 0:
            write(folder / "flood" / "attempt_0" / str(rank) / "stdout.log", rank, rate, seconds, total // ranks)
            os._exit(0)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)
    (folder / "flood" / "written").touch()
    time.sleep(3600)


if __name__ == "__main__":
    main()
