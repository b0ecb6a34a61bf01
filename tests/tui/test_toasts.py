"""Notices: one of a kind in sight. Judged by Textual's own toasts, as they are drawn."""

from __future__ import annotations

import errno
import threading

import pytest
from textual.widgets._toast import Toast

from prl_tui.runs import stacks
from prl_tui.tui import examining
from prl_tui.tui.screens.dialogs import Help
from tests.tui.driving import configure, screen, wait_for
from tests.tui.test_runs_and_watch import WAIT, start, told, watch

__all__ = ["start"]


def drawn(pilot):
    """The notices on the screen, in order."""
    return [toast._notification.message for toast in pilot.app.screen.query(Toast) if toast.region.height]


async def test_a_refused_key_that_is_pressed_five_times_says_why_once(app):
    async with app().run_test(size=(80, 24), notifications=True) as pilot:
        await configure(pilot)
        await pilot.press("w")
        await wait_for(pilot, lambda: drawn(pilot) == ["There are no runs yet"], "the sentence")
        await pilot.press(*"wwww")
        await pilot.pause()
        assert drawn(pilot) == ["There are no runs yet"]
        assert screen(pilot.app).count("There are no runs yet") == 1


async def test_equal_notices_of_one_moment_are_one_and_others_are_not(app):
    async with app().run_test(size=(80, 24), notifications=True) as pilot:
        await configure(pilot)
        for _ in range(3):
            pilot.app.tell("saved")
            pilot.app.tell("saved", "error")
            pilot.app.tell("copied")
        await wait_for(pilot, lambda: drawn(pilot) == ["saved", "saved", "copied"], "three of them")


async def test_a_notice_that_is_about_to_go_begins_anew(app):
    async with app().run_test(size=(80, 24), notifications=True) as pilot:
        await configure(pilot)
        pilot.app.tell("saved")
        (old,) = await wait_for(pilot, lambda: told(pilot.app, "saved"), "the notice")
        old.raised_at -= old.timeout - 1.0
        pilot.app.tell("saved")
        await wait_for(pilot, lambda: [one for one in told(pilot.app, "saved") if one.time_left > 4], "its time anew")
        await wait_for(pilot, lambda: drawn(pilot) == ["saved"], "one of them")


async def test_a_notice_that_was_clicked_away_comes_again(app):
    async with app().run_test(size=(80, 24), notifications=True) as pilot:
        await configure(pilot)
        pilot.app.tell("saved")
        await wait_for(pilot, lambda: drawn(pilot) == ["saved"], "the notice")
        await pilot.click(Toast)
        await wait_for(pilot, lambda: not drawn(pilot), "nothing")
        pilot.app.tell("saved")
        await wait_for(pilot, lambda: drawn(pilot) == ["saved"], "the notice again")


async def test_what_was_announced_does_not_lie_over_what_came(app):
    async with app().run_test(size=(80, 24), notifications=True) as pilot:
        await configure(pilot)
        pilot.app.tell("saved")
        examining.show(pilot.app)
        await wait_for(pilot, lambda: len(drawn(pilot)) == 2, "the announcement")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Help), "what the box says", 60)
        await wait_for(pilot, lambda: drawn(pilot) == ["saved"], "the other notice alone")


@pytest.mark.parametrize("fails", [False, True])
async def test_what_was_awaited_is_not_said_any_more_once_it_is_there(app, fails):
    """“Looking at run …” lay for seconds over the question that it had announced."""
    go = threading.Event()

    def work():
        go.wait(30)
        if fails:
            raise PermissionError(errno.EACCES, "no")

    async with app().run_test(size=(80, 24), notifications=True) as pilot:
        await configure(pilot)
        pilot.app.beside.do("work", work, awaited="Looking …")
        (one,) = await wait_for(pilot, lambda: told(pilot.app, "Looking …"), "what is awaited")
        one.raised_at += 600
        go.set()
        await wait_for(pilot, lambda: not told(pilot.app, "Looking …"), "that it is taken back")
        await wait_for(pilot, lambda: bool(told(pilot.app, "Cannot be read")) is fails, "the fault, if there is one")


async def test_stacks_that_cannot_be_read_take_back_that_they_are_read(app, start, monkeypatch):
    go = threading.Event()

    def read(folder):
        go.wait(30)
        raise stacks.StacksError("py-spy may not look")

    monkeypatch.setattr(stacks, "program", lambda folder: "py-spy")
    monkeypatch.setattr(stacks, "read", read)
    async with app().run_test(size=(80, 24), notifications=True) as pilot:
        await watch(pilot, start(WAIT))
        await pilot.press("S")
        (one,) = await wait_for(pilot, lambda: told(pilot.app, "Reading the stacks"), "the announcement")
        one.raised_at += 600
        go.set()
        await wait_for(pilot, lambda: told(pilot.app, "py-spy may not look"), "why not")
        assert not told(pilot.app, "Reading the stacks")
