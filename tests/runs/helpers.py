"""Waiting, looking at real processes, and reading runs: what the tests of runs share."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import termios
import time
from functools import cache
from pathlib import Path

import pytest

from prl_tui.runs.folder import read_ended, read_started
from prl_tui.runs.place import here
from prl_tui.runs.state import status

PROGRAMS = Path(__file__).with_name("programs")
DEADLINE = 20.0


@cache
def no_spying():
    """Why py-spy cannot read another process here, or "": it is not installed, or ptrace is forbidden."""
    program = shutil.which("py-spy", path=str(Path(sys.executable).parent))
    if program is None:
        return "py-spy is not installed here"
    other = subprocess.Popen([sys.executable, "-c", "import time; print('up', flush=True); time.sleep(60)"],
                             stdout=subprocess.PIPE)  # fmt: skip
    try:
        other.stdout.readline()
        done = subprocess.run([program, "dump", "--pid", str(other.pid)], capture_output=True, text=True, check=False)
        return "" if done.returncode == 0 else f"py-spy may not look into a process here: {done.stderr.strip()[:200]}"
    finally:
        other.kill()
        other.communicate()


def until(condition, what, deadline=DEADLINE):
    """Wait for a true value and return it; fails with `what` when it does not come."""
    end = time.monotonic() + deadline
    while not (value := condition()):
        if time.monotonic() > end:
            pytest.fail(f"waited {deadline} s in vain for: {what}")
        time.sleep(0.02)
    return value


def folders_in(root):
    """What a launch left there, but for the note of the newest place."""
    return [path for path in root.iterdir() if path.name != ".newest"]


def is_living(pid):
    """Judged apart from the code under test: there, and not all of its threads have ended."""
    try:
        threads = [entry.read_text() for entry in Path(f"/proc/{pid}/task").glob("*/stat")]
    except OSError:  # it went while it was looked at
        return Path(f"/proc/{pid}").exists() and is_living(pid)
    # a process that was killed shows its main thread as a zombie while others are still on their way out
    return any(text.rpartition(")")[2].split()[0] not in "ZX" for text in threads)


def marked(root):
    """Every living process whose environment names a run below `root`, its supervisor included."""
    needle = b"PRL_RUN_DIR=" + os.fsencode(root)
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue
            if any(part.startswith(needle) for part in environment.split(b"\0")):
                found.append(int(entry.name))
    return [pid for pid in found if is_living(pid)]


def nothing_left(root):
    """Wait a moment for the last supervisors, kill what is still there, and fail for it."""
    end = time.monotonic() + 20
    while (left := marked(root)) and time.monotonic() < end:
        time.sleep(0.02)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left, "processes outlived the test"


def members(pids):
    """The pids of programs/family.py, once all three are ready."""
    names = ("leader", "session", "daemon")
    until(lambda: all((pids / name).exists() and (pids / name).read_text() for name in names), "the family")
    return {name: int((pids / name).read_text()) for name in names}


def ended(folder, deadline=DEADLINE):
    """The status of a run once it has its exit record."""
    until((folder.path / "exit.json").exists, "the exit record", deadline)
    return status(folder)


def exit_record(folder):
    return read_ended(folder)


def supervisor_of(folder):
    return read_started(folder).supervisor[0]


def recorders(folder, module=b"prl_tui.runs.recorder"):
    """Those who record a run, by the words of their commands."""
    needle, found = os.fsencode(folder.path.resolve()), []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and is_living(int(entry.name)):
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if needle in words and any(module in word for word in words):
                found.append(int(entry.name))
    return found


def kill_recorded(folder):
    """End a supervisor once somebody is there who reads the log on."""
    until(lambda: recorders(folder), "the recorder")
    pid = supervisor_of(folder)
    os.kill(pid, signal.SIGKILL)
    until(lambda: not is_living(pid), "the supervisor's death")


def write(folder, name, value):
    """A record without the fsync that makes real ones durable: a test has no use for it."""
    (folder.path / f"{name}.json").write_text(json.dumps({"schema": 1, **value}))


def is_idle(folder):
    """Whether the pipe is empty and the supervisor waits for more."""
    pipe = os.open(f"/proc/{status(folder).pid}/fd/1", os.O_RDONLY | os.O_NONBLOCK)
    try:
        waiting = int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)
    finally:
        os.close(pipe)
    supervisor = Path(f"/proc/{supervisor_of(folder)}/stat").read_text()
    return waiting == 0 and supervisor.rpartition(")")[2].split()[0] == "S"


def put_smoke(root, name, outcome):
    """A smoke test's records without the seconds that a real one takes: it `passed`, `failed`, or is `lost`.

    As real ones leave them: a passed one of a program that only a stop ends has exit code 1; of a failed one the
    program ended with 0, and no step stands in its log.
    """
    from prl_tui.core.smoke import Wanted
    from prl_tui.runs import smoke
    from prl_tui.runs.folder import RunFolder

    folder = RunFolder(root / name)
    (folder.path / "ranks").mkdir(parents=True)
    kept = smoke.record(Wanted(2, False, {}, {}, saves=False, watched=True))
    place = {"host": "box", "boot_id": "b", "pid_namespace": "n"} if outcome != "lost" else here()
    began = 1_700_000_000.0
    info = {"created": began, "recipe": "custom", "preset": "python", smoke.KEY: kept}
    write(folder, "run", {**info, **place})
    if outcome == "lost":
        return folder
    stepped = "".join(f"{{'loss': 1.0, 'global_step/max_steps': '{n}/200'}}\n" for n in (1, 2))
    folder.output.write_text(stepped if outcome == "passed" else "all well\n")
    end = {"started": began, "ended": began + 60, "seconds": 60.0}
    stopped = {"exit_code": 1, "stop": {"stage": "interrupt", "by": {"via": smoke.WATCHER}}}
    write(folder, "exit", {**end, **(stopped if outcome == "passed" else {"exit_code": 0})})
    return folder
