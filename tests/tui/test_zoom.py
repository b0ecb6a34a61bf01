"""A zoomed pane has all the room between the head and the health line, at every size, and gives it back."""

from __future__ import annotations

import pytest

from prl_tui.machine.gpu_feed import Reading
from prl_tui.machine.gpus import Gpu, GpuSnapshot
from tests.tui.driving import wait_for
from tests.tui.test_runs_and_watch import SMALL, WAIT, WIDE, start, told, watch
from tests.tui.test_sized_panes import laid_out, press

__all__ = ["start"]
KEYS = {"gpus": "1", "curves": "2", "logs": "3"}
PANES = ("#gpus", "#curves", "#second", "#logs")


def box(count):
    """A reading of so many GPUs; none: a box without."""
    return Reading(GpuSnapshot(0.0, gpus=tuple(Gpu(index) for index in range(count))), 0.1, False, 1.0)


def in_sight(place):
    """Where the panes that are drawn lie."""
    panes = [place.query_one(name) for name in PANES]
    return [pane.region for pane in panes if pane.display and pane.parent.display]


def shares(place):
    return {name: place.query_one(name).region for name in PANES}


def fills(place):
    """The panes in sight, side by side, cover the room between the lines."""
    head, health = place.query_one("#head").region, place.query_one("#health").region
    found = in_sight(place)
    assert {(one.y, one.bottom) for one in found} == {(head.bottom, health.y)}
    assert sum(one.width for one in found) == place.size.width


def opened(app, count):
    one = app()
    if count:
        one.reading = box(count)
    return one


@pytest.mark.parametrize("count", [0, 12])
@pytest.mark.parametrize("size", [WIDE, (120, 40), SMALL, (80, 50)])
async def test_a_zoomed_pane_fills_the_room_and_gives_it_back(app, start, size, count):
    """At 160x45 the curves and the GPUs kept their rows, and under them all was blank."""
    async with opened(app, count).run_test(size=size) as pilot:
        place = await watch(pilot, start(WAIT))
        await laid_out(pilot)
        for key in KEYS.values():
            await press(pilot, key)
            before = shares(place)
            await press(pilot, "z")
            fills(place)
            await press(pilot, "z")
            assert shares(place) == before


@pytest.mark.parametrize("code", [WAIT, "print('done')"])
@pytest.mark.parametrize("pane", KEYS)
async def test_it_fills_the_room_after_a_moved_border_and_after_resizes(app, start, pane, code):
    async with opened(app, 2).run_test(size=WIDE) as pilot:
        place = await watch(pilot, start(code))
        await press(pilot, KEYS[pane], "plus", "plus", "greater_than_sign")
        chosen = shares(place)
        await press(pilot, "z")
        fills(place)
        for size in (SMALL, (120, 40), WIDE):
            await pilot.resize_terminal(*size)
            await wait_for(pilot, lambda size=size: place.query_one("#health").region.bottom == size[1] - 1, "the size")
            await laid_out(pilot)
            fills(place)
        await press(pilot, "z")
        assert shares(place) == chosen


async def test_where_one_pane_has_the_screen_z_says_so(app, start):
    """It did nothing at 80x24, without a word, and the next wide terminal was zoomed."""
    async with opened(app, 2).run_test(size=SMALL) as pilot:
        place = await watch(pilot, start(WAIT))
        await laid_out(pilot)
        await press(pilot, "z")
        await wait_for(pilot, lambda: told(pilot.app, "One pane has the whole screen at this width"), "why")
        assert not place.has_class("-zoom")
