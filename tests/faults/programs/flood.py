"""Prints so many bytes as fast as they are taken, waits for a file, prints a last line: `flood.py BYTES FILE`."""

import os
import sys
import time

left, gate = int(sys.argv[1]), sys.argv[2]
line = b"x" * 127 + b"\n"
block = line * 8192
print("begun", flush=True)
while not os.path.exists(gate):  # noqa: PTH110  (no import more than needed)
    time.sleep(0.01)
while left > 0:
    left -= os.write(1, block[: min(left, len(block))])
print("all is said", flush=True)
time.sleep(600)
