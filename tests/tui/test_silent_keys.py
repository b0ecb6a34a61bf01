"""Keys that can do nothing with what is shown say why: none is silent, neither typed nor clicked."""

from __future__ import annotations

import pytest

from prl_tui.tui.widgets.key_line import KeyLine
from tests.tui.driving import configure, lines, sees, wait_for
from tests.tui.test_runs_and_watch import over, runs_screen, start, told, watch

__all__ = ["start"]


def last(pilot):
    return lines(pilot.app)[-1]


async def says(pilot, words):
    await wait_for(pilot, lambda: told(pilot.app, words), words)


async def test_fix_says_that_nothing_has_a_way_out_typed_and_clicked(app):
    async with app().run_test(size=(120, 40)) as pilot:
        place = await configure(pilot)
        assert place.session.verdict.first_fix is None
        assert place.session.verdict.here, "a box without GPUs: found, and no change of fields mends it"
        await pilot.press("f")
        await says(pilot, "Nothing that was found here has a way out")
        pilot.app.clear_notifications()
        await wait_for(pilot, lambda: "f fix" in last(pilot), "the keys")
        await pilot.click(KeyLine, offset=(last(pilot).index("f fix") + 1, 0))
        await says(pilot, "Nothing that was found here has a way out")


async def test_fix_on_a_sound_config_says_that_there_is_nothing_to_fix(app):
    async with app("demo", "two-ranks").run_test(size=(120, 40)) as pilot:
        place = await configure(pilot)
        assert not [*place.session.verdict.report.findings, *place.session.verdict.here]
        await pilot.press("f")
        await says(pilot, "There is nothing to fix.")


async def test_the_palette_lists_no_fix_where_there_is_none(app):
    async with app().run_test(size=(120, 40)) as pilot:
        place = await configure(pilot)
        assert "fix" not in [one.title for one in pilot.app.get_system_commands(place)]
        place.form.go_to("num_generations")
        await pilot.press("3", "enter")
        assert "fix" in [one.title for one in pilot.app.get_system_commands(place)]


async def test_formats_of_a_preview_that_is_not_in_sight_are_told(app):
    async with app().run_test(size=(80, 24)) as pilot:
        await configure(pilot)
        await pilot.press("right_square_bracket")
        await says(pilot, "v shows it")


async def test_enter_in_an_empty_list_of_runs_is_told(app):
    async with app().run_test(size=(80, 24)) as pilot:
        await configure(pilot)
        place = await runs_screen(pilot)
        await sees(pilot, "There are no runs yet")
        assert place.focused is place.rows
        await pilot.press("enter")
        await says(pilot, "There are no runs yet")


@pytest.mark.parametrize("key", ["right_square_bracket", "left_square_bracket", "right_curly_bracket"])
async def test_another_log_where_there_is_one_only_is_told_and_not_offered(app, start, key):
    async with app().run_test(size=(160, 45)) as pilot:
        folder = start("print('here')")
        place = await watch(pilot, folder)
        await wait_for(pilot, lambda: over(folder) and "/ find" in last(pilot), "the end")
        assert not place.offers("tab")
        assert "[ ] log" not in last(pilot)
        await pilot.press(key)
        await says(pilot, "There is no other log here.")


@pytest.mark.parametrize("size", [(80, 24), (160, 45)])
async def test_the_keys_of_the_form_bring_it_into_sight_from_the_verdict(app, size):
    """README's table gives them for the whole place."""
    async with app("demo", "two-ranks").run_test(size=size) as pilot:
        place = await configure(pilot)
        place.form.go_to("global_batch_size")
        await pilot.press("8", "enter")
        await wait_for(pilot, lambda: place.session.config.value("global_batch_size") == 8, "what was typed")
        for key in "ax":
            everything = place.form._all
            await pilot.press("d")
            place.verdict.focus()
            await wait_for(pilot, lambda: not place.form.has_focus, "the other pane")
            await pilot.press(key)
            await wait_for(pilot, lambda: place.form.has_focus and place.form.size.height, "the form")
            if key == "a":
                await wait_for(pilot, lambda was=everything: place.form._all != was, "all settings")
        await wait_for(pilot, lambda: place.session.config.value("global_batch_size") == 16, "the preset's value")
