"""Every action by name, under keys that come faster than the list is drawn."""

from __future__ import annotations

import asyncio

import pytest
from textual import events
from textual.widgets import Input

from prl_tui import i18n
from prl_tui.core.findings import Facts
from prl_tui.machine import paths
from prl_tui.tui.palette import ActionList, Palette
from prl_tui.tui.screens.configure import ConfigureScreen
from prl_tui.tui.screens.runs import RunsScreen
from tests.tui.driving import click_text, configure, screen, sees, type_text, wait_for

SMALL = (80, 24)


def typed(pilot):
    return next((one.value for one in pilot.app.screen.query(Input) if isinstance(pilot.app.screen, Palette)), None)


@pytest.mark.parametrize("key", ["colon", "ctrl+p"])
async def test_the_palette_opens_and_escape_leaves_it(app, key):
    async with app().run_test(size=SMALL) as pilot:
        place = await configure(pilot)
        await pilot.press(key)
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Palette), "the palette")
        await pilot.press("escape")
        await wait_for(pilot, lambda: pilot.app.screen is place, "the place again")


async def test_a_part_of_the_name_and_enter_do_it(app):
    async with app().run_test(size=SMALL) as pilot:
        place = await configure(pilot)
        await pilot.press("colon")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Palette), "the palette")
        await pilot.press(*"go run")
        await wait_for(pilot, lambda: "go: runs" in screen(pilot.app), "the action")
        await pilot.press("enter")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, RunsScreen), "the runs")
        assert place.session is pilot.app.session


async def test_a_click_does_it_and_nothing_fits_is_said(app):
    async with app().run_test(size=SMALL) as pilot:
        await configure(pilot)
        await pilot.press("ctrl+p")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Palette), "the palette")
        await pilot.press(*"xyzzy", "enter")
        await wait_for(pilot, lambda: "nothing here has that name" in screen(pilot.app), "the sentence")
        await pilot.press(*["backspace"] * 5, *"go run")
        await wait_for(pilot, lambda: "go: runs" in screen(pilot.app), "the action")
        await click_text(pilot, pilot.app.screen.query_one("#actions"), "go: runs")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, RunsScreen), "the runs")


@pytest.mark.parametrize("filtered", ["", "f", "quit"])
async def test_enter_held_down_chooses_once(app, filtered):
    """With Textual 8.2's own palette five of them popped the places too: ScreenStackError."""
    async with app().run_test(size=SMALL) as pilot:
        await configure(pilot)
        await pilot.press("colon")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Palette), "the palette")
        await pilot.press(*filtered)
        await asyncio.sleep(0.3)
        for _ in range(6):
            pilot.app.simulate_key("enter")
        for _ in range(20):
            await asyncio.sleep(0.02)
        if filtered != "quit":
            assert len(pilot.app.screen_stack) >= 2, screen(pilot.app)
    assert pilot.app._exception is None


async def test_pages_are_turned_in_a_list_that_is_not_laid_out_yet(app):
    async with app().run_test(size=SMALL) as pilot:
        await configure(pilot)
        await pilot.press("colon")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Palette), "the palette")
        for key in ("down", "x", "pageup", "pagedown", "backspace", "pageup", "down", "pageup", "pagedown"):
            pilot.app.simulate_key(key)
            await asyncio.sleep(0)
        await asyncio.sleep(0.4)
        await pilot.press("escape")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, ConfigureScreen), "the place again")


async def test_what_a_recipes_form_sends_late_changes_no_other_recipe(app):
    async with app().run_test(size=SMALL) as pilot:
        session = (await configure(pilot)).session
        session.choose("demo", "two-ranks")
        before = session.config
        session.set_text("num_generations", "3")
        session.reset("num_generations")
        session.apply({"num_generations": 2})
        assert session.config is before


async def test_what_the_box_knows_of_one_recipes_files_is_not_asked_of_another(app):
    async with app().run_test(size=SMALL) as pilot:
        session = (await configure(pilot)).session
        session.choose("minionerec-sft", "four-gpu")
        session.facts = Facts(found={"train_file": ("a.csv", "b.csv")})
        assert any(finding.code == "file-pattern" for finding in session.verdict.here)
        session.choose("demo", "two-ranks")
        assert session.facts is None
        assert session.verdict.here == ()


async def test_clicks_beside_it_close_it_once(app):
    async with app().run_test(size=SMALL) as pilot:
        place = await configure(pilot)
        await pilot.press("colon")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Palette), "the palette")
        palette = pilot.app.screen
        for _ in range(3):
            palette.answer(None)
        await wait_for(pilot, lambda: pilot.app.screen is place, "the place again")
        await asyncio.sleep(0.2)
        assert pilot.app.screen is place


async def test_a_preset_is_found_by_a_part_of_its_name(app):
    async with app().run_test(size=SMALL) as pilot:
        place = await configure(pilot)
        await pilot.press("colon")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Palette), "the palette")
        await pilot.press(*"grpo quick-t")
        await wait_for(pilot, lambda: "preset prl-grpo/quick-test" in screen(pilot.app), "the preset")
        await pilot.press("enter")
        await wait_for(pilot, lambda: place.session.config.preset == "quick-test", "its values in the form")
        await wait_for(pilot, lambda: "prl-grpo/quick-test" in screen(pilot.app), "its name on the screen")


async def test_a_preset_is_found_from_another_place_too(app):
    async with app().run_test(size=SMALL) as pilot:
        await configure(pilot)
        pilot.app.action_go("runs")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, RunsScreen), "the runs")
        await pilot.press("colon")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Palette), "the palette")
        await pilot.press(*"grpo quick-t")
        await wait_for(pilot, lambda: "preset prl-grpo/quick-test" in screen(pilot.app), "the preset")
        await pilot.press("enter")
        place = await configure(pilot)
        assert place.session.config.preset == "quick-test"


@pytest.mark.parametrize("size", [(80, 24), (160, 45)])
async def test_a_preset_is_found_by_its_name_from_the_list_of_presets(app, size):
    async with app().run_test(size=size) as pilot:
        place = await configure(pilot)
        await pilot.press("p", "slash")
        await wait_for(pilot, lambda: "a preset by name" in screen(pilot.app), "the question")
        await type_text(pilot, "prl standard-4")
        await pilot.press("enter")
        await wait_for(pilot, lambda: place.session.config.preset == "standard-4gpu", "the preset")
        assert place.session.config.recipe.name == "prl-grpo"
        await wait_for(pilot, lambda: place.form.has_focus, "the form again")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("name", "preset"),
    [
        ("ms-swift", "swift-dpo/lora-1gpu"),
        ("强化", "minionerec-rl/eight-gpu"),
        ("minionerec 快", ""),
        ("快速测试", "prl-grpo/quick-test"),
        ("high throughput", "prl-grpo/high-throughput-4gpu"),
    ],
)
async def test_a_preset_is_found_by_its_heading_and_its_title_in_either_language(app, language, name, preset):
    i18n.set_language(language)
    try:
        async with app("demo", "two-ranks").run_test(size=SMALL) as pilot:
            await configure(pilot)
            await pilot.press("p", "slash")
            await wait_for(pilot, lambda: isinstance(pilot.app.screen, Palette), "the presets")
            await type_text(pilot, name)
            await wait_for(pilot, lambda: typed(pilot) == name, "the text")
            found = pilot.app.screen.query_one(ActionList).actions
            assert bool(found) is bool(preset)
            assert not preset or found[0].title.partition(" ")[2] == preset
    finally:
        i18n.set_language("en")


async def test_what_has_the_words_in_its_name_comes_first(app):
    async with app().run_test(size=SMALL) as pilot:
        await configure(pilot)
        await pilot.press("colon")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Palette), "the palette")
        rows = pilot.app.screen.query_one(ActionList)
        rows.narrow("quick")
        assert [one.title for one in rows.actions] == ["preset prl-grpo/quick-test"]
        rows.narrow("test")
        titles = [f"{one.title} {one.help}" for one in rows.actions]
        assert ["test" in title for title in titles] == sorted(("test" in title for title in titles), reverse=True)


@pytest.mark.parametrize("size", [(80, 24), (160, 45)])
@pytest.mark.parametrize(("name", "preset"), [("long", "demo/long"), ("prl standard-4", "prl-grpo/standard-4gpu")])
async def test_a_name_typed_into_the_list_of_presets_finds_one_and_begins_nothing(app, size, name, preset):
    """`long` launched what was in the form; `prl` went on with the next recipe."""
    async with app("demo", "two-ranks").run_test(size=size) as pilot:
        place = await configure(pilot)
        await pilot.press("p")
        await type_text(pilot, name)
        await wait_for(pilot, lambda: typed(pilot) == name, "the presets by what was typed")
        assert (place.session.config.recipe.name, place.session.config.preset) == ("demo", "two-ranks")
        assert place.session.probe is None
        await sees(pilot, f"preset {preset}")
        await pilot.press("enter")
        await wait_for(pilot, lambda: place.session.config.preset == preset.split("/")[1], "the preset")
        await wait_for(pilot, lambda: place.form.has_focus, "the form again")
        assert list(paths.runs_dir().glob("*")) == []


@pytest.mark.parametrize("size", [(80, 24), (160, 45)])
async def test_every_letter_of_the_form_and_any_script_begins_a_name_in_the_list_of_presets(app, size):
    async with app("demo", "two-ranks").run_test(size=size) as pilot:
        place = await configure(pilot)
        before = place.session.config
        await pilot.press("p")
        for key in (*"lLtTfesrxuapvdRw8", "中"):
            await wait_for(pilot, lambda: place.presets.has_focus, "the list")
            pilot.app.post_message(events.Key(key, key))
            await wait_for(pilot, lambda k=key: typed(pilot) == k, f"the presets by name after {key}")
            await pilot.press("escape")
            await wait_for(pilot, lambda: pilot.app.screen is place, "the list again")
        assert place.session.config is before
        await pilot.press("j")
        await wait_for(pilot, lambda: place.presets.pointed == "demo/long", "down, as in every list")
        await pilot.press("escape")
        await wait_for(pilot, lambda: place.form.has_focus, "the form")
        await pilot.press("r")
        await wait_for(pilot, lambda: place.session.config.recipe.name != "demo", "its keys again")
