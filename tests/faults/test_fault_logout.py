"""A person logs out, as systemd and its logind see it (252 on Debian 12): both are booted in a namespace and judge.

A session is made by `su -l` with pam_systemd, as sshd makes one; when its first process ends, logind does to the rest
what KillUserProcesses says. Needs root, overlayfs and libpam-systemd.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pwd
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.runs.helpers import until

BOOT = Path(__file__).parent / "programs" / "boot.sh"
HOME = pwd.getpwuid(0).pw_dir
REPOSITORY = Path(__file__).parents[2]
CGROUPS = Path("/sys/fs/cgroup")
HERE = CGROUPS if (CGROUPS / "cgroup.controllers").exists() else CGROUPS / "systemd"
LOGIND = ("org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager", "KillUserProcesses")
PAM = list(Path("/usr/lib").glob("*/security/pam_systemd.so"))
NEEDED = os.getuid() == 0 and shutil.which("busctl") and Path("/lib/systemd/systemd-logind").exists() and PAM

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not NEEDED, reason="needs root, systemd, dbus and libpam-systemd"),
]

START = """
import sys
from pathlib import Path
from prl_tui.machine import session_end
from prl_tui.runs import launcher
found = session_end.at_logout()
notes = []
job = launcher.Job((sys.executable, "-c", "import time; time.sleep(600)"))
run = launcher.start(Path.home() / "runs", job, notes.append)
import json
print(json.dumps({"id": run.id, "notes": notes, "in_session": found.in_session, "kills": found.kills, "lingers": found.lingers}))
"""
LOOK = """
import sys, json
from pathlib import Path
from prl_tui.runs import proctree, state, store
run = store.find(Path.home() / "runs", sys.argv[1])
pids = [seen.pid for seen in proctree.Watch(run.path, spare=set()).look([])]
groups = [Path(f"/proc/{pid}/cgroup").read_text() for pid in pids]
print(json.dumps({"state": state.status(run).state, "pids": pids, "groups": groups}))
"""
STOP = """
import sys
from pathlib import Path
from prl_tui.runs import stop, store
run = store.find(Path.home() / "runs", sys.argv[1])
stop.stop(run)
assert stop.wait(run, 30)
"""


class Box:
    """A booted system with logind, in namespaces of its own."""

    def __init__(self, folder: Path, kills: str) -> None:
        self.group = HERE / f"prl-tui-test-{os.getpid()}"
        words = ["bash", str(BOOT), str(folder), str(self.group), kills, str(REPOSITORY), sys.prefix, sys.base_prefix]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, start_new_session=True)
        self.first = until(self._first, "process 1")
        asked = ("busctl", "get-property", *LOGIND)
        until(lambda: self.run(*asked, check=False) == f"b {'true' if kills == 'yes' else 'false'}", "logind")

    def _first(self) -> int | None:
        found = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True, check=False)
        for pid in found.stdout.split():
            with contextlib.suppress(OSError):  # a shell's helper that was there a moment ago
                if Path(f"/proc/{pid}/comm").read_text().strip() == "systemd":
                    return int(pid)
        return None

    def run(self, *words: str, check: bool = True) -> str:
        """A command in it, by root and in no session."""
        command = ["nsenter", "-t", str(self.first), "--all", "--root", "--wd", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout.strip()

    def python(self, code: str, *words: str) -> str:
        """Our code in it, in no session."""
        return self.run("env", f"HOME={HOME}", f"PYTHONPATH={REPOSITORY}", sys.executable, "-c", code, *words)

    def session(self, code: str) -> str:
        """Our code in a login session of its own, beside a bystander; it is over when the code has ended."""
        self.run("sh", "-c", 'cat >/code.py <<"END"\n' + code + "\nEND")
        inside = f"setsid sleep 54321 >/dev/null 2>&1 & PYTHONPATH={REPOSITORY} {sys.executable} /code.py"
        return self.run("su", "-l", "root", "-c", inside)

    def bystander(self) -> bool:
        """What was started in the session without us is still there."""
        return bool(self.run("pgrep", "-f", "^sleep 54321", check=False))

    def look(self, run: str) -> dict[str, object]:
        """A run's state, processes and their control groups."""
        return json.loads(self.python(LOOK, run))

    def close(self) -> None:
        """Nothing of it stays."""
        os.kill(self.first, 9)
        self.process.wait(20)
        for folder, _, _ in os.walk(self.group, topdown=False):
            until(lambda folder=folder: is_removed(folder), f"that the group {folder} is empty")


def is_removed(folder: str) -> bool:
    """Whether the control group could be taken away: the kernel refuses while a process is on its way out of it."""
    with contextlib.suppress(OSError):
        Path(folder).rmdir()
    return not Path(folder).exists()


def may_boot(folder: Path) -> bool:
    """Namespaces, overlays and control groups are for us to make here; a container often forbids them."""
    layers = f"lowerdir=/,upperdir={folder}/a,workdir={folder}/b {folder}/c"
    mount = f"mount -t tmpfs none {folder} && mkdir {folder}/{{a,b,c}} && mount -t overlay overlay -o {layers}"
    words = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--cgroup", "bash", "-c", mount]
    return os.access(HERE, os.W_OK) and subprocess.run(words, capture_output=True, check=False).returncode == 0


@pytest.fixture
def box(request, tmp_path):
    if not may_boot(tmp_path):
        pytest.skip("no namespace with an overlay can be made here")
    with Path("/run/lock/prl-tui-test-logout").open("w") as alone:
        fcntl.flock(alone, fcntl.LOCK_EX)  # two of them share one hierarchy of control groups: sessions would not end
        found = Box(tmp_path, request.param)
        yield found
        found.close()


@pytest.mark.parametrize("box", ["yes"], indirect=True)
def test_a_run_goes_on_where_logout_kills_and_the_person_lingers(box):
    box.run("loginctl", "enable-linger", "root")
    run = json.loads(box.session(START))
    assert (run["in_session"], run["kills"], run["lingers"], run["notes"]) == (True, True, True, [])
    until(lambda: not box.bystander(), "the session's end")
    seen = box.look(run["id"])
    assert seen["state"] == "starting"
    assert len(seen["pids"]) == 2
    assert all("/user@0.service/" in groups and f"prl-tui-{run['id']}" in groups for groups in seen["groups"])
    box.python(STOP, run["id"])
    assert box.look(run["id"]) == {"state": "stopped", "pids": [], "groups": []}


@pytest.mark.parametrize("box", ["yes"], indirect=True)
def test_without_lingering_a_run_ends_with_the_last_session_as_its_launch_said(box):
    run = json.loads(box.session(START))
    assert (run["kills"], run["lingers"]) == (True, False)
    assert "`loginctl enable-linger root`" in run["notes"][0]
    until(lambda: not box.bystander(), "the session's end")
    until(lambda: not box.look(run["id"])["pids"], "the end of the person's manager", 40)


@pytest.mark.parametrize("box", ["no"], indirect=True)
def test_a_run_stays_in_its_session_where_logout_kills_nothing(box):
    run = json.loads(box.session(START))
    assert (run["in_session"], run["kills"], run["notes"]) == (True, False, [])
    time.sleep(2)  # nothing is to happen
    assert box.bystander()
    seen = box.look(run["id"])
    assert seen["state"] == "starting"
    assert all("/session-" in groups for groups in seen["groups"])
