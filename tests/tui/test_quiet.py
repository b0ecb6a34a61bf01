"""A run that says nothing for too long, on the screens that show it: a real job that hangs after its third step."""

from __future__ import annotations

import time

import pytest

from prl_tui.runs import overview
from prl_tui.telemetry.quiet import Patience
from prl_tui.tui.feeds import RunFeed
from tests.tui.driving import row_of, sees, text_of, wait_for
from tests.tui.test_runs_and_watch import SMALL, WIDE, runs_screen, start, watch

__all__ = ["start"]
HANGS = (
    "import time\n"
    "for n in range(1, 4): print({'loss': 0.5, 'global_step/max_steps': f'{n}/90', 'elapsed_time': f'{4 * n}s'})\n"
    "time.sleep(600)"
)


@pytest.mark.parametrize("size", [WIDE, SMALL])
async def test_watch_says_that_there_is_no_output_and_promises_no_end(app, start, size):
    async with app().run_test(size=size) as pilot:
        folder = start(HANGS)
        feed = pilot.app._feeds[folder.id] = RunFeed(folder, Patience(least=0.2, steps=0.0, reports=0.0))
        feed.start()
        place = await watch(pilot, folder)
        await wait_for(pilot, lambda: "! no output for" in text_of(place.query_one("#health")), "its silence")
        health, head = text_of(place.query_one("#health")), text_of(place.query_one("#head"))
        assert "✓" not in health
        assert "S where each rank stands   x stop" in health, "whole at 80 columns too"
        assert "step 3 / 90" in health
        assert "! running" in head
        assert " left" not in head
        assert "it/s" not in head
        assert place.query_one("#health").has_class("-warn")
        await pilot.press("d")
        await wait_for(
            pilot,
            lambda: [n for n in pilot.app._notifications if "S shows where each rank stands" in n.message],
            "the way",
        )


@pytest.mark.parametrize("size", [WIDE, (125, 30), SMALL])
async def test_the_list_says_for_how_long(app, start, size):
    async with app().run_test(size=size) as pilot:
        folder = start(HANGS)
        place = await runs_screen(pilot)
        await wait_for(pilot, lambda: place.rows.runs and place.rows.runs[0].status.state == "running", "the run")
        reading = overview.reader(folder)
        view = await wait_for(pilot, lambda: (v := reading.poll()).progress is not None and v, "its steps")
        reading.close()
        place._show([overview.describe(folder, view, clock=lambda: time.time() + 790)])
        await wait_for(pilot, lambda: "no output for 13 min" in text_of(place.rows), "its silence")
        line = text_of(place.rows).split("\n")[row_of(place.rows, folder.id)]
        assert "! running" in line
        assert "▸" not in line
        await sees(pilot, "no output for 13 min")
