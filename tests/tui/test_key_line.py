"""The last line: which keys it has, what a click does, what stays where there is little room."""

from __future__ import annotations

from prl_tui.tui.screens.runs import RunsScreen
from prl_tui.tui.widgets.key_line import KeyLine
from tests.tui.driving import configure, lines, wait_for


def last(pilot):
    return lines(pilot.app)[-1]


async def test_a_fix_comes_and_goes_with_its_finding(app):
    async with app().run_test(size=(80, 24)) as pilot:
        place = await configure(pilot)
        await wait_for(pilot, lambda: "l launch" in last(pilot), "the keys")
        keys = place.query_one(KeyLine)

        def fix():
            return next(key.enabled for key in keys.fitting() if key.key == "f")

        assert not fix()
        place.form.go_to("num_generations")
        await pilot.press("3")
        await wait_for(pilot, fix, "the fix")
        await pilot.press("enter", "f")
        await wait_for(pilot, lambda: not fix(), "no fix")


async def test_a_click_is_the_key_and_the_pointer_tells_more(app):
    async with app().run_test(size=(80, 24)) as pilot:
        place = await configure(pilot)
        await wait_for(pilot, lambda: "v preview" in last(pilot), "the keys")
        at = last(pilot).index("v preview")
        await pilot.hover(KeyLine, offset=(at, 0))
        assert place.query_one(KeyLine).tooltip == "The exact command, bash and TOML"
        await pilot.click(KeyLine, offset=(at + 3, 0))
        await wait_for(pilot, lambda: place.has_class("-preview"), "the preview")
        await pilot.hover(KeyLine, offset=(79, 0))
        assert place.query_one(KeyLine).tooltip is None


async def test_where_not_all_fit_whole_keys_stay_and_the_way_out_among_them(app):
    async with app().run_test(size=(41, 24)) as pilot:
        await configure(pilot)
        await wait_for(pilot, lambda: last(pilot).rstrip().endswith("? help  q quit"), "the way out")
        kept = last(pilot).rstrip()
        await pilot.resize_terminal(100, 24)
        await wait_for(pilot, lambda: "v preview" in last(pilot), "all keys")
        wide = last(pilot).rstrip()
        assert wide.endswith("? help  q quit")
        assert wide.startswith(kept.removesuffix("? help  q quit"))


async def test_the_line_is_that_of_the_place_on_top(app):
    async with app().run_test(size=(100, 24)) as pilot:
        await configure(pilot)
        await pilot.press("R")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, RunsScreen) and "D delete" in last(pilot), "runs")
        assert "v preview" not in last(pilot)
