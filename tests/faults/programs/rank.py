"""A rank without torch: numbered lines, each counted once the kernel has it; `rank.py MODE DIR`, MODE as in writers.py."""

import os
import signal
import sys
import time
from pathlib import Path

mode, place, rank = sys.argv[1], Path(sys.argv[2]), os.environ["RANK"]
if mode == "deaf":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
counter = os.open(place / f"{rank}.bytes", os.O_WRONLY | os.O_CREAT, 0o600)
number = taken = 0
while True:
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    taken += os.write(1, f"rank {rank} {number:08d} ".ljust(199, ".").encode() + b"\n")
    os.pwrite(counter, b"%016d" % taken, 0)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))
    number += 1
    if number == 1:
        (place / rank).write_text(str(os.getpid()))
    time.sleep(0.005)
