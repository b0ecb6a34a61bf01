"""`x` and `D` where there is nothing to stop or to delete: on real runs under their real supervisor."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from prl_tui.machine import paths
from prl_tui.runs import launcher, proctree, records, stop
from prl_tui.runs.folder import read_started
from prl_tui.runs.state import status
from prl_tui.tui.screens.dialogs import Question
from prl_tui.tui.stopping import EVERY
from tests.runs.helpers import kill_recorded, until
from tests.tui.driving import screen, wait_for
from tests.tui.test_runs_and_watch import SMALL, WAIT, WIDE, over, runs_screen, start, told, watch

__all__ = ["start"]
STUBBORN = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n" + WAIT
QUICK = stop.Grace(interrupt=0.0, terminate=0.1)


async def opened(pilot, folder, where):
    """The list, or the watch screen, with the run under the cursor."""
    if where == "watch":
        return await watch(pilot, folder)
    place = await runs_screen(pilot)
    await wait_for(pilot, lambda: place.rows.runs, "the run")
    return place


async def deaf(pilot, start, where):
    """A run that SIGINT does not end, and the screen that has it."""
    folder = start(STUBBORN)
    await wait_for(pilot, lambda: "tick" in folder.output.read_text(), "its deafness")
    return folder, await opened(pilot, folder, where)


@pytest.mark.parametrize("where", ["runs", "watch"])
async def test_x_asks_nothing_while_the_run_is_being_stopped_and_says_so(app, start, where):
    async with app().run_test(size=SMALL) as pilot:
        folder, place = await deaf(pilot, start, where)
        stop.stop(folder, stop.Grace(interrupt=60.0), by="test")
        await wait_for(pilot, lambda: status(folder).state == "stopping", "its stopping")
        await pilot.press("x")
        await wait_for(pilot, lambda: told(pilot.app, f"run {folder.id} is being stopped"), "the sentence")
        assert pilot.app.screen is place


@pytest.mark.parametrize("where", ["runs", "watch"])
async def test_x_on_an_ended_run_says_that_it_has_ended(app, start, where):
    async with app().run_test(size=SMALL) as pilot:
        folder = start("print('done')")
        await wait_for(pilot, lambda: over(folder), "its end")
        place = await opened(pilot, folder, where)
        if where == "watch":
            await wait_for(pilot, lambda: not place.check_action("stop", ()), "x is offered no more")
        await pilot.press("x")
        await wait_for(pilot, lambda: told(pilot.app, f"run {folder.id} has ended already"), "the sentence")
        assert pilot.app.screen is place


@pytest.mark.parametrize(("by", "sentence"), [("itself", "has ended already"), ("another", "is being stopped")])
async def test_the_question_closes_when_the_run_ends_or_is_stopped_meanwhile(app, start, by, sentence):
    async with app().run_test(size=SMALL) as pilot:
        folder = start(STUBBORN)
        await wait_for(pilot, lambda: "tick" in folder.output.read_text(), "its deafness")
        place = await opened(pilot, folder, "runs")
        await pilot.press("x")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Question), "the question")
        if by == "itself":
            os.kill(status(folder).pid, signal.SIGKILL)
        else:
            stop.stop(folder, stop.Grace(interrupt=60.0), by="test")
        await wait_for(pilot, lambda: pilot.app.screen is place, "the list again")
        await wait_for(pilot, lambda: told(pilot.app, f"run {folder.id} {sentence}"), "why")


async def test_what_a_dead_supervisor_left_behind_can_be_stopped(app, start):
    async with app().run_test(size=SMALL) as pilot:
        folder = start("import time; time.sleep(600)")  # one that prints would die of its broken pipe
        await opened(pilot, folder, "watch")
        started = read_started(folder)
        os.kill(started.supervisor[0], signal.SIGKILL)

        def is_lost():
            one = pilot.app.screen._one  # None until the screen has read it
            return one is not None and one.status.state == "lost"

        await wait_for(pilot, is_lost, "its loss")
        assert proctree.is_alive(started.leader)
        await pilot.press("x")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Question), "the question")
        stop.stop(folder, QUICK, by="test")
        await wait_for(pilot, lambda: not isinstance(pilot.app.screen, Question), "its end")
        assert not proctree.is_alive(started.leader)


async def test_d_on_a_living_run_says_that_it_must_be_stopped_first_and_asks_nothing(app, start):
    async with app().run_test(size=SMALL) as pilot:
        folder = start(WAIT)
        place = await opened(pilot, folder, "runs")
        await pilot.press("D")
        await wait_for(pilot, lambda: told(pilot.app, f"Run {folder.id} is alive; stop it first"), "the sentence")
        assert pilot.app.screen is place
        assert (paths.runs_dir() / folder.id).exists()


@pytest.mark.parametrize("key", ["q", "escape", "n"])
async def test_keys_that_leave_let_the_run_go_on(app, start, key):
    async with app().run_test(size=SMALL) as pilot:
        folder = start(WAIT)
        place = await opened(pilot, folder, "runs")
        await pilot.press("x")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Question), "the question")
        await pilot.press(key)
        await wait_for(pilot, lambda: pilot.app.screen is place, "the list again")
        assert status(folder).state in {"starting", "running"}


def stays(app):
    """No notice goes by its own time."""
    for one in app._notifications:
        one.raised_at += 600


@pytest.mark.parametrize("where", ["runs", "watch"])
async def test_that_a_run_is_being_stopped_is_taken_back_when_it_has_ended(app, start, where):
    """The notice lay there for seconds beside a head that said `■ stopped`."""
    async with app().run_test(size=SMALL) as pilot:
        folder, place = await deaf(pilot, start, where)
        await pilot.press("x")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Question), "the question")
        pilot.app.tell("something else")
        await pilot.press("y")
        await wait_for(pilot, lambda: told(pilot.app, f"Run {folder.id} is being stopped"), "the sentence")
        await wait_for(pilot, lambda: status(folder).state == "stopping", "its stopping")
        await pilot.press("x")
        await wait_for(pilot, lambda: told(pilot.app, f"run {folder.id} is being stopped: "), "why not")
        stays(pilot.app)
        await pilot.pause(2 * EVERY)
        assert len(told(pilot.app, "is being stopped")) == 2, "it goes on"
        stop.stop(folder, QUICK, by="test")
        await wait_for(pilot, lambda: over(folder), "its end")
        await wait_for(pilot, lambda: not told(pilot.app, "is being stopped"), "that they are taken back")
        assert told(pilot.app, "something else")
        assert pilot.app.screen is place


ROWS = """
import time
for n in range(1, 9999):
    print({'loss': 1 / n, 'global_step/max_steps': f'{n}/9999'}, flush=True)
    time.sleep(0.05)
"""
WITH_A_CHILD = "import os, time\nif os.fork() == 0: os.setsid()\ntime.sleep(600)"


@pytest.fixture
def orphaned():
    """Start a program whose recorder reads its log on, and kill its supervisor."""
    started = []

    def begin(code):
        info = {"recipe": "demo", "preset": "two-ranks", "activation": {"kind": "this"}}
        job = launcher.Job((sys.executable, "-uc", code), recorded=True, info=info)
        started.append(launcher.start(paths.runs_dir(), job))
        until(lambda: read_started(started[-1]).leader and proctree.marked(read_started(started[-1]).leader[0]), "it")
        kill_recorded(started[-1])
        return started[-1]

    yield begin
    for folder in started:
        stop.stop(folder, QUICK, by="test")


async def test_a_run_whose_supervisor_was_killed_is_followed_and_its_stop_is_seen(app, orphaned):
    """Its log went on while all else stood still, and "it still runs" stayed after the stop."""
    async with app().run_test(size=WIDE) as pilot:
        folder = orphaned(ROWS)
        place = await watch(pilot, folder)
        await wait_for(pilot, lambda: "but it still runs" in screen(pilot.app), "that its supervisor is gone")
        step, seconds = place._one.view.furthest, place._one.status.seconds
        await wait_for(pilot, lambda: place._one.view.furthest > step + 5, "that it is read on")
        assert place._one.status.seconds > seconds
        stop.stop(folder, QUICK, by="test")
        await wait_for(pilot, lambda: "stopped" in screen(pilot.app), "its end")
        assert "still runs" not in screen(pilot.app)


async def test_the_end_of_a_lost_run_that_is_written_down_later_is_seen(app, orphaned):
    async with app().run_test(size=WIDE) as pilot:
        folder = orphaned(WITH_A_CHILD)
        await watch(pilot, folder)
        await wait_for(pilot, lambda: "but it still runs" in screen(pilot.app), "that its supervisor is gone")
        os.kill(read_started(folder).leader[0], signal.SIGKILL)
        await wait_for(pilot, lambda: "but it still runs" not in screen(pilot.app), "that its launcher is gone")
        assert "lost" in screen(pilot.app)
        stop.stop(folder, QUICK, by="test")
        await wait_for(pilot, lambda: "stopped" in screen(pilot.app), "its end")


async def test_a_stop_is_brought_to_its_end_where_the_supervisor_dies_at_it(app, start):
    """The request was dropped: the run trained on, and was told as lost in the end."""
    async with app().run_test(size=SMALL) as pilot:
        folder = start(STUBBORN)
        await wait_for(pilot, lambda: "tick" in folder.output.read_text(), "its deafness")
        await opened(pilot, folder, "watch")
        started = read_started(folder)
        await pilot.press("x")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Question), "the question")
        await pilot.press("tab", "enter")
        await wait_for(pilot, lambda: status(folder).state == "stopping", "its stopping")
        os.kill(started.supervisor[0], signal.SIGKILL)
        records.write_record(folder.path / "stop.json", {"grace": {"interrupt": 0.1, "terminate": 0.2}})
        await wait_for(pilot, lambda: status(folder).state == "stopped", "its end")
        assert not proctree.is_alive(started.leader)
