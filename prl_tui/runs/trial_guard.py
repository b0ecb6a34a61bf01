"""Stands over one trial: starts it, and ends it with all that it started, daemons and sessions of their own included.

    python -I -S …/trial_guard.py FOLDER

One line of JSON on stdin is the order: `{"command": […], "env": {…}, "cwd": "…"}`. When stdin ends (the trial is
called off, or whoever asked for it has died) or the command has ended, every descendant is killed. Ends as the command
did, by the same signal too; a command that cannot be started leaves `FOLDER/refused` (`{"errno": …, "file": …}`).
A process of its own, since whoever adopts orphans adopts those of all its children. Only the standard library.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

if not __package__:  # started as a file, as the supervisor is
    sys.path.append(str(Path(__file__).resolve().parents[2]))

from prl_tui.runs import proctree, records
from prl_tui.runs.signals import adopt_orphans

REFUSED = "refused"
PATIENCE = 10.0
"""Seconds for which what does not die is killed again: a process may hang in the kernel."""
_TURN = 0.02


def main(arguments: list[str]) -> int:
    """Start, wait, end all; the command's exit code."""
    folder = Path(arguments[0])
    order = json.loads(sys.stdin.buffer.readline())
    adopt_orphans()
    wakeup, write_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(write_end)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    try:
        child = subprocess.Popen(
            order["command"],
            env={**order["env"], records.MARKER: str(folder)},
            cwd=order["cwd"],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        told = {"errno": error.errno, "file": str(error.filename or "")}
        (folder / REFUSED).write_text(json.dumps(told), "utf-8")
        return 127
    while child.poll() is None:
        if 0 in select.select([0, wakeup], [], [], 1.0)[0]:
            break
        _drain(wakeup)
    _end_all(folder)
    return _as_it_ended(child.poll())


def _drain(wakeup: int) -> None:
    try:
        os.read(wakeup, 4096)
    except BlockingIOError:
        return


def _end_all(folder: Path) -> None:
    """KILL to every descendant and to whatever carries the mark, until none is left."""
    me, until = os.getpid(), time.monotonic() + PATIENCE
    while left := proctree.tree([me], folder, {me}):
        for one in left:
            try:
                proctree.send(one.birth, signal.SIGKILL)
            except PermissionError:
                continue
        if time.monotonic() > until:
            return
        time.sleep(_TURN)  # those of other parents cannot be waited for


def _as_it_ended(code: int | None) -> int:
    if code is None:
        return 128 + signal.SIGKILL
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -code not in {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
