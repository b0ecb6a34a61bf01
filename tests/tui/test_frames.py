"""Frames that wait while keys do. Judged by Textual 8.2.8's own screen: a part that it draws gives up its dirty regions."""

from __future__ import annotations

from tests.tui.driving import configure, wait_for


async def test_what_becomes_dirty_while_a_frame_waits_is_drawn_with_it(app, monkeypatch):
    """A secret typed in one burst was judged, and the terminal went on showing `no errors`."""
    async with app("demo", "two-ranks").run_test(size=(120, 40)) as pilot:
        place = await configure(pilot)
        waits, asked = [True], []
        monkeypatch.setattr(pilot.app, "frame_can_wait", lambda: asked.append(waits[0]) or waits[0])
        place.form.refresh_line(1)
        await wait_for(pilot, lambda: asked, "a frame that waits")
        drawn = []
        display = pilot.app._display
        monkeypatch.setattr(pilot.app, "_display", lambda *update: (drawn.append(update), display(*update))[1])
        place.verdict.refresh_line(0)  # between two looks of the screen
        assert place.verdict._repaint_regions
        before = len(asked)
        await wait_for(
            pilot, lambda: not place.verdict._repaint_regions or len(asked) > before + 10, "that the screen hears of it"
        )
        assert not place.verdict._repaint_regions, "forgotten in ten looks"
        waits[0] = False
        await wait_for(pilot, lambda: drawn, "a frame")
        assert not place.form._repaint_regions
