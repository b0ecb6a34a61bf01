"""`prl-tui runs` and `stop` on the command line, on runs that really ran."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from prl_tui.machine import paths
from prl_tui.runs import launcher, records, stop
from prl_tui.runs.folder import RunFolder, read_started
from prl_tui.runs.state import status
from tests.conftest import installed_script
from tests.runs.helpers import ended, is_living, until


def test_runs_say_how_long_they_took_and_why_they_failed(cli) -> None:
    code = "raise RuntimeError('the tokenizer is gone')"
    run = launcher.start(paths.runs_dir(), launcher.Job((sys.executable, "-c", code)))
    ended(run)
    row = cli("runs").out
    assert re.search(rf"^{run.id}  ✗ failed  \d\d-\d\d \d\d:\d\d  \d+ s  ", row)
    assert "the tokenizer is gone" in row


def test_a_name_of_ten_thousand_characters_moves_nothing_off_the_screen(cli) -> None:
    for name in ("a" * 10_000, "b"):
        job = launcher.Job((sys.executable, "-c", "print('done')"), info={"recipe": "custom", "preset": name})
        ended(launcher.start(paths.runs_dir(), job))
    rows = cli("runs").out.splitlines()
    assert len(rows) == 2
    assert all(len(row) < 100 for row in rows)
    assert any("aaa…" in row for row in rows)


def test_stopping_what_has_ended_says_so_once(cli) -> None:
    run = launcher.start(paths.runs_dir(), launcher.Job((sys.executable, "-c", "print('done')")))
    ended(run)
    done = cli("stop", run.id)
    assert (done.code, done.out, done.err) == (0, f"run {run.id} had ended before\n", "")


def test_what_a_stop_came_to_is_told_to_scripts_too(cli) -> None:
    """`asked` was its word for a run of which nothing was left."""
    run = launcher.start(paths.runs_dir(), launcher.Job((sys.executable, "-c", "import time; time.sleep(60)")))
    for word in ("stopped", "ended"):
        done = cli("stop", run.id, "--json")
        assert (done.code, json.loads(done.out)) == (0, {"id": run.id, "result": word})


SLOW_TO_END = "import time\ntry:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    time.sleep(1.5)"
DEAF = (
    "import signal, time\nfor n in (2, 15): signal.signal(n, signal.SIG_IGN)\nprint('deaf', flush=True)\ntime.sleep(60)"
)


@pytest.mark.parametrize("supervisors_record", ["kept", "lost"])
@pytest.mark.parametrize("program", [SLOW_TO_END, DEAF], ids=["ends by itself", "deaf"])
def test_a_stop_whose_supervisor_is_killed_meanwhile_is_brought_to_its_end(program, supervisors_record) -> None:
    """It waited 75 s for an exit record that nobody would write, and said that the run was still there."""
    run = launcher.start(paths.runs_dir(), launcher.Job((sys.executable, "-c", program)))
    supervisor, leader = read_started(run).supervisor[0], read_started(run).leader[0]
    if program == DEAF:
        until(lambda: b"deaf" in run.output.read_bytes(), "that it is deaf")
    command = [*installed_script(), "stop", run.id, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        until((run.path / "stop.json").exists, "the request")
        until(lambda: status(run).state == "stopping", "that it is at it")
        os.kill(supervisor, signal.SIGKILL)
        if supervisors_record == "lost":
            (run.path / "state.json").unlink()
        if program == DEAF:  # hurried, as by a second one who stops it
            records.write_record(run.path / "stop.json", {"grace": {"interrupt": 0, "terminate": 0.5}})
        told, narrated = process.communicate(timeout=30)
    assert process.returncode == 0, narrated
    assert json.loads(told)["result"] == "swept"
    assert "still there" not in narrated
    assert not is_living(leader)
    seen = status(run)
    assert (seen.state, seen.stopped_by_person) == ("stopped", True)


SAVING = """
import sys, time
try:
    print("training", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    time.sleep(3)
    open("saved", "w").close()
"""


ODD = [{"asked": "x", "grace": [1], "by": 3}, {"asked": 1e400, "grace": {"interrupt": -5}}]


@pytest.mark.parametrize("how", ["stop", "moved", "foreground", "stop again", "sweep", *ODD])
def test_what_was_interrupted_before_its_supervisor_died_is_not_interrupted_again(tmp_path, how) -> None:
    """A second INT broke off the saving of a checkpoint that the first one had begun."""
    script = tmp_path / "save.py"
    script.write_text(SAVING)
    words = ["launch", "custom/python", "--set", f"script={script}", "--set", "training_env=this", "--no-probe"]
    command = [*installed_script(), *words, "--foreground" if how == "foreground" else "--detach"]
    launch = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=tmp_path)
    until(lambda: list(paths.runs_dir().glob("*/state.json")), "the run")
    (run,) = [RunFolder(one.parent.resolve()) for one in paths.runs_dir().glob("*/state.json")]
    until(lambda: b"training" in run.output.read_bytes(), "its first line")
    supervisor, leader = read_started(run).supervisor[0], read_started(run).leader[0]
    if how == "foreground":
        asked = launch
        launch.send_signal(signal.SIGINT)
    else:
        launch.communicate(timeout=20)
        asked = subprocess.Popen(
            [*installed_script(), "stop", run.id], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    until(lambda: status(run).state == "stopping", "that it is at it")
    time.sleep(1)  # it is saving by now
    again = {"stop again": ["stop", run.id], "sweep": ["sweep", "--yes"]}.get(str(how))
    if how == "moved":
        run.path.rename(tmp_path / "elsewhere")
    elif again:  # who asked for it waits no more
        asked.send_signal(signal.SIGINT)
        asked.communicate(timeout=20)
    elif isinstance(how, dict):
        (run.path / records.STOP).write_text(json.dumps({"schema": records.SCHEMA, **how}))
    os.kill(supervisor, signal.SIGKILL)
    if again:
        until(lambda: not is_living(supervisor), "its supervisor's end")
        asked = subprocess.Popen([*installed_script(), *again], stdout=subprocess.PIPE, text=True)
    asked.communicate(timeout=40)
    assert asked.returncode == (130 if how == "foreground" else 0)
    assert not is_living(leader)
    assert (tmp_path / "saved").exists()
    assert how == "moved" or status(run).stopped_by_person
    assert how == "moved" or "Infinity" not in (run.path / records.EXIT).read_text()


def test_a_foreground_launch_that_goes_on_with_a_stop_still_hurries_when_told_again(tmp_path) -> None:
    """Its second Ctrl-C did nothing once the supervisor was killed: 45 s until the end."""
    script = tmp_path / "deaf.py"
    script.write_text(DEAF)
    words = ["launch", "custom/python", "--set", f"script={script}", "--set", "training_env=this", "--no-probe"]
    begun = time.monotonic()
    with subprocess.Popen([*installed_script(), *words, "--foreground"], stdout=subprocess.PIPE) as launch:
        until(lambda: list(paths.runs_dir().glob("*/state.json")), "the run")
        (run,) = [RunFolder(one.parent.resolve()) for one in paths.runs_dir().glob("*/state.json")]
        until(lambda: b"deaf" in run.output.read_bytes(), "its first line")
        supervisor, leader = read_started(run).supervisor[0], read_started(run).leader[0]
        launch.send_signal(signal.SIGINT)
        until(lambda: status(run).state == "stopping", "that it is at it")
        os.kill(supervisor, signal.SIGKILL)
        until(lambda: not is_living(supervisor), "its supervisor's end")
        time.sleep(0.5)
        launch.send_signal(signal.SIGINT)
        assert launch.wait(30) == 130
    assert time.monotonic() - begun < 30
    assert not is_living(leader)


INNER = """
import subprocess, sys, time
from prl_tui.machine import paths
from prl_tui.runs import launcher
folder = launcher.start(paths.runs_dir(), launcher.Job((sys.executable, "-c", "import time; time.sleep(60)")))
print(folder.id, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("damage", ["none", "moved", "state.json deleted"])
def test_a_stop_leaves_the_run_that_its_own_run_has_launched(tmp_path, damage) -> None:
    """It killed that one, with its supervisor, where its folder or its record was gone."""
    run = launcher.start(paths.runs_dir(), launcher.Job((sys.executable, "-c", INNER)))
    inner = RunFolder(run.path.parent / until(lambda: run.output.read_text().strip(), "the inner run"))
    births = read_started(inner)
    if damage == "moved":
        inner.path.rename(tmp_path / "elsewhere")
    elif damage != "none":
        (inner.path / "state.json").unlink()
    try:
        stop.stop(run, stop.Grace(0.1, 0.5))
        assert stop.wait(run, 20)
        assert is_living(births.supervisor[0])
        assert is_living(births.leader[0])
    finally:
        for pid in (births.supervisor[0], births.leader[0]):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def test_promoting_what_is_no_run_is_exit_3_and_what_is_something_else_exit_2(cli) -> None:
    """README.md: 3 no such run."""
    assert (done := cli("launch", "last", "--promote")).code == 3
    assert done.err == "prl-tui: There are no runs yet.\n"
    assert (done := cli("launch", "nosuch", "--promote")).code == 3
    assert done.err == "prl-tui: There is no run nosuch.\n"
    assert (done := cli("launch", "prl-grpo/standard-4gpu", "--promote")).code == 2
    assert "needs the run of a smoke test" in done.err


def test_links_that_lead_in_a_circle_are_no_fault_of_ours(cli, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "prl-tui").mkdir()
    link = tmp_path / "prl-tui/runs"
    link.symlink_to(link)
    for words in (("runs",), ("check", "demo"), ("sweep",)):
        assert cli(*words).code == 0
    for words in (("watch", "last"), ("stop", "last"), ("launch", "last")):
        assert "unexpected" not in cli(*words).err
    done = cli("launch", "demo", "--no-probe", "--detach")
    assert (done.code, done.out) == (4, "")
    assert done.err.splitlines()[-1] == f"prl-tui: {link} cannot be written: Too many levels of symbolic links"


def test_a_file_in_the_place_of_the_runs_is_named(cli, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "prl-tui").mkdir()
    (tmp_path / "prl-tui/runs").write_text("")
    done = cli("launch", "demo", "--no-probe", "--detach")
    assert done.err.splitlines()[-1] == f"prl-tui: {tmp_path}/prl-tui/runs cannot be written: Not a directory"
