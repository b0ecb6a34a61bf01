"""When each run began, in the list where there is little room: told where it fits, and nothing is cut for it."""

from __future__ import annotations

import time

import pytest

from prl_tui.i18n import set_language
from prl_tui.machine import paths
from prl_tui.tui.widgets.run_columns import ID, Longest, columns, start_words
from tests.tui.driving import text_of, wait_for
from tests.tui.test_runs_and_watch import runs_screen

NOW = time.mktime((2026, 11, 29, 15, 0, 0, 0, 0, -1))
TODAY, BEFORE = NOW - 4 * 3600 - 58 * 60, NOW - 86400 - 4 * 3600
"""10:02 of that day, and 11:00 of the day before."""


def test_today_has_its_time_and_another_day_both_or_the_day_alone():
    assert start_words(TODAY, "2026-11-29") == "10:02"
    assert start_words(BEFORE, "2026-11-29") == "11-28 11:00"
    assert start_words(BEFORE, "2026-11-29", short=True) == "11-28"
    assert start_words(TODAY, "") == "11-29 10:02"
    assert start_words(None, "2026-11-29") == "–"


def put(name, created, step, preset="two-ranks", seconds=12.0):
    """An ended run, without the seconds that a real one takes."""
    from tests.runs.helpers import write

    path = paths.runs_dir() / name
    (path / "ranks").mkdir(parents=True)
    total = f"{{'loss': 1.0, 'global_step/max_steps': '{step}/200'}}\n"
    (path / "output.log").write_text(total)
    folder = type("Folder", (), {"path": path})
    place = {"host": "h", "boot_id": "b", "pid_namespace": "p"}
    write(folder, "run", {"id": name, "recipe": "demo", "preset": preset, "created": created, **place})
    write(folder, "exit", {"exit_code": 0, "started": created, "ended": created + seconds, "seconds": seconds})


@pytest.fixture
def at_three(monkeypatch):
    """It is three in the afternoon of that day."""
    real = time.strftime
    local = time.localtime
    monkeypatch.setattr(time, "strftime", lambda form, *when: real(form, *(when or (local(NOW),))))


async def rows(app, size, count):
    async with app().run_test(size=size) as pilot:
        place = await runs_screen(pilot)
        await wait_for(pilot, lambda: len(place.rows.runs) == count, "the runs")
        await pilot.pause()
        return [line.strip("│ ") for line in text_of(place.rows).split("\n") if "…" in line or "demo" in line]


async def test_runs_of_one_preset_are_told_apart_at_80_columns(app, at_three):
    put("aaa111", TODAY, 120)
    put("bbb222", BEFORE, 80)
    first, second = await rows(app, (80, 24), 2)
    assert "demo/two-ranks" in first
    assert "step 120 / 200" in first
    assert first.split()[-4:] == ["200", "10:02", "12", "s"]
    assert second.split()[-5:] == ["200", "11-28", "11:00", "12", "s"]


async def test_nothing_else_is_cut_for_it(app, at_three):
    put("aaa111", TODAY, 120, preset="a-name-of-many-cells-and-more", seconds=1e6)
    put("bbb222", BEFORE, 80)
    with_start = await rows(app, (80, 24), 2)
    assert "step 120 / 200" in with_start[0]
    assert "10:02" not in with_start[0] or "11-28" in with_start[1]
    for line, took in zip(with_start, ("11 d", "12 s"), strict=True):
        assert took in line


@pytest.mark.parametrize("size", [(60, 24), (120, 40)])
async def test_elsewhere_it_stands_once(app, at_three, size):
    put("aaa111", TODAY, 120)
    (line,) = await rows(app, size, 1)
    assert line.count("10:02") == 1
    assert "12 s" in line


def put_long(name, created, total):
    put(name, created, 87)
    (paths.runs_dir() / name / "output.log").write_text(f"{{'loss': 1.0, 'global_step/max_steps': '87/{total}'}}\n")


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_one_run_of_many_steps_takes_no_start_from_the_others(app, at_three, language):
    """`step 87 / 2,000` is one cell longer than what was left: the start of every row was gone."""
    set_language(language)
    put("aaa111", TODAY, 120)
    put_long("bbb222", BEFORE, 2000)
    first, second = await rows(app, (80, 24), 2)
    assert "10:02" in first
    assert "11-28" in second
    assert "200" in first
    assert "2,000" in second


async def test_where_nothing_is_free_the_total_and_the_ends_of_names_go_first(app, at_three):
    put("aaa111", TODAY, 120, preset="a-name-of-many-cells", seconds=50 * 3600 + 7 * 60)
    put_long("bbb222", BEFORE, 2_000_000_000)
    first, second = await rows(app, (80, 24), 2)
    assert "step 120 / 200" in first
    assert "10:02" in first
    assert "step 87 " in second
    assert "2,000,000,000" not in second
    assert "11-28" in second


def test_the_cells_of_the_columns_never_pass_the_width_where_one_is_for_the_start():
    for far in range(30):
        for what in (0, 14, 33):
            longest = Longest(15, what, far, min(far, 10), 9, 11, 5)
            found = columns(longest, 77)
            assert sum((ID, found.state + 1, found.what + 1, found.far, found.took, found.start)) <= 77
            assert found.start, (far, what)


async def test_below_the_list_stands_when_a_run_began(app, at_three):
    put("aaa111", TODAY, 120)
    async with app().run_test(size=(80, 24)) as pilot:
        place = await runs_screen(pilot)
        await wait_for(pilot, lambda: "began 11-29 10:02 · " in text_of(place.query_one("#note")), "its start")
