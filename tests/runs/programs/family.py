"""A run that no process group holds: a leader, a grandchild with its own session, a daemon that forked twice.

    family.py MODE PIDS_DIR

Each member writes its pid to PIDS_DIR/<name> once it is ready. MODE: `polite` ends on signals, `deaf` ignores INT and
TERM, `leaving` lets the leader end with code 3 once all are ready, `nameless` hides the daemon's environment.
"""

import os
import signal
import sys
import time
from pathlib import Path

mode, pids = sys.argv[1], Path(sys.argv[2])
NAMES = ("leader", "session", "daemon")


def settle(name):
    if mode == "deaf":
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    beside = pids / f".{name}"
    beside.write_text(str(os.getpid()))
    beside.rename(pids / name)


def live():
    while True:
        time.sleep(0.05)


if os.fork() == 0:
    os.setsid()
    settle("session")
    live()
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    if mode == "nameless" and "again" not in sys.argv:
        code = f"import os,time; open({str(pids / 'daemon')!r}, 'w').write(str(os.getpid())); time.sleep(600)"
        os.execve(sys.executable, [sys.executable, "-c", code], {})
    settle("daemon")
    live()
settle("leader")
if mode == "leaving":
    while not all((pids / name).exists() for name in NAMES):
        time.sleep(0.02)
    sys.exit(3)
try:
    live()
except KeyboardInterrupt:
    print("leader: goodbye", flush=True)
    sys.exit(130)
