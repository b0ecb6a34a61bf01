"""What every row of the fault table gets: a root of its own, a recorded run of three writers, and what must hold."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from prl_tui.runs import claims, launcher, stop, sweep
from prl_tui.runs.folder import Ended, RunFolder, read_ended
from tests.runs import helpers
from tests.runs.helpers import marked, nothing_left, until

PROGRAM = Path(__file__).with_name("programs") / "writers.py"
NAMES = ("leader", "session", "daemon")
QUICK = stop.Grace(0.3, 0.5)
UUID = "GPU-00000000-0000-4000-8000-000000000000"


@dataclass
class Tree:
    """A run with its members, its recorder, and the bytes that it has said."""

    root: Path
    folder: RunFolder
    place: Path

    @property
    def pids(self):
        return {name: int((self.place / name).read_text()) for name in NAMES}

    def lost(self):
        """Bytes that the kernel took from a writer, and that are neither in the log nor counted as dropped.

        Member by member: one that was killed before it had counted its last line must not make up for another's.
        """
        ended = read_ended(self.folder)
        dropped = ended.dropped if isinstance(ended, Ended) else 0
        log = self.folder.output.read_bytes()
        missing = 0
        for name in NAMES:
            # another's traceback may stand before a line without a newline; the line itself came in one write
            kept = sum(map(len, re.findall(name.encode() + rb" \d{8} \.*\n", log)))
            missing += max(0, self.said(name) - kept)
        return max(0, missing - dropped)

    def said(self, name=""):
        """Bytes that the kernel took from one writer, or all of them, counted by themselves."""
        names = [name] if name else NAMES
        return sum(int((self.place / f"{one}.bytes").read_text()) for one in names)

    def recorders(self):
        """Its recorder and its snapshot, by the words of their commands."""
        return helpers.recorders(self.folder, b"prl_tui.runs.")

    def supervisors(self):
        return [pid for pid in marked(self.root) if pid not in self.pids.values()]

    def clean(self):
        """What must be true after every fault: nothing of it is left, and nothing speaks for it any more."""
        for one in sweep.find(self.root):
            sweep.end(one, QUICK)
        until(lambda: not marked(self.root), "the end of every process of the run")
        until(lambda: claims.held(self.root) == [], "the end of its claim")
        until(lambda: not self.recorders(), "the end of its recorder")


@pytest.fixture
def root(tmp_path):
    path = (tmp_path / "runs").resolve()
    yield path
    nothing_left(path)


@pytest.fixture
def tree(root, tmp_path, nvml_stub, monkeypatch):
    """`tree("polite")`: a recorded run that has reserved a GPU; `around` are words before its command."""
    for name in ("LD_LIBRARY_PATH", "FAKE_NVML_STATE"):
        monkeypatch.setenv(name, nvml_stub.environment()[name])
    count = iter(range(1000))

    def start(mode, around=(), recorded=True):
        place = tmp_path / f"tree{next(count)}"
        place.mkdir()
        argv = (*around, sys.executable, str(PROGRAM), mode, str(place))
        info = {"recipe": "custom", "activation": {"kind": "this"}}
        job = launcher.Job(argv, gpus={UUID: 0} if recorded else {}, recorded=recorded, info=info)
        folder = launcher.start(root, job)
        until(lambda: all((place / name).exists() for name in NAMES), "the writers")
        return Tree(root, folder, place)

    return start


@pytest.fixture
def without_locks(monkeypatch):
    """A file system without flock, as everybody sees it who asks."""
    from prl_tui.runs import lock

    def refuse(path):
        path.touch()
        raise OSError(37, "No locks available")

    monkeypatch.setattr(lock, "take", refuse)
    monkeypatch.setattr(lock, "held", lambda path: None)


def stopped(tree):
    """Stop it and see it end."""
    assert not stop.stop(tree.folder, QUICK, by="test").refused
    assert stop.wait(tree.folder, 20)
    return read_ended(tree.folder)
