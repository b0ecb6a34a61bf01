"""Frames that wait while keys do. Judged by what Textual 8.2.8's own screen sends to the terminal."""

from __future__ import annotations

import pytest
from textual._compositor import ChopsUpdate, LayoutUpdate

from tests.tui.driving import configure, wait_for


@pytest.fixture
def frames(monkeypatch):
    """Follow an app: whether a frame waits (`waits[0]`), the looks that asked so, the spans that were sent."""

    def follow(app):
        waits, asked, sent = [True], [], set()
        display = app._display

        def note(screen, update):
            sent.update(spans(update))
            display(screen, update)

        monkeypatch.setattr(app, "frame_can_wait", lambda: asked.append(waits[0]) or waits[0])
        monkeypatch.setattr(app, "_display", note)
        return waits, asked, sent

    return follow


async def quiet(pilot):
    """The configure screen when it has sent nothing for a moment."""
    place, looks = await configure(pilot), []

    def nothing_to_draw():
        looks.append(not (place._dirty_widgets or place._layout_required or place._compositor._dirty_regions))
        return len(looks) > 30 and all(looks[-30:])

    await wait_for(pilot, nothing_to_draw, "a quiet screen")
    return place


def spans(update):
    """What an update paints: row, first column, end."""
    if isinstance(update, LayoutUpdate):
        return [(y, *update.region.column_span) for y in update.region.line_range]
    return update.spans if isinstance(update, ChopsUpdate) else []


def painted(part, line, sent):
    """Whether a line of a part is among the spans."""
    place = part.content_region
    return any(y == place.y + line and start <= place.x < end for y, start, end in sent)


async def test_what_becomes_dirty_while_a_frame_waits_is_drawn_with_it(app, frames):
    """A secret typed in one burst was judged, and the terminal went on showing `no errors`."""
    async with app("demo", "two-ranks").run_test(size=(120, 40)) as pilot:
        place = await quiet(pilot)
        waits, asked, sent = frames(pilot.app)
        place.form.refresh_line(1)
        await wait_for(pilot, lambda: asked, "a frame that waits")
        place.verdict.refresh_line(0)  # between two looks of the screen
        before = len(asked)
        await wait_for(pilot, lambda: len(asked) > before + 3, "looks of the screen")
        assert not sent
        waits[0] = False
        await wait_for(pilot, lambda: painted(place.form, 1, sent) and painted(place.verdict, 0, sent), "both lines")


async def test_a_frame_that_waits_is_drawn_although_a_layout_forgets_what_was_dirty(app, frames):
    """Nothing else may become dirty after it for seconds: no key, no GPU that is read."""
    async with app("demo", "two-ranks").run_test(size=(120, 40)) as pilot:
        place = await quiet(pilot)
        waits, asked, sent = frames(pilot.app)
        place._layout_required = True
        place._on_timer_update()
        assert asked
        assert not sent
        assert place._dirty_widgets, "the next look has nothing to draw"
        place.form.refresh_line(1)
        waits[0] = False
        await wait_for(pilot, lambda: painted(place.form, 1, sent), "the line")
