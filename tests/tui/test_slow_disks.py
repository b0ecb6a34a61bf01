"""A disk that hangs holds up neither keys nor `q`. The readers that hang are doubles; the end is that of a real process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from prl_tui.machine import facts, paths, ports
from prl_tui.machine.gpus import GpuSnapshot
from prl_tui.runs import launcher, store
from prl_tui.runs.launcher import Job
from prl_tui.tui import feeds, stopping
from prl_tui.tui.beside import Beside
from prl_tui.tui.screens.configure import ConfigureScreen
from prl_tui.tui.screens.runs import RunsScreen
from tests.runs.helpers import ended
from tests.tui.driving import configure, screen, sees, wait_for

LEAVE = Path(__file__).with_name("programs") / "leave.py"
SECOND = 1.0
SLACK = 1.5
"""Seconds that the interpreter's own end may take on a busy box."""


@pytest.fixture
def run():
    """A run that has ended, and the place where it is listed."""
    folder = launcher.start(paths.runs_dir(), Job((sys.executable, "-c", "print('loss 1')"), info={}))
    ended(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "name", "place", "keys"),
    [
        ("prl_tui.runs.store", "find", "configure", "w"),
        ("prl_tui.runs.overview", "Overviews.look", "configure", "R"),
        ("prl_tui.runs.sweep", "find", "runs", "W"),
        ("prl_tui.runs.store", "why_kept", "runs", "D"),
        ("prl_tui.runs.changes", "since_last", "runs", "m"),
        ("prl_tui.runs.stacks", "program", "watch", "S"),
        ("prl_tui.telemetry.gpu_history", "utilizations", "runs", "enter"),
        ("prl_tui.runs.folder", "RunFolder.info", "runs", "enter"),
        ("prl_tui.runs.overview", "reader", "runs", "enter"),
    ],
    ids=lambda value: value.replace("prl_tui.", ""),
)
def test_the_shell_is_back_within_a_second(run, module, name, place, keys):
    command = [sys.executable, str(LEAVE), module, name, place, keys]
    done = subprocess.run(command, capture_output=True, text=True, timeout=40, env=os.environ.copy())
    now = time.time()
    said, _, moment = done.stdout.strip().rpartition("\n")[2].rpartition(" ")
    assert said == "asked", done.stdout + done.stderr
    assert now - float(moment) < SECOND + SLACK
    assert "Traceback" not in done.stderr


@pytest.fixture
def hangs(monkeypatch):
    """Make a reader hang until the test is over; how often it was asked."""
    over, asked = threading.Event(), []

    def make(owner, name, result=None):
        def hang(*_, **__):
            asked.append(name)
            over.wait(30)
            return result

        monkeypatch.setattr(owner, name, hang)
        return asked

    yield make
    over.set()


async def test_w_says_what_it_awaits_and_keys_work_meanwhile(app, hangs):
    asked = hangs(store, "find")
    async with app().run_test(size=(100, 40), notifications=True) as pilot:
        place = await configure(pilot)
        await pilot.press("w")
        await sees(pilot, "Looking for the last run …")
        assert asked == ["find"]
        await pilot.press("R")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, RunsScreen), "another place")
        assert pilot.app.screen is not place


async def test_what_comes_too_late_takes_nobody_away(app, run, monkeypatch):
    go, real = threading.Event(), store.find
    monkeypatch.setattr(store, "find", lambda *words: go.wait(30) and real(*words))
    async with app().run_test(size=(100, 40)) as pilot:
        await configure(pilot)
        await pilot.press("w", "question_mark")
        await wait_for(pilot, lambda: "Help" in type(pilot.app.screen).__name__, "the help")
        go.set()
        await wait_for(pilot, lambda: not pilot.app.beside._under_way, "the run to be found")
        await pilot.pause()
        assert "Help" in type(pilot.app.screen).__name__


@pytest.mark.parametrize(("key", "owner", "name"), [("x", stopping, "why_not"), ("D", store, "why_kept")])
async def test_a_key_for_a_run_waits_beside_the_screen(app, run, hangs, key, owner, name):
    async with app(runs_root=paths.runs_dir()).run_test(size=(100, 40), notifications=True) as pilot:
        await wait_for(pilot, lambda: run.id in screen(pilot.app), "the run")
        hangs(owner, name)
        if key == "x":
            stopping.ask(pilot.app, pilot.app.screen._here())
        else:
            await pilot.press(key)
        await sees(pilot, f"Looking at run {run.id} …")
        await pilot.press("c")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, ConfigureScreen), "another place")


async def test_the_owner_of_a_fixed_port_is_looked_up_beside_the_screen(app, hangs, monkeypatch):
    main = threading.get_ident()
    monkeypatch.setattr(
        ports, "port_free", lambda port: threading.get_ident() == main and pytest.fail("on the screen's thread")
    )
    asked = hangs(ports, "port_owner")
    shown = app()
    async with shown.run_test(size=(100, 40)) as pilot:
        place = await configure(pilot)
        place.session.set_text("master_port", "29511")
        await wait_for(pilot, lambda: asked, "the look")
        assert place.still_looking or not shown.box.known(place.session.config)


def test_a_port_that_is_taken_is_told_once_it_is_known(recipes, monkeypatch):
    from prl_tui.core.config import Source, resolve

    config = resolve(recipes.find("prl-grpo"), "standard-4gpu").with_values({"master_port": "29511"}, Source.FORM)
    monkeypatch.setattr(ports, "port_free", lambda port: False)
    monkeypatch.setattr(ports, "port_owner", lambda port: ports.PortOwner(4711, "anna", "python train.py"))
    box, end = feeds.BoxFacts(), time.monotonic() + 30
    while not box.known(config):
        assert time.monotonic() < end
        box.facts(config, GpuSnapshot(0.0))
        time.sleep(0.01)
    assert box.facts(config, GpuSnapshot(0.0)).port_owner == "python train.py, pid 4711"
    assert facts.here(config, GpuSnapshot(0.0)).port_owner == "python train.py, pid 4711", (
        "the command line waits for it"
    )


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (PermissionError(13, "Permission denied", "/shut"), "Cannot be read or written: /shut: Permission denied."),
        (ZeroDivisionError("planted"), "an unexpected fault: ZeroDivisionError; the details are in"),
    ],
)
async def test_a_fault_beside_the_screen_is_one_sentence_and_the_key_works_again(app, monkeypatch, fault, told):
    def fails(*_):
        raise fault

    from prl_tui.machine import doctor_report

    monkeypatch.setattr(doctor_report, "look", fails)
    async with app().run_test(size=(140, 40), notifications=True) as pilot:
        await configure(pilot)
        pilot.app.action_doctor()
        await wait_for(pilot, lambda: any(one.message.startswith(told) for one in pilot.app._notifications), "it told")
        assert not pilot.app.beside._under_way


@pytest.mark.parametrize("fault", [PermissionError(13, "Permission denied", "/shut"), ZeroDivisionError("planted")])
async def test_a_run_that_cannot_be_read_is_told_and_no_traceback(app, run, monkeypatch, fault, capsys):
    def fails(*_):
        raise fault

    monkeypatch.setattr("prl_tui.runs.overview.reader", fails)
    async with app(watch=run).run_test(size=(100, 40), notifications=True) as pilot:
        await sees(pilot, "/shut: Permission denied" if isinstance(fault, OSError) else "ZeroDivisionError")
    assert "Traceback" not in capsys.readouterr().err


async def test_an_end_waits_a_moment_for_what_should_not_be_left_half_done(app):
    begun, done = threading.Event(), []

    def work():
        begun.set()
        time.sleep(0.3)
        done.append(True)

    async with app().run_test(size=(100, 40)) as pilot:
        await configure(pilot)
        beside: Beside = pilot.app.beside
        beside.do("stop", work, finishes=True)
        begun.wait(10)
    assert done == [True]
    assert beside.leaving.is_set()


async def test_one_work_of_a_name_at_a_time(app):
    go, done = threading.Event(), []
    async with app().run_test(size=(100, 40)) as pilot:
        await configure(pilot)
        for n in range(3):
            pilot.app.beside.do("one", lambda n=n: go.wait(10) and n, done.append)
        go.set()
        await wait_for(pilot, lambda: done, "its end")
        assert done == [0]
        pilot.app.beside.do("one", lambda: 7, done.append)
        await wait_for(pilot, lambda: len(done) > 1, "the next one")
        assert done == [0, 7]
