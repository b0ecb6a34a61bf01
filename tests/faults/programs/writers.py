"""Three writers that no process group holds, each counting the bytes that it has handed over: `writers.py MODE DIR`.

The leader, a grandchild in a session of its own and a daemon that forked twice write numbered lines to the same
output. DIR/<name>.bytes has how many bytes of a member's lines the kernel has taken; DIR/<name> its pid, once it
writes. MODE: `polite` ends on signals, `deaf` ignores INT and TERM, `brief` ends by itself after 200 lines each.
"""

import os
import signal
import sys
import time
from pathlib import Path

mode, place = sys.argv[1], Path(sys.argv[2])


def write(name):
    if mode == "deaf":
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    counter = os.open(place / f"{name}.bytes", os.O_WRONLY | os.O_CREAT, 0o600)
    number = taken = 0
    while mode != "brief" or number < 200:
        line = f"{name} {number:08d} ".ljust(199, ".").encode() + b"\n"
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
        try:
            taken += os.write(1, line)  # below PIPE_BUF: whole or not at all
        except BrokenPipeError:  # nobody reads any more: a trainer would die of it, this one stays to be found
            time.sleep(600)
        os.pwrite(counter, b"%016d" % taken, 0)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))
        number += 1
        if number == 1:
            beside = place / f".{name}"
            beside.write_text(str(os.getpid()))
            beside.rename(place / name)
        time.sleep(0.002)


signal.signal(signal.SIGPIPE, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    write("session")
    os._exit(0)
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    write("daemon")
    os._exit(0)
write("leader")
while not all((place / name).exists() for name in ("session", "daemon")):
    time.sleep(0.01)
