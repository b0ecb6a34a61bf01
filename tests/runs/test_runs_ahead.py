"""A supervisor that is started before its run is known: it becomes the run's, or nothing of it is left."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from prl_tui.runs import adrift, launcher, proctree, records, stop, sweep
from prl_tui.runs.ahead import Ahead
from prl_tui.runs.folder import read_started
from tests.runs.helpers import ended, marked, until

PRINTS = (sys.executable, "-c", "print('hello')")


def begun(root):
    """Who waits there; for a moment of its start a process shows no environment."""
    return until(lambda: marked(root), "a process of that root")


@pytest.fixture
def ahead(root):
    one = Ahead(root)
    yield one
    one.end()


def test_it_becomes_the_supervisor_of_the_run_that_it_was_started_for(root, ahead):
    (waiting,) = begun(root)
    folder = launcher.start(root, launcher.Job((sys.executable, "-c", "input()")), ahead=ahead)
    supervisor = read_started(folder).supervisor[0]
    assert (folder.id, os.getpgid(supervisor)) == (ahead.id, waiting), "it is that one, forked"
    assert waiting not in proctree.scan(), "which is gone itself"
    assert ended(folder).exit_code == 1, "nothing can be read"
    assert "EOFError" in folder.output.read_text()


def test_it_is_a_supervisor_like_any_other(root, ahead):
    """No terminal, no folder of the caller's, a session of its own; the lock is held, a stop reaches it."""
    folder = launcher.start(root, launcher.Job((sys.executable, "-c", "import time; time.sleep(600)")), ahead=ahead)
    supervisor = read_started(folder).supervisor[0]
    assert os.getsid(supervisor) not in (os.getsid(0), supervisor)
    assert Path(f"/proc/{supervisor}/cwd").readlink() == Path("/")
    at = [str(Path(f"/proc/{supervisor}/fd/{number}").readlink()) for number in (0, 1, 2)]
    assert at == ["/dev/null", *[str(folder.path / records.NARRATION)] * 2]
    assert stop.stop(folder).code == "asked"
    assert ended(folder).stopped_by_person


def test_told_nothing_it_ends(root, ahead):
    assert begun(root)
    ahead.end()
    assert not marked(root)
    assert not root.exists(), "nor was anything made"


def test_it_ends_with_the_launch_that_started_it(root):
    program = f"from pathlib import Path; from prl_tui.runs.ahead import Ahead; Ahead(Path({str(root)!r})); input()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE) as launch:
        until(lambda: marked(root), "that process")
        launch.send_signal(signal.SIGKILL)
    until(lambda: not marked(root), "that process")


def test_where_it_has_died_another_is_started(root, ahead):
    (waiting,) = begun(root)
    os.kill(waiting, signal.SIGKILL)
    until(lambda: waiting not in proctree.scan(), "that process")
    folder = launcher.start(root, launcher.Job(PRINTS), ahead=ahead)
    assert ended(folder).exit_code == 0


def test_of_another_folder_it_is_not_taken(root, ahead):
    (root / ahead.id).mkdir(parents=True)
    folder = launcher.start(root, launcher.Job(PRINTS), ahead=ahead)
    assert folder.id != ahead.id
    assert ended(folder).exit_code == 0
    shutil.rmtree(root / ahead.id)


def test_an_order_that_no_pipe_holds_starts_another(root, ahead):
    job = launcher.Job((sys.executable, "-c", "import sys; print(len(sys.argv))", *["x" * 1000] * 200))
    folder = launcher.start(root, job, ahead=ahead)
    assert ended(folder).exit_code == 0
    assert folder.output.read_text() == "201\n"


def test_a_second_launch_into_its_folder_is_refused(root, ahead):
    job = launcher.Job(PRINTS)
    folder = launcher.create(root, job, wanted=ahead.id)
    first = launcher.begin(folder, job)
    ended(first)
    with pytest.raises(launcher.LaunchError, match="started before"):
        launcher.begin(folder, job, ahead=ahead)


def test_it_is_no_run_that_lives_without_its_folder(root, ahead):
    root.mkdir()
    assert begun(root)
    assert (adrift.find(root), sweep.find(root), sweep.notes(root)) == ([], [], [])
