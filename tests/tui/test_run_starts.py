"""When each run began, in the list where there is little room: told where it fits, and nothing is cut for it."""

from __future__ import annotations

import time

import pytest

from prl_tui.machine import paths
from prl_tui.tui.widgets.run_list import start_words
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
async def test_elsewhere_it_stands_once_or_not_at_all(app, at_three, size):
    put("aaa111", TODAY, 120)
    (line,) = await rows(app, size, 1)
    assert line.count("10:02") == (size[0] > 90)
