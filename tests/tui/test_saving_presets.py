"""Saving over a preset that is there: judged by the files of the person's own before and after."""

from __future__ import annotations

import pytest
from textual.widgets import Input

from prl_tui.core import catalog
from prl_tui.machine import paths
from prl_tui.tui.app import PrlApp
from prl_tui.tui.screens.dialogs import AskText, Question
from prl_tui.tui.session import Session
from tests.tui.driving import configure, screen, wait_for

SMALL = (80, 24)
HEAD = 'schema = 1\nextends = "prl-grpo"\n'
MINE = (
    f"{HEAD}# for one card\n[presets.mine.values]\nnum_generations = 4\n\n[presets.mine2.values]\nnum_generations = 2\n"
)


def own(name, text):
    file = paths.config_dir() / "presets" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def app(preset):
    """The app on a preset, built-in or in a file of one's own."""
    recipes = catalog.load([paths.config_dir() / "presets"], only="prl-grpo")
    return PrlApp(recipes, session=Session.begin(recipes, "prl-grpo", preset))


async def asked(pilot):
    """The field of the dialog for the name."""
    await wait_for(pilot, lambda: isinstance(pilot.app.screen, AskText), "the dialog")
    field = pilot.app.screen.query_one(Input)
    await wait_for(pilot, lambda: field.has_focus, "its field")
    return field


def said(pilot):
    return " ".join(screen(pilot.app).replace("│", " ").split())


def notices(pilot):
    return "\n".join(one.message for one in pilot.app._notifications)


async def test_another_preset_of_ones_own_is_replaced_after_a_yes_alone():
    file = own("prl-grpo.toml", MINE)
    async with app("mine").run_test(size=SMALL, notifications=True) as pilot:
        place = await configure(pilot)
        place.session.set_text("num_generations", "8")
        await pilot.press("s")
        (await asked(pilot)).value = "mine2"
        await pilot.press("enter")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Question), "the question")
        await wait_for(pilot, lambda: "1 value differs. Replace it?" in said(pilot), "what is asked")
        assert "num_generations: 2 → 8" in said(pilot)
        await pilot.press("enter")
        await wait_for(pilot, lambda: pilot.app.screen is place, "the form again")
        assert file.read_text() == MINE
        assert place.session.config.number("num_generations") == 8, "nothing is lost in the form either"
        await pilot.press("s")
        (await asked(pilot)).value = "mine2"
        await pilot.press("enter")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Question), "the question again")
        await pilot.press("y")
        await wait_for(pilot, lambda: "replaced: num_generations: 2 → 8" in notices(pilot), "the notice")
        assert file.read_text() == MINE.replace("num_generations = 2", "num_generations = 8")
        assert pilot.app.session.config.preset == "mine2"


async def test_the_open_preset_is_offered_and_saved_where_it_lives_without_a_question():
    file = own("mine.toml", MINE.replace("mine.values", "my-4gpu.values"))
    before = file.read_text()
    async with app("my-4gpu").run_test(size=SMALL, notifications=True) as pilot:
        place = await configure(pilot)
        place.session.set_text("num_generations", "8")
        await pilot.press("s")
        field = await asked(pilot)
        assert (field.value, field.selected_text) == ("my-4gpu", "my-4gpu")
        assert "mine.toml" in said(pilot).replace(" ", "")
        await pilot.press("enter")
        await wait_for(pilot, lambda: "replaced: num_generations: 4 → 8" in notices(pilot), "what it replaced")
        assert file.read_text() == before.replace("num_generations = 4", "num_generations = 8")
        assert list(file.parent.iterdir()) == [file]


async def test_a_built_in_preset_is_not_offered():
    async with app("standard-4gpu").run_test(size=SMALL) as pilot:
        place = await configure(pilot)
        place.session.set_text("num_generations", "8")
        await pilot.press("s")
        assert (await asked(pilot)).value == ""


@pytest.mark.parametrize("text", ["presets = 3", "presets = []", "[[presets]]\nmine = 3"])
async def test_a_file_whose_presets_are_something_else_is_one_sentence_and_what_was_typed_stays(text):
    file = own("prl-grpo.toml", f"{HEAD}{text}\n")
    async with app("standard-4gpu").run_test(size=SMALL, notifications=True) as pilot:
        place = await configure(pilot)
        place.session.set_text("num_generations", "8")
        await pilot.press("s")
        (await asked(pilot)).value = "other"
        await pilot.press("enter")
        await wait_for(pilot, lambda: "change presets.other in an editor" in said(pilot), "the sentence")
        assert place.session.config.number("num_generations") == 8
    assert file.read_text() == f"{HEAD}{text}\n"


@pytest.mark.parametrize("size", [SMALL, (160, 45)])
async def test_the_cursor_stays_at_its_field_so_that_what_is_typed_next_is_for_that_one(size):
    """A newcomer's `s`, a name, and digits changed the first field of the form."""
    async with app("standard-4gpu").run_test(size=size, notifications=True) as pilot:
        place = await configure(pilot)
        place.form.go_to("max_completion_length")
        await pilot.press("3", "2", "enter", "s")
        (await asked(pilot)).value = "third"
        await pilot.press("enter")
        await wait_for(pilot, lambda: "saved prl-grpo/third" in notices(pilot), "it is saved")
        after = await configure(pilot)
        assert after is not place
        assert after.form.key == "max_completion_length"
        assert 0 <= after.form.cursor - after.form.scroll_offset.y < after.form.size.height
        await pilot.press("6", "4", "enter")
        await wait_for(
            pilot, lambda: after.session.config.text("max_completion_length") == "64", "the field's new value"
        )
        assert after.session.config.changed() == ("max_completion_length",)
