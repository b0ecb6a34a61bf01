"""What `q` asks before settings are gone: judged by whether the app ends, and with what in its session."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events
from textual.widgets import Input

from prl_tui.export.formats import FORMATS, fitting
from prl_tui.machine import paths
from prl_tui.runs.folder import Ended, read_ended
from prl_tui.tui import exporting
from prl_tui.tui.screens.dialogs import AskText, Question
from prl_tui.tui.screens.runs import RunsScreen
from prl_tui.tui.screens.watch import WatchScreen
from prl_tui.tui.session import Session
from tests.tui.driving import configure, screen, wait_for
from tests.tui.test_runs_and_watch import over, start

__all__ = ["start"]

SMALL, WIDE = (80, 24), (160, 45)
LINGERS = {"a dialog": 0.2, "changed settings": 0.2, "a search": 60, "the wheel": 60}


def shown(pilot):
    return " ".join(screen(pilot.app).split())


def wheel(screen):
    """One notch of a mouse's wheel, as the terminal's driver gives it to the app."""
    return events.MouseScrollDown(screen, 5, 5, 0, 0, 0, False, False, False, 5, 5)


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


def test_it_counts_what_the_form_and_saving_count(recipes):
    """After a look at another preset the question named fields that nobody had changed; it counted what only follows."""
    session = Session.begin(recipes, "demo", "two-ranks")
    session.choose("demo", "long")
    session.undo()
    assert session.unkept == ()
    for recipe, preset, key, text in (
        ("minionerec-sft", "eight-gpu", "category", "Office_Products"),
        ("prl-grpo", "standard-4gpu", "per_device_train_batch_size", "8"),
    ):
        session = Session.begin(recipes, recipe, preset)
        session.set_text(key, text)
        assert session.unkept == session.config.changed() == (key,)
    session = Session.begin(recipes, "safe-mm-dpo", "eight-gpu")
    session.set_text("max_grad_norm", "1")
    assert session.unkept == session.config.changed() == ()


def test_what_was_kept_once_stays_kept_when_one_comes_back_to_it(recipes):
    session = Session.begin(recipes, "demo", "two-ranks")
    session.set_text("global_batch_size", "32")
    session.finish_typing()
    session.keep(session.config, Path("/somewhere/x.sh"))
    session.set_text("global_batch_size", "64")
    session.finish_typing()
    assert session.unkept == ("global_batch_size",)
    session.undo()
    assert session.unkept == (), "the file has it"
    session.undo()
    assert session.unkept == (), "the preset has it"


def test_an_overwritten_file_and_a_deleted_run_keep_nothing_any_more(recipes):
    session = Session.begin(recipes, "demo", "two-ranks")
    file, run = Path("/somewhere/x.sh"), Path("/runs/abc")
    session.set_text("global_batch_size", "32")
    session.finish_typing()
    session.keep(session.config, file)
    session.set_text("global_batch_size", "64")
    session.finish_typing()
    session.keep(session.config, file)
    session.undo()
    assert session.unkept == ("global_batch_size",), "64 took its place"
    session.keep(session.config, run)
    assert session.unkept == ()
    session.forget(run)
    assert session.unkept == ("global_batch_size",)


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


@pytest.mark.parametrize("name", [name for name, one in FORMATS.items() if not one.whole])
async def test_a_file_without_the_settings_keeps_none(app, name):
    async with app("minionerec-rl", "four-gpu").run_test(size=WIDE) as pilot:
        session = (await configure(pilot)).session
        session.set_text("learning_rate", "5e-6")
        made = FORMATS[name](session.verdict.plan)
        assert exporting._put(pilot.app, name, paths.here() / "some.file", made) == ""
        assert session.unkept == ("learning_rate",)
        whole = FORMATS["bash"](session.verdict.plan)
        assert exporting._put(pilot.app, "bash", paths.here() / "some.sh", whole) == ""
        assert session.unkept == ()


@pytest.mark.parametrize(
    ("recipe", "preset", "key", "text"),
    [
        ("minionerec-rl", "four-gpu", "learning_rate", "5.125e-6"),
        ("reward-model", "helpful-8gpu", "num_epochs", "7"),
        ("safe-mm-dpo", "eight-gpu", "learning_rate", "0.001953"),
        ("swift-sft", "lora-4gpu", "workdir", "/some/where/else"),
    ],
)
def test_the_formats_that_have_all_settings_say_a_changed_one(recipes, recipe, preset, key, text):
    """What `whole` promises, of every format that fits; a command lacks what stands in a file or around it."""
    session = Session.begin(recipes, recipe, preset)
    before = session.verdict.plan
    session.set_text(key, text)
    plan = session.verdict.plan
    changed = {name for name in fitting(plan) if FORMATS[name](plan).text != FORMATS[name](before).text}
    whole = {name for name in fitting(plan) if FORMATS[name].whole}
    assert {"bash", "toml", "env"} <= whole <= changed


@pytest.mark.parametrize("kept_open", LINGERS)
async def test_a_demo_does_not_close_over_an_open_question_or_changed_settings(app, start, monkeypatch, kept_open):
    monkeypatch.setattr("prl_tui.tui.screens.watch.LINGER", LINGERS[kept_open])
    go = paths.runs_dir().parent / "go"
    folder = start(f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.05)")
    one = app("demo", "two-ranks", watch=folder, leave_when_done=True)
    async with one.run_test(size=SMALL) as pilot:
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, WatchScreen), "the watch screen")
        if kept_open == "a dialog":
            await pilot.press("question_mark")
            await wait_for(pilot, lambda: not isinstance(pilot.app.screen, WatchScreen), "the help")
        elif kept_open == "changed settings":
            pilot.app.session.set_text("max_steps", "7")
        elif kept_open == "a search":
            await pilot.press("slash")
        go.touch()
        await wait_for(pilot, lambda: over(folder), "the end")
        if kept_open in {"a search", "the wheel"}:
            await wait_for(pilot, lambda: "closing in" in shown(pilot), "that it would close")
            if kept_open == "a search":
                await pilot.press("a")
            else:
                pilot.app.post_message(wheel(pilot.app.screen))
        await wait_for(pilot, lambda: pilot.app.leaves_after is None, "that it stays open")
        await pilot.pause(0.5)
        assert not pilot.app._exit


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
