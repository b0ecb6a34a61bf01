"""Runs of real processes in a throw-away root; whatever a test leaves alive is killed and fails that test."""

from __future__ import annotations

import os
import sys
import time

import pytest

from prl_tui.runs import launcher, store
from tests.runs.helpers import PROGRAMS, members, nothing_left, write


@pytest.fixture
def root(tmp_path):
    """A root for runs; at the end nothing of them may live."""
    path = (tmp_path / "runs").resolve()
    yield path
    nothing_left(path)


@pytest.fixture
def pids(tmp_path):
    path = tmp_path / "pids"
    path.mkdir()
    return path


@pytest.fixture
def python(root):
    """Start `python ARGUMENTS…` as a run."""

    def start(*arguments, **more):
        return launcher.start(root, launcher.Job((sys.executable, *map(str, arguments)), **more))

    return start


@pytest.fixture
def family(python, pids):
    """Start programs/family.py in a mode; returns the run's folder and its members' pids once all are ready."""

    def start(mode):
        folder = python(PROGRAMS / "family.py", mode, pids)
        return folder, members(pids)

    return start


@pytest.fixture
def forged(root):
    """A run folder with records as given and no process behind it."""
    from prl_tui.runs import records
    from prl_tui.runs.place import here

    def make(state=None, heartbeat=None, **files):
        folder = store.make_folder(root)
        place = dict(here())
        write(folder, "run", {**place, "id": folder.id, "created": time.time()})
        whole = {
            "supervisor": {"pid": 1, "ticks": 1},
            "leader": {"pid": 1, "ticks": 1},
            "started": time.time(),
            **place,
        }
        write(folder, "state", {**whole, **(state or {})})
        (folder.path / "lock").touch()
        if heartbeat is not None:
            path = folder.path / "heartbeat"
            records.write_heartbeat(path, {**place, "time": time.time() - heartbeat})
            os.utime(path, (time.time() - heartbeat,) * 2)
        for name, value in files.items():
            write(folder, name, value)
        return folder

    return make
