"""A home, a working directory and terminals of its own for each end-to-end test; no process outlives it."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

import pytest

from tests.e2e.terminal import Terminal, script


@pytest.fixture
def environment(tmp_path):
    """The environment of a person who never ran prl-tui."""
    home = tmp_path / "home"
    home.mkdir()
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV") if name in os.environ}
    return {
        **kept,
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
    }


@pytest.fixture
def work(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def runs(environment):
    """Where the runs lie; what still lives at the end is killed."""
    root = Path(environment["XDG_STATE_HOME"]) / "prl-tui" / "runs"
    yield root
    needle = b"PRL_RUN_DIR=" + os.fsencode(root)
    end = time.monotonic() + 10
    while (left := list(_marked(needle))) and time.monotonic() < end:
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)


def _marked(needle):
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                found = (entry / "environ").read_bytes().split(b"\0")
                if any(part.startswith(needle) for part in found):
                    yield int(entry.name)


@pytest.fixture
def terminal(environment, work, runs):
    """Start prl-tui on a pty."""
    opened = []

    def start(*arguments, size=(80, 24), command=None):
        opened.append(Terminal(command or [script(), *arguments], size, environment, work))
        return opened[-1]

    yield start
    for one in opened:
        one.close()
