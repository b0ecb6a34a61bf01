"""The last line: which keys it has, what a click does, what stays where there is little room."""

from __future__ import annotations

import pytest

from prl_tui.runs import bare, stop
from prl_tui.tui.palette import Palette
from prl_tui.tui.screens.runs import RunsScreen
from prl_tui.tui.widgets.key_line import KeyLine
from tests.tui.driving import configure, lines, screen, sees, text_of, wait_for
from tests.tui.test_runs_and_watch import over, runs_screen, start, told, watch

__all__ = ["start"]


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


@pytest.mark.parametrize("size", [(80, 24), (160, 45)])
async def test_the_presets_say_what_chooses_one_and_what_finds_one(app, size):
    async with app().run_test(size=size) as pilot:
        place = await configure(pilot)
        await pilot.press("p")
        keys = "⏎ start from it  / find  esc back  ? help  q quit"
        await wait_for(pilot, lambda: last(pilot).strip() == keys, "the presets' own keys")
        await sees(pilot, "type a name to find it")
        assert "p presets" not in screen(pilot.app)
        await pilot.click(KeyLine, offset=(last(pilot).index("/ find") + 1, 0))
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Palette), "the presets by name")
        await pilot.press("escape")
        await wait_for(pilot, lambda: pilot.app.screen is place and place.presets.has_focus, "the list")
        await pilot.press("escape")
        await wait_for(pilot, lambda: "p presets" in last(pilot), "the form's keys")
        assert "start from it" not in last(pilot)


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
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, RunsScreen) and "c configure" in last(pilot), "runs")
        assert "v preview" not in last(pilot)


async def test_an_ended_run_offers_no_stop_and_the_key_says_why(app, start):
    async with app().run_test(size=(160, 45)) as pilot:
        folder = start("import time\nprint('here', flush=True)\nwhile True: time.sleep(0.05)")
        await watch(pilot, folder)
        await wait_for(pilot, lambda: "x stop" in last(pilot), "stop, while it runs")
        assert "d cause" not in last(pilot), "nothing has failed"
        stop.stop(folder, stop.Grace(interrupt=0.0, terminate=0.1), by="test")
        await wait_for(pilot, lambda: over(folder) and "x stop" not in last(pilot), "no stop any more")
        await wait_for(pilot, lambda: not pilot.app.screen.offers("stacks"), "that it is told as ended")
        assert {"stop", "stacks"}.isdisjoint(one.title for one in pilot.app.get_system_commands(pilot.app.screen))
        await pilot.press("x")
        await wait_for(pilot, lambda: told(pilot.app, "has ended already"), "why")


async def test_the_list_offers_what_can_be_done_with_the_run_under_the_cursor(app, start):
    async with app().run_test(size=(160, 45)) as pilot:
        ended = start("print('done')")
        await wait_for(pilot, lambda: over(ended), "its end")
        living = start("import time\nwhile True: time.sleep(0.05)")
        place = await runs_screen(pilot)
        await wait_for(pilot, lambda: place.rows.runs and place.rows.runs[0].id == living.id, "both runs")
        await wait_for(
            pilot, lambda: "x stop" in last(pilot) and "D delete" not in last(pilot), "the living one's keys"
        )
        await pilot.press("D")
        await wait_for(pilot, lambda: told(pilot.app, "is alive; stop it first"), "why")
        await pilot.press("down")
        await wait_for(pilot, lambda: "D delete" in last(pilot) and "x stop" not in last(pilot), "the ended one's keys")
        assert "m changes" not in last(pilot), "the first of its recipe"
        assert "⏎ watch" in last(pilot)
        await pilot.press("m")
        await wait_for(pilot, lambda: told(pilot.app, "is the first of its recipe"), "why")


async def test_an_empty_list_offers_the_way_on_only(app):
    async with app().run_test(size=(160, 45)) as pilot:
        place = await runs_screen(pilot)
        await wait_for(pilot, lambda: not place.rows.waiting, "the list")
        await wait_for(pilot, lambda: last(pilot).split()[0] == "c", "nothing of a run")
        await pilot.press("x")
        await wait_for(pilot, lambda: told(pilot.app, "There are no runs yet"), "why")


async def test_a_log_that_nobody_here_started_offers_what_a_log_can(app, tmp_path):
    (tmp_path / "night.log").write_text("one line\n")
    async with app().run_test(size=(160, 45)) as pilot:
        await watch(pilot, bare.find(str(tmp_path / "night.log"), tmp_path))
        await wait_for(pilot, lambda: "/ find" in last(pilot) and pilot.app.screen._one, "its keys")
        assert not {"stop", "cause", "[ ]"} & set(last(pilot).split())
        health = text_of(pilot.app.screen.query_one("#health"))
        assert health.strip() == "· no training step in its log so far   · prl-tui did not start it: read only"
        titles = [one.title for one in pilot.app.get_system_commands(pilot.app.screen)]
        assert {"stop", "stacks", "changes", "the full run"}.isdisjoint(titles)
        for key, why in (("x", "cannot be stopped"), ("S", "prl-tui did not start this"), ("d", "No error lines here")):
            await pilot.press(key)
            await wait_for(pilot, lambda why=why: told(pilot.app, why), why)
