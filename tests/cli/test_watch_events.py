"""`watch --json` tells each event once, `--exit-on` leaves once something has happened: on real runs of a supervisor."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from prl_tui.machine import paths
from prl_tui.runs import launcher, overview, stop
from prl_tui.runs.events import goal
from prl_tui.runs.launcher import Job
from prl_tui.runs.stop import Grace
from tests.conftest import installed_script
from tests.runs.helpers import ended, until

ROWS = """
import sys, time
for step in range(1, {steps} + 1):
    print({{"loss": float("nan") if step == 2 else 1 / step, "global_step/max_steps": f"{{step}}/{total}"}}, flush=True)
    time.sleep({pause})
{after}
"""


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Start a program as a run of this state folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    begun = []

    def begin(after="", steps=5, total=5, pause=0.05):
        program = ROWS.format(steps=steps, total=total, pause=pause, after=after)
        folder = launcher.start(paths.runs_dir(), Job((sys.executable, "-c", program), cwd=tmp_path))
        begun.append(folder)
        return folder

    yield begin
    for folder in begun:
        stop.stop(folder, Grace(0, 1))
        stop.wait(folder, 20)


def events_of(done):
    return [json.loads(line) for line in done.out.splitlines()]


def test_every_row_and_the_end_are_told_once(start, cli):
    folder = start()
    done = cli("watch", folder.id, "--json")
    assert done.code == 0
    events = events_of(done)
    assert all(event["run"] == folder.id and event["time"] > time.time() - 60 for event in events)
    rows = [event for event in events if event["event"] == "metrics"]
    assert [row["step"] for row in rows] == [1, 2, 3, 4, 5]
    assert rows[1]["values"]["loss"] == "nan", "JSON has no nan"
    assert rows[4]["values"]["loss"] == 0.2
    states = [event["state"] for event in events if event["event"] == "state"]
    assert states[-1] == "finished"
    assert len(states) == len(set(states))
    assert events[-1]["event"] == "end"
    assert (events[-1]["state"], events[-1]["exit_code"], events[-1]["cause"]) == ("finished", 0, None)


def test_a_failure_has_its_error_and_its_cause(start, cli):
    folder = start(after="raise ValueError('the reward is not finite')")
    done = cli("watch", folder.id, "--json")
    assert done.code == 1
    events = events_of(done)
    error = next(event for event in events if event["event"] == "error")
    assert error["text"] == "ValueError: the reward is not finite" or "Traceback" in error["text"]
    assert events[-1]["cause"]["text"] == "ValueError: the reward is not finite"


SEES = "import logging, traceback\ntry: 1 / 0\nexcept Exception: traceback.print_exc()\n"


@pytest.mark.parametrize(("before", "told"), [("", []), (SEES, ["ZeroDivisionError"])])
def test_how_a_run_ends_that_was_stopped_is_no_error_and_what_came_before_is_one(start, cli, before, told):
    folder = start(after=before + "print('now', flush=True)\ntime.sleep(600)")
    until(lambda: "now" in folder.output.read_text(), "its rows")
    stop.stop(folder, Grace(20, 20))
    assert stop.wait(folder, 20)
    text = folder.output.read_text()
    assert "KeyboardInterrupt" in text
    done = cli("watch", folder.id, "--json")
    errors = [event for event in events_of(done) if event["event"] == "error"]
    assert len(errors) == len(told)
    for event, name in zip(errors, told, strict=True):
        assert text.split("\n")[event["line"] - 1].startswith("Traceback")
        assert name in text
    assert not overview.overview(folder).view.errors or told


def test_a_step_that_is_reached_leaves_with_0_while_the_run_goes_on(start, cli):
    folder = start(after="time.sleep(600)", total=100)
    done = cli("watch", folder.id, "--exit-on", "step=3")
    assert done.code == 0
    assert "goes on" in done.err
    done = cli("watch", folder.id, "--json", "--exit-on", "step=5")
    assert done.code == 0
    assert events_of(done)[-1]["event"] != "end"


def test_a_step_that_never_comes_is_1_though_the_run_was_fine(start, cli):
    folder = start()
    assert cli("watch", folder.id, "--exit-on", "step=6").code == 1
    assert cli("watch", folder.id, "--exit-on", "step=5").code == 0
    assert cli("watch", folder.id, "--exit-on", "finished").code == 0


@pytest.mark.parametrize("how", ["--plain", "--json"])
def test_a_step_that_was_reached_before_the_run_ended_badly_or_was_stopped_is_0(start, cli, how):
    failed = start(after="raise SystemExit(3)", total=100)
    ended(failed)
    stopped = start(after="time.sleep(600)", total=100)
    until(lambda: "5/100" in stopped.output.read_text(), "its steps")
    stop.stop(stopped, Grace(0, 1))
    assert ended(stopped).state == "stopped"
    for folder, own in ((failed, 3), (stopped, ended(stopped).exit_code)):
        assert own != 0
        assert cli("watch", folder.id, how, "--exit-on", "step=5").code == 0
        assert cli("watch", folder.id, how, "--exit-on", "step=6").code == own, "it never came so far"
        assert cli("watch", folder.id, how, "--exit-on", "finished").code == own
        assert cli("watch", folder.id, how).code == own


def test_an_error_that_was_logged_counts_though_the_run_ended_well(start, cli):
    body = "import traceback\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    traceback.print_exc()"
    folder = start(after=body)
    assert ended(folder).exit_code == 0
    assert cli("watch", folder.id, "--exit-on", "failed").code == 1
    assert cli("watch", folder.id, "--exit-on", "finished").code == 0


def test_finished_means_that_nothing_of_the_run_is_left_and_has_its_code(start, cli):
    """A next job must not start beside ranks that are still ending; a newcomer's did."""
    last = "print('[INFO:swift] End time of running main: 2026-11-28 10:00:00.000000', flush=True)\ntime.sleep(1.5)\nraise SystemExit(7)"
    folder = start(after=last)
    done = cli("watch", folder.id, "--exit-on", "finished")
    assert done.code == 7
    assert overview.overview(folder).status.state == "finished-with-exit-error"
    assert "goes on" not in done.err


def test_an_error_in_the_log_is_left_for_before_the_run_ends(start, cli):
    body = "import traceback\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    traceback.print_exc()\ntime.sleep(600)"
    folder = start(after=body)
    assert cli("watch", folder.id, "--exit-on", "failed").code == 1
    over = start(after="raise SystemExit(3)")
    ended(over)
    assert cli("watch", over.id, "--exit-on", "failed").code == 3
    assert cli("watch", over.id, "--exit-on", "finished").code == 3


@pytest.mark.parametrize(
    "text", ["", "done", "step=", "step=0", "step=-1", "step=1.5", "step=x", "Step=1", "finished "]
)
def test_another_word_is_refused_with_one_that_works(start, cli, text):
    folder = start(steps=0)
    done = cli("watch", folder.id, "--exit-on", text)
    assert done.code == 2
    assert "step=100" in done.err


def test_goals_are_read():
    assert (goal("finished"), goal("failed"), goal("step=120")) == ("finished", "failed", 120)


def test_a_json_line_is_whole_at_once(start, script):
    folder = start()
    done = script("watch", folder.id, "--json")
    assert done.code == 0
    assert [json.loads(line)["event"] for line in done.out.splitlines()][-1] == "end"
    assert Path(json.loads(done.out.splitlines()[-1])["folder"]) == folder.path


@pytest.mark.parametrize("how", ["--plain", "--json"])
def test_ctrl_c_leaves_and_says_that_the_run_goes_on_and_what_ends_it(start, how):
    folder = start(steps=1000, total=1000, pause=0.1)
    child = subprocess.Popen(
        [*installed_script(), "watch", folder.id, how], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    until(child.stdout.readline, "its first line")
    child.send_signal(signal.SIGINT)
    _, told = child.communicate(timeout=30)
    assert child.returncode == 130
    sentence = f"run {folder.id} goes on; prl-tui watch {folder.id} shows it again, prl-tui stop {folder.id} ends it"
    assert told.splitlines()[-1] == sentence
