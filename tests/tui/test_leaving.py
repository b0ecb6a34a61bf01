"""What `q` asks before settings are gone: judged by whether the app ends, and with what in its session."""

from __future__ import annotations

import pytest
from textual.widgets import Input

from prl_tui.machine import paths
from prl_tui.runs.folder import Ended, read_ended
from prl_tui.tui.screens.dialogs import AskText, Question
from prl_tui.tui.screens.runs import RunsScreen
from tests.tui.driving import configure, screen, wait_for

SMALL, WIDE = (80, 24), (160, 45)


def shown(pilot):
    return " ".join(screen(pilot.app).split())


def asks(pilot):
    return isinstance(pilot.app.screen, Question)


@pytest.fixture
def changed(app):
    """An app whose form says 8 generations where its preset says 4, with a finding that a person may be looking at."""

    async def make(pilot):
        place = await configure(pilot)
        place.session.set_text("num_generations", "8")
        place.update()
        return place.session

    return make


@pytest.mark.parametrize("size", [WIDE, SMALL])
async def test_changed_settings_are_asked_about_before_they_are_gone(app, changed, size):
    async with app().run_test(size=size) as pilot:
        session = await changed(pilot)
        await pilot.press("q")
        await wait_for(pilot, lambda: asks(pilot), "the question")
        said = shown(pilot)
        assert "1 changed setting is kept nowhere" in said
        assert "num_generations" in said
        await pilot.press("enter")
        await wait_for(pilot, lambda: not asks(pilot), "the safe answer")
        assert pilot.app.is_running
        assert session.config.text("num_generations") == "8"
        await pilot.press("q")
        await wait_for(pilot, lambda: asks(pilot), "the question again")
        await pilot.press("y")
        await wait_for(pilot, lambda: pilot.app._exit, "the end")


async def test_what_was_never_changed_or_was_taken_back_asks_nothing(app, changed):
    for back in ("", "u"):
        async with app().run_test(size=SMALL) as pilot:
            if back:
                await changed(pilot)
                await pilot.press(back)
            else:
                await configure(pilot)
            await pilot.press("q")
            await wait_for(pilot, lambda: pilot.app._exit, "the end")


async def test_another_preset_asks_nothing_and_the_changes_that_undo_brings_back_do(app, changed):
    async with app().run_test(size=WIDE) as pilot:
        session = await changed(pilot)
        session.choose("prl-grpo", "quick-test")
        assert session.unkept == ()
        session.choose("demo", "two-ranks")
        assert session.unkept == ()
        await pilot.press("u")
        await pilot.press("u")
        await wait_for(pilot, lambda: session.config.preset == "standard-4gpu", "the changed one back")
        assert session.unkept == ("num_generations",)
        await pilot.press("q")
        await wait_for(pilot, lambda: asks(pilot), "the question")


async def test_they_are_asked_about_from_another_place_too_and_ctrl_q_asks_nothing(app, changed):
    async with app().run_test(size=SMALL) as pilot:
        await changed(pilot)
        await pilot.press("R")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, RunsScreen), "the runs")
        await pilot.press("q")
        await wait_for(pilot, lambda: asks(pilot), "the question")
        await pilot.press("escape")
        await wait_for(pilot, lambda: not asks(pilot), "the runs again")
        await pilot.press("ctrl+q")
        await wait_for(pilot, lambda: pilot.app._exit, "the end")


async def test_an_exported_file_and_a_saved_preset_keep_them(app, changed):
    for key, name in (("e", "here.sh"), ("s", "mine")):
        async with app().run_test(size=WIDE) as pilot:
            await changed(pilot)
            await pilot.press(key)
            if key == "e":
                await wait_for(pilot, lambda: "bash" in shown(pilot), "the formats")
                await pilot.press("enter")
            await wait_for(pilot, lambda: isinstance(pilot.app.screen, AskText), "the name's dialog")
            pilot.app.screen.query_one(Input).value = name
            await pilot.press("enter")
            file = paths.here() / name if key == "e" else paths.config_dir() / "presets" / "prl-grpo.toml"
            await wait_for(pilot, file.exists, "the file")
            if key == "e":
                await pilot.press("escape")
            await configure(pilot)
            await pilot.press("q")
            await wait_for(pilot, lambda: pilot.app._exit, "the end")


async def test_a_run_that_was_launched_keeps_them(app):
    script = paths.here() / "train.py"
    script.write_text("print('trained')\n")
    async with app("custom", "").run_test(size=WIDE) as pilot:
        session = (await configure(pilot)).session
        for key, text in (("launcher", "python"), ("script", str(script))):
            session.set_text(key, text)
        assert "script" in session.unkept
        pilot.app.launching.launch(session, probe=False)
        await wait_for(pilot, lambda: pilot.app.watched is not None, "the run")
        assert session.unkept == ()
        await wait_for(pilot, lambda: isinstance(read_ended(pilot.app.watched), Ended), "its end")
        await pilot.press("q")
        await wait_for(pilot, lambda: pilot.app._exit, "the end")
