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
