"""Stacks of hung ranks, read by the real py-spy (0.4.3 here) from a real process tree in torchrun's shape."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from pathlib import Path

import pytest

from prl_tui.runs import stacks, stop
from prl_tui.runs.stop import Grace
from tests.runs.helpers import no_spying, until

LAUNCHER = """
import os, subprocess, sys, time
ranks = [
    subprocess.Popen([sys.executable, sys.argv[1]], env={**os.environ, "RANK": str(rank)}, start_new_session=True)
    for rank in (0, 1)
]
def wait_for_ranks():
    time.sleep(600)
wait_for_ranks()
"""
RANK = """
import os, subprocess, sys, time
def all_reduce_that_hangs():
    time.sleep(600)
def data_that_hangs():
    subprocess.run([sys.executable, "-c", "import time; time.sleep(600)"])
if os.environ["RANK"] == "0":
    all_reduce_that_hangs()
data_that_hangs()
"""


@pytest.fixture
def hung(python, tmp_path):
    (tmp_path / "launch.py").write_text(LAUNCHER, "utf-8")
    (tmp_path / "rank.py").write_text(RANK, "utf-8")
    folder = python(str(tmp_path / "launch.py"), str(tmp_path / "rank.py"))
    until(lambda: len(stop.progress(folder)) == 4, "launcher, two ranks, one loader")
    yield folder
    stop.stop(folder, Grace(0, 1))
    stop.wait(folder, 20)


@pytest.fixture
def spy():
    """Where py-spy can look into another process."""
    if reason := no_spying():
        pytest.skip(reason)


@pytest.mark.usefixtures("spy")
def test_each_rank_is_named_with_the_line_in_which_it_stands(hung):
    def standing():
        found = stacks.read(hung)
        tops = {one.rank: one.top() for one in found.found if one.rank is not None}
        return found if all(any("hangs" in line for line in top) for top in tops.values()) and len(tops) == 2 else None

    found = until(standing, "both ranks in their function")
    first, second, *others = found.found
    assert (first.rank, second.rank) == (0, 1)
    assert any(line.startswith("all_reduce_that_hangs (") and "rank.py:4" in line for line in first.top())
    assert any(line.startswith("data_that_hangs (") for line in second.top())
    assert len(others) == 2, "the launcher, and rank 1's child, which has RANK too and is no rank"
    assert {path.name for path in found.place.iterdir()} == {"rank-0.txt", "rank-1.txt"} | {
        f"pid-{one.pid}.txt" for one in others
    }
    assert "all_reduce_that_hangs" in (found.place / "rank-0.txt").read_text("utf-8")
    words = stacks.lines(found)
    assert words[0].startswith("rank 0 (pid ")


@pytest.mark.usefixtures("spy")
def test_the_command_prints_them_and_json_has_the_files(hung, cli, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(hung.path.parent.parent.parent))
    monkeypatch.setattr("prl_tui.cli.running.find", lambda _name: hung)
    done = cli("stacks", hung.id, "--json")
    assert done.code == 0
    processes = json.loads(done.out)["processes"]
    assert [one["rank"] for one in processes][:2] == [0, 1]
    assert all(Path(one["file"]).is_file() for one in processes)
    assert "rank 1 (pid " in cli("stacks", hung.id).out


def test_without_py_spy_the_way_out_is_said(hung, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda *_args, **_more: None)
    with pytest.raises(stacks.StacksError, match="pip install py-spy") as told:
        stacks.read(hung)
    assert f"own environment: {sys.executable} -m pip install py-spy" in str(told.value), "one command, for one place"


def test_an_environment_without_pip_gets_uv_s_command(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert stacks.install_command() == f"uv pip install --python {sys.executable} py-spy"


def test_a_process_that_may_not_be_read_says_what_would_let_it(hung, tmp_path, monkeypatch):
    """A double in py-spy's place: it says what py-spy 0.4.3 says without SYS_PTRACE."""
    double = tmp_path / "py-spy"
    double.write_text(
        "#!/bin/sh\necho 'Error: Permission Denied: Try running again with elevated permissions' >&2\nexit 1\n"
    )
    double.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda *_args, **_more: str(double))
    found = stacks.read(hung)
    assert all("SYS_PTRACE" in one.problem and not one.text for one in found.found)
    assert any("SYS_PTRACE" in line for line in stacks.lines(found))


def test_an_ended_run_has_none(hung):
    stop.stop(hung, Grace(0, 1))
    stop.wait(hung, 20)
    with pytest.raises(stacks.StacksError, match="No Python process"):
        stacks.read(hung)


def test_another_host_s_run_is_read_there(forged):
    with pytest.raises(stacks.StacksError, match="belongs to elsewhere"):
        stacks.read(forged(state={"host": "elsewhere"}))


TORCH = "/opt/env/lib/python3.11/site-packages/torch"
HUNG = "\n".join([
    'Thread 4242 (idle): "MainThread"',
    *(f"    inner_{n} ({TORCH}/autograd/graph.py:{n})" for n in range(6)),
    f"    backward ({TORCH}/_tensor.py:581)",
    "    _accumulate ({own}/trainer.py:201)",
    "    _step ({own}/trainer.py:180)",
    "    train ({own}/trainer.py:120)",
    "    main ({own}/train.py:40)",
    "    <module> ({own}/train.py:62)",
    "    _run_code (<frozen runpy>:88)",
    "    _run_module_as_main (<frozen runpy>:198)",
])  # fmt: skip
"""A rank of the demo in its backward pass, as py-spy 0.4.3 writes it."""


def top(text):
    return stacks.Stack(1, 0, "python", text).top()


@pytest.mark.parametrize(
    ("own", "shown"),
    [
        ("/home/me/work", "/home/me/work"),
        ("/opt/env/lib/python3.11/site-packages/prl_tui/demo", "prl_tui/demo"),
        ("/usr/lib64/python3.9/site-packages/swift/cli", "swift/cli"),
    ],
    ids=["a script", "an installed module", "an engine of the system's Python"],
)
def test_the_line_of_ones_own_program_is_shown_wherever_it_is(own, shown):
    assert top(HUNG.replace("{own}", own)) == [
        *(f"inner_{n} (torch/autograd/graph.py:{n})" for n in range(4)),
        "…",
        f"_accumulate ({shown}/trainer.py:201)",
        f"_step ({shown}/trainer.py:180)",
        "…",
    ]


def test_what_is_cut_is_marked_and_what_is_whole_is_not():
    frames = [f"    f{n} (/home/me/train.py:{n})" for n in range(8)]
    head = 'Thread 1 (idle): "MainThread"'
    assert top("\n".join([head, *frames])) == [*(f"f{n} (/home/me/train.py:{n})" for n in range(6)), "…"]
    assert top("\n".join([head, *frames[:6]])) == [f"f{n} (/home/me/train.py:{n})" for n in range(6)]
    inside = [f"    f{n} ({TORCH}/x.py:{n})" for n in range(7)]
    assert top("\n".join([head, *inside])) == [*(f"f{n} (torch/x.py:{n})" for n in range(6)), "…"]
    assert stacks.Stack(1, None, "sleep", "").top() == []


def test_the_frames_of_another_thread_are_none_of_the_main_one():
    """py-spy's own layout: a head, then one thread behind the other without a blank line."""
    others = ["    poll (/home/me/tail.py:1)", 'Thread 2 (idle): "MainThread"', "    main (/home/me/train.py:9)"]
    text = "\n".join(
        ["Process 1: python train.py", "Python v3.11.4 (/usr/bin/python3.11)", "", 'Thread 3 (idle): "Tail"']
    )
    assert top("\n".join([text, *others, 'Thread 4 (idle): "Tail"', others[0], ""])) == ["main (/home/me/train.py:9)"]
