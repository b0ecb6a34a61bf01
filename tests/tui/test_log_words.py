"""What the log's keys are called where a person looks for them: placeholders, help, the palette, README."""

from __future__ import annotations

from pathlib import Path

import pytest

from prl_tui.tui.help import watch_help
from prl_tui.tui.palette import ActionList
from tests.tui.driving import lines, screen, sees, wait_for
from tests.tui.test_runs_and_watch import FAILS, over, start, watch

__all__ = ["start"]
README = Path(__file__).parents[2] / "README.md"


@pytest.mark.parametrize("key", ["slash", "f", "F"])
async def test_each_field_that_takes_a_regular_expression_says_so_at_80_columns(app, start, key):
    async with app().run_test(size=(80, 24)) as pilot:
        await watch(pilot, start("print('here')"))
        await pilot.press(key)
        await sees(pilot, "re: begins a regular expression")
        line = next(one for one in screen(pilot.app).split("\n") if "re: begins" in one)
        assert "…" not in line


def test_help_and_readme_say_it_too_and_what_y_copies():
    assert "re:… is a regex" in watch_help()
    assert "copy lines in sight, or one" in watch_help()
    assert "(in all three `re:` begins a regular expression)" in README.read_text()


@pytest.mark.parametrize(("typed", "names"), [
    ("filter", {"only lines with …", "no lines with …", "lines by level"}),
    ("regex", {"only lines with …", "no lines with …", "find"}),
])  # fmt: skip
async def test_the_palette_finds_them_by_what_others_call_them(app, start, typed, names):
    async with app().run_test(size=(160, 45)) as pilot:
        await watch(pilot, start("print('here')"))
        await pilot.press("colon")
        await wait_for(pilot, lambda: pilot.app.screen.query(ActionList), "the palette")
        await pilot.press(*typed)
        await wait_for(
            pilot, lambda: {one.title for one in pilot.app.screen.query_one(ActionList).actions} == names, "those alone"
        )


async def test_the_key_to_the_cause_is_called_so(app, start):
    async with app().run_test(size=(160, 45)) as pilot:
        folder = start(FAILS)
        place = await watch(pilot, folder)
        await wait_for(pilot, lambda: over(folder) and "d cause" in lines(pilot.app)[-1], "the key")
        assert "broke   d cause" in screen(pilot.app)
        assert place.offers("details")


async def test_a_deleted_log_of_a_rank_is_told_as_that(app, start):
    async with app().run_test(size=(80, 24)) as pilot:
        folder = start("print('here')")
        await wait_for(pilot, lambda: over(folder), "its end")
        for rank in "01":
            (folder.ranks / "x" / "attempt_0" / rank).mkdir(parents=True)
        (folder.ranks / "x" / "attempt_0" / "1" / "stdout.log").touch()
        await watch(pilot, folder)
        await sees(pilot, "The log of rank 0 was deleted; “all ranks” has what it wrote.")
        await pilot.press("right_square_bracket")
        await sees(pilot, "Nothing is written yet.")


@pytest.mark.parametrize(("width", "whole"), [(80, False), (160, True)])
async def test_a_long_preset_name_leaves_room_for_the_runs_state(app, start, width, whole):
    name = "a-very-long-preset-name-for-an-experiment-with-many-words"
    code = "import time\nprint({'loss': 0.5, 'step': 7}, flush=True)\ntime.sleep(60)"
    async with app().run_test(size=(width, 24)) as pilot:
        folder = start(code, preset=name)
        await watch(pilot, folder)
        await sees(pilot, "▸ running   step 7")
        line = next(one for one in lines(pilot.app) if "▸ running" in one)
        assert (name in line) is whole
        assert line.rstrip().endswith("step 7"), "no dash for a speed that nobody can tell"
