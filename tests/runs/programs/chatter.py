"""Writes numbered lines of 100 bytes, then waits for a file before its last line: `chatter.py LINES GO_FILE`.

All of them are in the pipe once `<GO_FILE>.said` exists.
"""

import sys
import time
from pathlib import Path

for number in range(int(sys.argv[1])):
    sys.stdout.write(f"{number:07d} ".ljust(99, ".") + "\n")
sys.stdout.flush()
Path(sys.argv[2] + ".said").touch()
while not Path(sys.argv[2]).exists():
    time.sleep(0.02)
print("the last line", flush=True)
