"""A run that hangs is told by its silence, in every place that lists it. The demo's ranks really hang (torch 2.13, gloo)."""

from __future__ import annotations

import io
import sys
import time
from contextlib import redirect_stdout

import pytest

from prl_tui.cli import demo
from prl_tui.cli.watching import _Told
from prl_tui.core import plan
from prl_tui.runs import events, launcher, overview, plans, stop
from prl_tui.telemetry.quiet import Patience
from prl_tui.tui.run_words import head, health
from tests.runs.helpers import until

TALKS = "import time\nprint('loading the weights', flush=True)\ntime.sleep(600)"


@pytest.fixture
def alive(root):
    """A real run that says one line and no more."""
    folder = launcher.start(root, launcher.Job((sys.executable, "-uc", TALKS)))
    until(lambda: folder.output.exists() and folder.output.read_text(), "its line")
    yield folder
    stop.stop(folder, grace=stop.Grace(interrupt=0.0, terminate=0.1), by="test")
    assert stop.wait(folder, 10.0)


def looked(folder, seconds=0.0):
    """The run as it is, seen so many seconds later."""
    reading = overview.reader(folder)
    one = overview.describe(folder, reading.poll(), clock=lambda: time.time() + seconds)
    reading.close()
    return one


def test_a_silent_run_is_stalled_in_the_data_and_in_its_words(alive):
    assert overview.as_data(looked(alive))["stalled"] is False
    assert overview.status_word(looked(alive)) == "◦ starting"
    late = looked(alive, 1000)
    assert overview.as_data(late)["stalled"] is True
    assert overview.as_data(late)["state"] == "starting"
    assert overview.as_data(late)["detail"] == "no output for 16 min"
    assert overview.status_word(late) == "! starting"


def test_an_ended_run_is_never_stalled(root, alive):
    stop.stop(alive, grace=stop.Grace(interrupt=0.0, terminate=0.1), by="test")
    assert stop.wait(alive, 10.0)
    assert overview.as_data(looked(alive, 10_000))["stalled"] is False


def test_the_list_of_runs_says_it(alive, root, monkeypatch):
    from argparse import Namespace

    from prl_tui.cli import running

    monkeypatch.setattr("prl_tui.machine.paths.runs_dir", lambda: root)
    monkeypatch.setattr("prl_tui.runs.overview.overviews", lambda *_: [looked(alive, 1000)])
    out = io.StringIO()
    with redirect_stdout(out):
        running.runs(Namespace(n=0, json=False))
    assert "! starting" in out.getvalue()
    assert "no output for 16 min" in out.getvalue()


def test_plain_lines_say_it_at_once_and_then_ever_more_rarely(alive):
    told = _Told()
    told.news(looked(alive))
    seen = [told.news(looked(alive, seconds)) for seconds in (910, 930, 1200, 1830, 1900)]
    assert [bool(lines) for lines in seen] == [True, False, False, True, False]
    assert seen[0] == ["! no output for 15 min", f"  where each rank stands: prl-tui stacks {alive.id}"]


STEPS = (
    "import os, sys, time\n"
    "for n in range(1, 9):\n"
    "    print({'loss': 0.5, 'global_step/max_steps': f'{n}/90', 'elapsed_time': f'{4 * n}s'}, flush=True)\n"
)


@pytest.mark.parametrize("end", ["raise SystemExit(3)", "time.sleep(600)"])
def test_a_run_that_ended_promises_no_time_left(root, end):
    folder = launcher.start(root, launcher.Job((sys.executable, "-uc", STEPS + end)))
    try:
        until(lambda: folder.output.exists() and "8/90" in folder.output.read_text(), "its steps")
        if "sleep" in end:
            one = looked(folder)
            assert overview.as_data(one)["progress"]["eta_seconds"] == 4.0 * 82
            assert "5 m 28 s left" in "".join(_Told().news(one))
            stop.stop(folder, grace=stop.Grace(interrupt=0.0, terminate=0.1), by="test")
        assert stop.wait(folder, 10.0)
        for one in (looked(folder), overview.overview(folder)):
            assert one.status.state == ("stopped" if "sleep" in end else "failed")
            assert one.view.progress.step == 8
            assert overview.as_data(one)["progress"]["eta_seconds"] is None
            assert "left" not in "".join(_Told().news(one))
            progress = [event for event in events.Events().news(one, ()) if event["event"] == "progress"]
            assert progress[0]["eta_seconds"] is None
    finally:
        stop.stop(folder, grace=stop.Grace(interrupt=0.0, terminate=0.1), by="test")


def test_a_run_whose_next_step_is_late_tells_its_age_in_place_of_the_time_left(root):
    folder = launcher.start(root, launcher.Job((sys.executable, "-uc", STEPS + "time.sleep(600)")))
    try:
        until(lambda: folder.output.exists() and "8/90" in folder.output.read_text(), "its steps")
        reading = overview.reader(folder)
        view = until(lambda: (v := reading.poll()).progress is not None and v, "its progress")
        reading.close()
        told = _Told()

        def after(seconds):
            return overview.describe(folder, view, clock=lambda: view.last_output + seconds)

        assert "left" in "".join(told.news(after(0)))
        seen = [after(seconds) for seconds in (39, 42, 60, 90, 290)]  # steps of 4 s
        assert [told.news(one) for one in seen] == [
            [],
            ["last output 42 s ago"],
            [],
            ["last output 1 m 30 s ago"],
            ["last output 4 m 50 s ago"],
        ]
        late = seen[1]
        assert "step 8 / 90" in head(late, 160).plain
        assert "▸ running" in head(late, 160).plain
        assert health(late) == ("· last output 42 s ago   loss 0.5", "")
        assert health(after(90))[0] == "· last output 1 m 30 s ago   S where each rank stands   loss 0.5"
        assert overview.reason(late) == "last output 42 s ago"
        assert health(after(0)) == ("✓ loss 0.5", "")
        assert "left" not in head(late, 160).plain
        assert overview.as_data(late)["progress"]["eta_seconds"] is None
        assert overview.as_data(late)["stalled"] is False
        assert "".join(_Told().news(late)) == "step 8/90  9 %  loss 0.5  last output 42 s ago"
        assert after(400).late is None, "by then it is silent for too long"
    finally:
        stop.stop(folder, grace=stop.Grace(interrupt=0.0, terminate=0.1), by="test")
        assert stop.wait(folder, 10.0)
    assert looked(folder, 60).late is None


def test_a_run_that_is_being_stopped_promises_no_time_left_and_no_well_being(root):
    stubborn = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    folder = launcher.start(root, launcher.Job((sys.executable, "-uc", stubborn + STEPS + "time.sleep(600)")))
    try:
        until(lambda: folder.output.exists() and "8/90" in folder.output.read_text(), "its steps")
        assert "5 m 28 s left" in head(looked(folder), 160).plain
        assert health(looked(folder))[0] == "✓ loss 0.5"
        stop.stop(folder, grace=stop.Grace(interrupt=60.0, terminate=0.1), by="test")
        one = until(lambda: (seen := looked(folder)).status.state == "stopping" and seen, "its stopping")
        assert "step 8 / 90" in head(one, 160).plain
        assert "left" not in head(one, 160).plain
        assert "/it" not in head(one, 160).plain
        assert "left" not in "".join(_Told().news(one))
        assert health(one)[0] == "◦ loss 0.5"
    finally:
        stop.stop(folder, grace=stop.Grace(interrupt=0.0, terminate=0.1), by="test")
        assert stop.wait(folder, 10.0)
    one = looked(folder)
    assert one.status.state == "stopped"
    assert "✓" not in health(one)[0]


@pytest.mark.slow
@pytest.mark.torch
def test_two_real_ranks_of_which_one_hangs_are_stalled_soon_after_their_last_step(root):
    pytest.importorskip("torch")
    config = demo.config(["max_steps=200", "hang_rank=1", "hang_step=12"])
    folder = launcher.start(root, plans.job(plan.build(config), root.parent))
    patience = Patience(least=3.0, steps=10.0, reports=3.0)
    reading = overview.reader(folder)
    try:
        until(lambda: (v := reading.poll()).progress is not None and v.progress.step >= 11, "step 11", 120)
        one = until(
            lambda: (seen := overview.describe(folder, reading.poll(), patience)).quiet is not None and seen,
            "silence",
            60,
        )
        assert one.view.progress.step == 11
        assert 3.0 < one.quiet < 30.0
        data = overview.as_data(one)
        assert (data["state"], data["stalled"], data["progress"]["eta_seconds"]) == ("running", True, None)
        told = _Told().news(one)
        assert "step 11/200" in "".join(told)
        assert "left" not in "".join(told), "nobody knows when a run that hangs is done"
        assert overview.describe(folder, reading.view).quiet is None, "the usual patience is minutes"
    finally:
        reading.close()
        stop.stop(folder, grace=stop.Grace(interrupt=0.0, terminate=0.5), by="test")
        assert stop.wait(folder, 60.0)
