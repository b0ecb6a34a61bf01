"""`watch` on what is no single run: a folder of several, a pipe, a socket, a device."""

from __future__ import annotations

import os
import shutil
import signal
import socket
from pathlib import Path

import pytest

from prl_tui.runs.folder import RunFolder
from tests.runs.helpers import write


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """A home without runs, and an empty working directory; whoever waits for a pipe fails."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")

    def late(*_):
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(20)
    yield tmp_path / "work"
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def shared(place):
    """A folder with three runs of another person's, as a shared disk has it."""
    for age, name in enumerate(("aaaaa1", "bbbbb2", "ccccc3")):
        folder = RunFolder(place / "team" / name)
        folder.path.mkdir(parents=True)
        write(
            folder, "run", {"created": 1e9 - age, "recipe": "demo", "host": "box", "boot_id": "b", "pid_namespace": "n"}
        )
        write(folder, "exit", {"exit_code": 0, "started": 1e9, "ended": 1e9 + 60, "seconds": 60.0})
        folder.output.write_text("{'loss': 1.0, 'global_step/max_steps': '1/1'}\n")
    return place / "team"


@pytest.mark.parametrize("options", [(), ("--plain",), ("--json",), ("--exit-on", "step=3")])
def test_a_folder_of_several_runs_is_named_with_its_runs_and_the_way_to_one(cli, shared, options):
    done = cli("watch", "team", *options)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"prl-tui: team holds 3 runs: aaaaa1, bbbbb2, ccccc3; give the folder of one of them, the newest for example "
        f"({shared}/aaaaa1). On a terminal, without --plain, --json and --exit-on, all of them are listed.\n"
    )
    assert cli("watch", str(shared / "aaaaa1"), "--plain").code == 0, "the words that it gives work"


def test_of_a_folder_with_one_run_it_is_that_run(cli, shared):
    shutil.rmtree(shared / "aaaaa1")
    shutil.rmtree(shared / "ccccc3")
    done = cli("watch", "team", "--plain")
    assert done.code == 0
    assert f"run bbbbb2 in {shared}/bbbbb2" in done.err


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(path)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (os.mkfifo, "it is a named pipe, and a file is needed"),
        (make_socket, "it is a socket, and a file is needed"),
        (lambda path: Path(path).symlink_to("/dev/zero"), "it is a device, and a file is needed"),
    ],
    ids=["pipe", "socket", "device"],
)
@pytest.mark.parametrize("options", [("--plain",), ("--json",), ()])
def test_what_is_no_file_is_refused_in_one_sentence(cli, make, words, options):
    make("train.log")
    done = cli("watch", "train.log", *options)
    assert (done.code, done.out, done.err) == (2, "", f"prl-tui: train.log cannot be watched: {words}.\n")


def test_a_pipe_among_the_logs_of_a_folder_is_passed_over(cli, place):
    (place / "out").mkdir()
    os.mkfifo(place / "out" / "train.log")
    os.mkfifo(place / "out" / "logging.jsonl")
    os.mkfifo(place / "out" / "run.json")
    done = cli("watch", "out", "--plain")
    assert done.code == 3
    assert "holds neither logging.jsonl nor a log" in done.err


@pytest.mark.parametrize("name", ["", " ", "\t\n"], ids=["empty", "blank", "tab"])
@pytest.mark.parametrize(
    "words",
    [("watch",), ("watch", "--plain"), ("watch", "--json"), ("watch", "--exit-on", "finished"), ("logs",), ("stop",), ("rm",),
     ("stacks",), ("compare",)],
    ids=" ".join,
)  # fmt: skip
def test_an_empty_name_is_no_folder_and_no_run(cli, shared, words, name):
    (shared.parent / "newest.log").write_text("{'loss': 1.0, 'global_step/max_steps': '1/1'}\n")
    done = cli(*words, name)
    assert (done.code, done.out) == (3, "")
    assert done.err == ("prl-tui: The name of the run is empty; an id, the beginning of one, or last would work.\n")
