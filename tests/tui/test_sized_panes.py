"""Panes of the watch screen with other sizes, by keys and by mouse, on the NVML stub.

Judged by where the panes lie on the screen, and by what the GPU pane shows with more room.
"""

from __future__ import annotations

import pytest
from textual.events import MouseDown, MouseMove, MouseUp

from prl_tui.tui.app import PrlApp
from prl_tui.tui.screens.watch import WatchScreen
from tests.tui.driving import text_of, wait_for
from tests.tui.gpu_box import running

pytestmark = pytest.mark.slow
BOX = ("#upper", "#gpus", "#curves", "#logs")


@pytest.fixture
def box(nvml_stub, monkeypatch):
    for name in ("LD_LIBRARY_PATH", "FAKE_NVML_STATE"):
        monkeypatch.setenv(name, nvml_stub.environment()[name])
    return nvml_stub


async def watching(pilot):
    await wait_for(pilot, lambda: isinstance(pilot.app.screen, WatchScreen), "the watch screen")
    place = pilot.app.screen
    await wait_for(pilot, place.whole, "its panes")
    await wait_for(pilot, lambda: not place.has_class("-no-gpus"), "the GPUs")
    await pilot.pause()
    return place


def regions(place):
    return {name: place.query_one(name).region for name in BOX}


async def press(pilot, *keys):
    await pilot.press(*keys)
    await laid_out(pilot)


async def laid_out(pilot):
    """Until the screen stands as its styles say: a style that was set is laid out with a later frame."""
    await pilot.pause()
    screen = pilot.app.screen
    await wait_for(pilot, lambda: not (screen._layout_required or screen._layout_widgets), "the layout")
    await pilot.pause()


async def drag(pilot, start, end):
    """What a terminal sends for a drag; the pilot's own mouse functions go to widgets, not along a way."""
    for kind, (x, y), button in ((MouseDown, start, 1), (MouseMove, end, 1), (MouseUp, end, 1)):
        event = kind(None, x, y, 0, 0, button, False, False, False, screen_x=x, screen_y=y)
        pilot.app.screen._forward_event(event)
        await laid_out(pilot)


@pytest.mark.parametrize("size", [(120, 40), (200, 60)])
async def test_panes_grow_shrink_and_go_back(box, size):
    with running(2, visible="6,2") as (folder, _):
        async with PrlApp(watch=folder).run_test(size=size) as pilot:
            place = await watching(pilot)
            first = regions(place)
            assert size[0] == 200 or "no process" not in text_of(place.query_one("#gpus"))
            await press(pilot, "1", *["plus"] * 6)
            assert regions(place)["#gpus"].height == first["#gpus"].height + 6
            assert regions(place)["#logs"].height == first["#logs"].height - 6
            gpus = place.query_one("#gpus")
            await wait_for(pilot, lambda: "no process" in text_of(gpus), "more about the GPU under the cursor")
            await press(pilot, "greater_than_sign")
            assert regions(place)["#gpus"].width == first["#gpus"].width + 4
            await press(pilot, "3", "plus")
            assert regions(place)["#logs"].height == first["#logs"].height - 5
            await press(pilot, *["plus"] * 70)
            assert regions(place)["#upper"].height == 6
            await press(pilot, "1", *["plus"] * 70, *["less_than_sign"] * 40)
            assert regions(place)["#logs"].height >= 6
            assert regions(place)["#gpus"].width == 36
            await press(pilot, *["greater_than_sign"] * 60)
            assert regions(place)["#curves"].width >= 30
            await press(pilot, "equals_sign")
            assert regions(place) == first


async def test_each_size_of_terminal_keeps_its_own(box):
    with running(2, visible="6,2") as (folder, _):
        async with PrlApp(watch=folder).run_test(size=(120, 40)) as pilot:
            place = await watching(pilot)
            first = regions(place)
            await press(pilot, "1", "plus", "plus")
            chosen = regions(place)
            await pilot.resize_terminal(80, 24)
            await press(pilot, "plus")
            assert [one.message for one in pilot.app._notifications if "no border to move" in str(one.message)]
            await wait_for(pilot, lambda: regions(place)["#gpus"].height in range(17, 22), "one pane")
            await pilot.resize_terminal(200, 60)
            await laid_out(pilot)
            assert not place.query_one("#gpus").styles.inline.has_rule("height")
            await pilot.resize_terminal(120, 40)
            await wait_for(pilot, lambda: regions(place) == chosen, "what was chosen")
            await press(pilot, "z")
            assert regions(place)["#gpus"].height > chosen["#gpus"].height
            await press(pilot, "z", "equals_sign")
            assert regions(place) == first


async def test_borders_follow_the_mouse(box):
    with running(2, visible="6,2") as (folder, _):
        async with PrlApp(watch=folder).run_test(size=(160, 45)) as pilot:
            place = await watching(pilot)
            first = regions(place)
            edge = first["#upper"].bottom - 1
            await drag(pilot, (10, edge), (10, edge + 5))
            assert regions(place)["#upper"].height == first["#upper"].height + 5
            side = first["#gpus"].right - 1
            await drag(pilot, (side, first["#gpus"].y + 2), (side - 6, first["#gpus"].y + 2))
            assert regions(place)["#gpus"].width == first["#gpus"].width - 6
            kept = regions(place)
            await drag(pilot, (5, kept["#logs"].y + 4), (5, kept["#logs"].y + 9))
            assert regions(place) == kept, "inside a pane a drag moves nothing"
