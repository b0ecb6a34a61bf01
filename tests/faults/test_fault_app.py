"""Rows of the fault table that break the app itself: the real script on a real pty, on runs without torch."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pexpect
import psutil
import pytest

from prl_tui.runs import asking, launcher, lock, proctree, records, stop, store, turns
from prl_tui.runs.folder import Ended, read_ended, read_started
from prl_tui.runs.state import status
from tests.e2e.conftest import environment, runs, terminal, work  # noqa: F401  (fixtures)
from tests.e2e.terminal import run, script, until
from tests.runs.helpers import ended, is_living, marked

pytestmark = pytest.mark.slow

FLOOD = Path(__file__).with_name("programs") / "flood.py"
WRITERS = Path(__file__).with_name("programs") / "writers.py"
TWO_GB = 2_000_000_000


@pytest.fixture
def tree(runs, tmp_path):  # noqa: F811
    """Start a program of this folder as a run."""

    def start(program, *words):
        return launcher.start(runs, launcher.Job((sys.executable, str(program), *words)))

    return start


def test_the_app_is_suspended_while_two_gigabytes_are_printed(terminal, tree, tmp_path):  # noqa: F811
    """The run does not wait for it; when it goes on it is at the end at once, and no larger than before."""
    folder = tree(FLOOD, str(TWO_GB), str(tmp_path / "gate"))
    screen = terminal("watch", folder.id)
    screen.wait("begun", "the first line")
    before = psutil.Process(screen.child.pid).memory_info().rss
    screen.kill(signal.SIGSTOP)
    (tmp_path / "gate").touch()
    whole = len("begun\n") + TWO_GB + len("all is said\n")
    until(lambda: folder.output.stat().st_size == whole, "two gigabytes in the log", 300)
    screen.kill(signal.SIGCONT)
    begun = time.monotonic()
    screen.wait("all is said", "the last line", 20)
    assert time.monotonic() - begun < 20
    grown = psutil.Process(screen.child.pid).memory_info().rss - before
    assert grown < 100 << 20, f"{grown >> 20} MiB more"
    screen.keys("q")
    assert screen.end(20) == 0
    assert not stop.stop(folder).refused
    assert ended(folder).state == "stopped"
    end = read_ended(folder)
    assert isinstance(end, Ended)
    assert end.dropped == 0


def test_every_key_arrives_after_the_app_was_stopped_and_continued(terminal):  # noqa: F811
    """Without a SIGTSTP before it, as a scheduler suspends a job; Textual 8.2.8 alone loses keys then and cannot leave."""
    screen = terminal()
    screen.wait("can launch here", "the form")
    for _ in range(3):
        screen.kill(signal.SIGSTOP)
        until(lambda: psutil.Process(screen.child.pid).status() == psutil.STATUS_STOPPED, "that it is stopped")
        screen.kill(signal.SIGCONT)
    drawn = -1
    while drawn != len(screen.raw):  # a person types once the screen is back; what comes before, Textual flushes
        drawn = len(screen.raw)
        for _ in range(10):
            screen.read(0.1)
    screen.keys("/")
    screen.wait("find a setting", "the finder")
    screen.keys(*"save_steps")
    screen.wait("save_steps", "every letter")
    screen.keys("escape")
    screen.wait(lambda text: "▊" not in text, "the form again")
    threads = [
        Path(f"/proc/{screen.child.pid}/task/{one.id}/comm") for one in psutil.Process(screen.child.pid).threads()
    ]
    names = [path.read_text() for path in threads if path.exists()]
    assert len(names) < 12, names
    screen.keys("q")
    assert screen.end(20) == 0


def test_two_apps_press_stop_on_one_run(terminal, tree, runs, tmp_path):  # noqa: F811
    """Both are told the same, it is stopped once, and nothing of it is left."""
    place = tmp_path / "place"
    place.mkdir()
    folder = tree(WRITERS, "polite", str(place))
    screens = [terminal("watch", folder.id) for _ in range(2)]
    for screen in screens:
        screen.wait(lambda text: folder.id in text and "leader" in text, "the run and its log")
    for screen in screens:
        screen.keys("x")
        screen.wait("Stop run", "the question")
    for screen in screens:
        screen.keys("y")
    for screen in screens:
        screen.wait("■ stopped", "the end on its screen")
    assert (status(folder).state, status(folder).stopped_by_person) == ("stopped", True)
    assert not marked(runs.resolve())
    for screen in screens:
        screen.keys("q")
        assert screen.end(20) == 0


DEAF = "import signal, time\nfor n in (2, 15): signal.signal(n, signal.SIG_IGN)\nprint('deaf', flush=True)\ntime.sleep(300)"


def until_it_is_ended(folder, leader):
    """By whoever goes on with it; the graces are the whole 45 s else."""
    asking.note(folder, stop.Grace(0.0, 2.0), by="test")
    until(lambda: status(folder).state == "stopped", "its end", 20)
    assert not proctree.is_alive(leader)


@pytest.mark.parametrize("at_it", [False, True], ids=["asked", "at it"])
def test_what_the_app_was_stopping_when_it_left_is_ended(terminal, runs, at_it):  # noqa: F811
    """It said that the run was being stopped, and went on with that itself as its supervisor was dead: nobody did."""
    folder = launcher.start(runs, launcher.Job((sys.executable, "-c", DEAF)))
    supervisor, leader = read_started(folder).supervisor, read_started(folder).leader
    screen = terminal("watch", folder.id)
    screen.wait("deaf", "its deafness")
    screen.keys("x")
    screen.wait("Stop run", "the question")
    screen.keys("y")
    until(lambda: status(folder).state == "stopping", "its stopping")
    proctree.send(supervisor, signal.SIGKILL)
    if at_it:
        until(lambda: status(folder).state == "lost", "that nobody is at it", 10)
        until(lambda: status(folder).state == "stopping", "that the app is", 10)
    screen.keys("q")
    assert screen.end(20) == 0
    until_it_is_ended(folder, leader)


def test_what_the_app_was_sweeping_when_it_left_is_ended(terminal, runs):  # noqa: F811
    """The same where it ends what a dead supervisor has left behind."""
    folder = launcher.start(runs, launcher.Job((sys.executable, "-c", DEAF)))
    supervisor, leader = read_started(folder).supervisor, read_started(folder).leader
    until(lambda: b"deaf" in folder.output.read_bytes(), "its deafness")
    proctree.send(supervisor, signal.SIGKILL)
    screen = terminal()
    screen.wait("can launch here", "the form")
    screen.keys("R")
    screen.wait("lost", "the run")
    screen.keys("W")
    screen.wait("outlived", "the question")
    screen.keys("y")
    until((folder.path / records.STOP).exists, "the request")
    screen.keys("q")
    assert screen.end(20) == 0
    until_it_is_ended(folder, leader)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGTERM], ids=lambda number: number.name)
@pytest.mark.parametrize("words", [("stop", "{id}"), ("sweep", "--yes")], ids=["stop", "sweep"])
def test_what_a_signal_breaks_off_is_ended_all_the_same(runs, environment, work, words, number):  # noqa: F811
    """`stop` or `sweep` ends the run itself where its supervisor is gone; after Ctrl-C, or where the terminal was closed,
    nobody did, without a word.
    """
    folder = launcher.start(runs, launcher.Job((sys.executable, "-c", DEAF)))
    supervisor, leader = read_started(folder).supervisor, read_started(folder).leader
    until(lambda: b"deaf" in folder.output.read_bytes(), "its deafness")
    proctree.send(supervisor, signal.SIGKILL)
    until(lambda: status(folder).state == "lost", "that it is lost")
    command = [script(), *(word.format(id=folder.id) for word in words)]
    with subprocess.Popen(command, env=environment, cwd=work, stderr=subprocess.PIPE, text=True) as asked:
        until(lambda: (asking.begun(folder) or {}).get("stage") == "interrupt", "INT")
        asked.send_signal(number)
        told = asked.communicate(timeout=20)[1]
    assert asked.returncode == 128 + number
    assert "without you" in told
    until_it_is_ended(folder, leader)


def test_the_run_folder_becomes_read_only(terminal, tree, runs, environment, work, tmp_path):  # noqa: F811
    """Nothing can be written down any more: the run goes on all the same, can be watched, and can be stopped."""
    place = tmp_path / "place"
    place.mkdir()
    folder = tree(WRITERS, "polite", str(place))
    until((place / "daemon").exists, "the writers")
    bound = subprocess.run(["mount", "--bind", folder.path, folder.path], capture_output=True, text=True)
    if bound.returncode:
        pytest.skip(f"nothing can be mounted here: {bound.stderr.strip()}")
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", folder.path], check=True)
        with pytest.raises(OSError, match="Read-only"):
            (folder.path / "probe").touch()
        assert status(folder).state in {"starting", "running"}
        screen = terminal("watch", folder.id)
        screen.wait(lambda text: folder.id in text and "leader" in text, "the run and its log")
        screen.keys("q")
        assert screen.end(20) == 0
        told = run("stop", folder.id, environment=environment, cwd=work)
        assert told.returncode == 4
        assert told.stderr.splitlines()[-1] == (
            f"prl-tui: nothing of run {folder.id} lives any more, but its end cannot be written down in {folder.path}."
        )
    finally:
        subprocess.run(["umount", "-l", folder.path], check=True)
    if marked(runs.resolve()):
        assert not stop.stop(folder).refused
    assert ended(folder).state in {"stopped", "failed"}
    until(lambda: not marked(runs.resolve()), "the end of its supervisor")


def test_a_thousand_runs_are_in_the_list(terminal, runs, environment, work):  # noqa: F811
    """All of them are told, the newest first; the screen is there at once and its keys work."""
    for number in range(1000):
        path = runs / f"b{number:05x}"
        path.mkdir(parents=True)
        info = {"schema": 1, "id": path.name, "created": 1.7e9 + number, "recipe": "demo", "preset": "two-ranks",
                "values": {"max_steps": str(number)}}  # fmt: skip
        (path / records.RUN).write_text(json.dumps(info))
        code = number % 2
        kept = {"schema": 1, "exit_code": code, "signal": None, "error": None, "stop": None}
        (path / records.EXIT).write_text(json.dumps(kept))
    told = json.loads(run("runs", "--json", environment=environment, cwd=work).stdout)
    assert [one["id"] for one in told] == [f"b{number:05x}" for number in reversed(range(1000))]
    assert {one["state"] for one in told} == {"finished", "failed"}
    screen = terminal()
    screen.wait("can launch here", "the form")
    screen.keys("R")
    screen.wait("b003e7", "the newest")
    screen.wait("since run b003e6: max_steps 998 → 999", "what changed in it")
    screen.keys("down")
    screen.wait("since run b003e5: max_steps 997 → 998", "the next")
    screen.keys("q")
    assert screen.end(20) == 0


def test_a_terminal_that_is_closed_during_a_stop_leaves_nothing_half_stopped(runs, environment, work):  # noqa: F811
    """The whole way: the terminal goes, the kernel sends HUP, and no stream of the command can be written any more."""
    folder = launcher.start(runs, launcher.Job((sys.executable, "-c", DEAF)))
    supervisor, leader = read_started(folder).supervisor, read_started(folder).leader
    until(lambda: b"deaf" in folder.output.read_bytes(), "its deafness")
    proctree.send(supervisor, signal.SIGKILL)
    until(lambda: status(folder).state == "lost", "that it is lost")
    shell = pexpect.spawn(script(), ["stop", folder.id], env=environment, cwd=str(work))
    until(lambda: (asking.begun(folder) or {}).get("stage") == "interrupt", "INT")
    os.close(shell.child_fd)
    until(lambda: not is_living(shell.pid), "the end of the command")
    until_it_is_ended(folder, leader)


def test_a_foreground_launch_that_ends_its_run_itself_hands_that_over(runs, environment, work, tmp_path):  # noqa: F811
    """Its supervisor was killed while it was at the stop; then the terminal was closed."""
    program = tmp_path / "deaf.py"
    program.write_text(DEAF)
    told = ["--set", f"script={program}", "--set", "launcher=python", "--set", "training_env=this"]
    command = [script(), "launch", "custom", "--foreground", "--no-probe", *told]
    with subprocess.Popen(command, env=environment, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as launch:
        until(lambda: launch.stdout.readline() == b"deaf\n", "its deafness")
        (folder,) = store.list_runs(runs)
        supervisor, leader = read_started(folder).supervisor, read_started(folder).leader
        launch.send_signal(signal.SIGINT)
        until(lambda: asking.sent(folder)[0], "INT")
        proctree.send(supervisor, signal.SIGKILL)
        until(lambda: lock.held(folder.path / records.LOCK) and not proctree.is_alive(supervisor), "that it goes on")
        launch.send_signal(signal.SIGHUP)
        launch.communicate(timeout=20)
    assert launch.returncode == 128 + signal.SIGHUP
    until_it_is_ended(folder, leader)


COUNTS = (
    "import pathlib, signal, sys, time\n"
    "terms, go = map(pathlib.Path, sys.argv[1:])\n"
    "signal.signal(signal.SIGTERM, lambda *_: terms.open('a').write('TERM\\n'))\n"
    "print('ready', flush=True)\n"
    "while not go.exists(): time.sleep(0.02)\n"
)
"""Writes down each TERM, and ends once it may."""


def test_sweeps_that_are_broken_off_send_one_term_to_a_run_without_a_folder(runs, environment, work, tmp_path):  # noqa: F811
    """Each Ctrl-C and each further sweep sent it anew. A third one only says that somebody is at it."""
    terms, go = tmp_path / "terms", tmp_path / "go"
    terms.touch()
    folder = launcher.start(runs, launcher.Job((sys.executable, "-c", COUNTS, str(terms), str(go))))
    until(lambda: b"ready" in folder.output.read_bytes(), "its handler")
    leader = read_started(folder).leader
    proctree.send(read_started(folder).supervisor, signal.SIGKILL)
    until(lambda: not lock.held(folder.path / records.LOCK), "the supervisor's death")
    shutil.rmtree(folder.path)
    sweeps = {"env": environment, "cwd": work, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([script(), "sweep", "--yes"], **sweeps) as first:
        until(terms.read_text, "TERM")
        first.send_signal(signal.SIGINT)
        assert "without you" in first.communicate(timeout=20)[1]
    until(lambda: turns.is_taken(folder), "who goes on with it")
    third = subprocess.run([script(), "sweep", "--yes"], **sweeps, timeout=20, check=True)
    assert "being ended already" in third.stderr
    assert terms.read_text() == "TERM\n"
    go.touch()
    until(lambda: not proctree.is_alive(leader), "its end")
    until(lambda: not list((runs.parent / turns.FOLDER).iterdir()), "the end of who was at it")
    assert terms.read_text() == "TERM\n"
