"""`/` in the list of runs: what fits, how many, and the way back. Records of ended runs, as the store's tests forge them."""

from __future__ import annotations

import pytest

from prl_tui.machine import paths
from prl_tui.runs.folder import RunFolder
from prl_tui.tui.screens.configure import ConfigureScreen
from prl_tui.tui.screens.runs import RunsScreen
from prl_tui.tui.screens.watch import WatchScreen
from prl_tui.tui.widgets.key_line import KeyLine
from prl_tui.tui.widgets.run_list import RunFinder
from tests.runs.helpers import put_smoke, write
from tests.tui.driving import screen, text_of, type_text, wait_for
from tests.tui.test_key_line import last
from tests.tui.test_runs_and_watch import SMALL, WIDE, runs_screen, told

RUNS = {
    "aaaaa1": ("prl-grpo", "standard-4gpu", 0, "/jobs/night-3"),
    "aaaaa2": ("prl-grpo", "small", 1, "/jobs/day"),
    "bbbbb1": ("demo", "two-ranks", 0, "/jobs/day"),
    "bbbbb2": ("demo", "[/INST]", 1, "/jobs/day"),
}


@pytest.fixture
def many():
    """Four ended runs, the first of them the newest."""
    for age, (name, (recipe, preset, code, cwd)) in enumerate(RUNS.items()):
        folder = RunFolder(paths.runs_dir() / name)
        folder.path.mkdir(parents=True)
        began = 1_700_000_000.0 - 100 * age
        place = {"host": "box", "boot_id": "b", "pid_namespace": "n"}
        write(folder, "run", {"created": began, "recipe": recipe, "preset": preset, "cwd": cwd, **place})
        write(folder, "exit", {"exit_code": code, "started": began, "ended": began + 60, "seconds": 60.0})


def ids(place):
    return [one.id for one in place.rows.runs]


@pytest.mark.slow
@pytest.mark.parametrize("size", [SMALL, WIDE])
@pytest.mark.parametrize(
    ("text", "fitting"),
    [
        ("GRPO", ["aaaaa1", "aaaaa2"]),
        ("two-r", ["bbbbb1"]),
        ("failed", ["aaaaa2", "bbbbb2"]),
        ("bbbbb", ["bbbbb1", "bbbbb2"]),
        ("night-3", ["aaaaa1"]),
        ("/jobs/day", ["aaaaa2", "bbbbb1", "bbbbb2"]),
        ("[/INST]", ["bbbbb2"]),
    ],
)
async def test_a_text_shows_the_runs_that_have_it_and_how_many(app, many, size, text, fitting):
    async with app().run_test(size=size) as pilot:
        place = await runs_screen(pilot)
        await wait_for(pilot, lambda: len(ids(place)) == 4, "the runs")
        keys = place.query_one(KeyLine)
        await wait_for(pilot, lambda: "find" in last(pilot) and "delete" in last(pilot), "the keys of an ended run")
        assert keys.fitting() == keys._keys, "all of them have room"
        await pilot.press("slash")
        await type_text(pilot, text)
        await wait_for(pilot, lambda: ids(place) == fitting, "what fits")
        await wait_for(
            pilot, lambda: last(pilot).split() == ["⏎", "to", "these", "runs", "esc", "all", "runs"], "its keys"
        )
        counted = f"Runs · {len(fitting)} of 4 with “{text.lower()}”"
        await wait_for(pilot, lambda: counted in text_of(place.rows), "how many")
        await pilot.press("escape")
        await wait_for(pilot, lambda: len(ids(place)) == 4 and place.rows.has_focus, "all of them")
        assert not place.query(RunFinder)
        assert " of 4" not in screen(pilot.app)


async def test_enter_goes_into_what_fits_and_esc_takes_one_step_back_at_a_time(app, many):
    async with app().run_test(size=SMALL) as pilot:
        place = await runs_screen(pilot)
        await wait_for(pilot, lambda: len(ids(place)) == 4, "the runs")
        await pilot.press("slash", *"demo", "down", "enter")
        await wait_for(pilot, lambda: place.rows.has_focus and not place.query(RunFinder), "the list")
        assert (ids(place), place.rows.cursor) == (["bbbbb1", "bbbbb2"], 1)
        await pilot.press("escape")
        await wait_for(pilot, lambda: len(ids(place)) == 4, "all of them")
        assert place._here().id == "bbbbb2", "the cursor stays on its run"
        await pilot.press("escape")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, ConfigureScreen), "the form")


async def test_where_nothing_fits_it_says_so_and_offers_nothing_of_a_run(app, many):
    async with app().run_test(size=SMALL) as pilot:
        place = await runs_screen(pilot)
        await wait_for(pilot, lambda: len(ids(place)) == 4, "the runs")
        await pilot.press("slash", *"xyz")
        await wait_for(pilot, lambda: "No run has “xyz”" in text_of(place.rows), "the sentence")
        await pilot.press("enter")
        await wait_for(pilot, lambda: place.rows.has_focus, "the list")
        assert "delete" not in last(pilot)
        await pilot.press("D")
        await wait_for(pilot, lambda: told(pilot.app, "No run has “xyz”"), "why")
        await pilot.press("slash", "backspace", "backspace", "backspace", *"two", "enter", "enter")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, WatchScreen), "the run that fits")
        assert pilot.app.screen.folder.id == "bbbbb1"


async def test_the_list_says_that_it_has_the_newest_only_and_a_search_reads_all(app, many, monkeypatch):
    monkeypatch.setattr("prl_tui.tui.screens.runs.MOST", 2)
    async with app().run_test(size=SMALL) as pilot:
        place = await runs_screen(pilot)
        await wait_for(pilot, lambda: "Runs · the newest 2 of 4" in text_of(place.rows), "that there are more")
        await pilot.press("slash", *"two-ranks")
        await wait_for(pilot, lambda: ids(place) == ["bbbbb1"], "an older one")
        await wait_for(pilot, lambda: "Runs · 1 of 4 with “two-ranks”" in text_of(place.rows), "how many")


@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_the_text_outlives_a_look_at_a_run(app, many, monkeypatch, size):
    monkeypatch.setattr("prl_tui.tui.screens.runs.MOST", 2)  # what fits may be older than those that are read first
    async with app().run_test(size=size) as pilot:
        place = await runs_screen(pilot)
        await wait_for(pilot, lambda: len(ids(place)) == 2, "the newest runs")
        await pilot.press("slash", *"demo")
        await wait_for(pilot, lambda: ids(place) == ["bbbbb1", "bbbbb2"], "what fits")
        await pilot.press("down", "enter", "enter")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, WatchScreen), "the run")
        await pilot.press("escape")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, RunsScreen), "the list again")
        again = pilot.app.screen
        assert again is not place
        await wait_for(pilot, lambda: ids(again) == ["bbbbb1", "bbbbb2"], "what fits, still")
        assert "Runs · 2 of 4 with “demo”" in text_of(again.rows)
        assert again._here().id == "bbbbb2"
        assert not again.query(RunFinder)
        await pilot.press("c")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, ConfigureScreen), "the form")
        third = await runs_screen(pilot)
        await wait_for(pilot, lambda: ids(third) == ["bbbbb1", "bbbbb2"], "what fits, from the form too")
        await pilot.press("escape")
        await wait_for(pilot, lambda: len(ids(third)) == 4, "all runs")
        assert pilot.app.runs_text == ""


async def test_the_app_opens_on_the_list_of_a_folder_that_was_named(app, many, tmp_path):
    shared = tmp_path / "team"
    paths.runs_dir().rename(shared)
    async with app(runs_root=shared).run_test(size=WIDE) as pilot:
        await wait_for(pilot, lambda: "aaaaa2" in screen(pilot.app), "the list")
        assert str(shared) in screen(pilot.app)
        await pilot.press("down", "enter")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, WatchScreen), "the run")
        assert pilot.app.screen.folder.path == shared / "aaaaa2"
        await pilot.press("escape")
        await wait_for(
            pilot, lambda: "bbbbb1" in screen(pilot.app) and str(shared) in screen(pilot.app), "the list again"
        )


@pytest.mark.parametrize("key", ["escape", "enter"])
@pytest.mark.parametrize("text", ["", "demo"])
async def test_find_is_told_again_as_soon_as_its_field_is_gone(app, many, monkeypatch, key, text):
    async with app().run_test(size=SMALL) as pilot:
        place = await runs_screen(pilot)
        await wait_for(pilot, lambda: "find" in last(pilot) and "delete" in last(pilot), "the keys of an ended run")
        monkeypatch.setattr(place, "_work", lambda: None)  # no later look mends the line
        await pilot.press("slash", *text)
        await wait_for(pilot, lambda: "all runs" in last(pilot), "the field's keys")
        await pilot.press(key)
        await wait_for(pilot, lambda: place.rows.has_focus and not place.query(RunFinder), "the list")
        await wait_for(pilot, lambda: "find" in last(pilot), "the key line")


@pytest.mark.parametrize("size", [SMALL, WIDE])
async def test_a_smoke_test_is_shown_told_and_found_by_its_verdict(app, size):
    put_smoke(paths.runs_dir(), "aaaaa1", "passed")
    put_smoke(paths.runs_dir(), "bbbbb1", "failed")
    async with app().run_test(size=size) as pilot:
        place = await runs_screen(pilot)
        await wait_for(pilot, lambda: len(ids(place)) == 2, "the runs")
        await pilot.pause()
        rows, note = text_of(place.rows), place.query_one("#note")
        assert "✓ smoke passed" in rows
        assert "✗ smoke failed" in rows
        assert "finished" not in rows
        assert "stopped" not in rows
        for text, name, words in (
            ("passed", "aaaaa1", "smoke test passed: 2 steps seen"),
            ("failed", "bbbbb1", "smoke failed: no step was logged"),
        ):
            place.rows.narrow(text)
            assert ids(place) == [name]
            await wait_for(pilot, lambda words=words: words in text_of(note), "its verdict")
        for text in ("finished", "stopped"):
            place.rows.narrow(text)
            assert not ids(place), "what its program did is not what is shown"
