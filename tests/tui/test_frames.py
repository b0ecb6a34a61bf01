"""Frames while typed keys wait: a few a second, and the last one shows where the keys led."""

from __future__ import annotations

import asyncio

from textual import events

from prl_tui.tui.screens.runs import RunsScreen
from tests.tui.driving import App, configure, wait_for


class Drawn(App):
    """Keeps what was drawn: the screen, and whether keys were waiting."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.frames = []

    def _display(self, screen, renderable):
        if renderable is not None:
            self.frames.append((screen, self._keys.waiting))
        super()._display(screen, renderable)


async def test_of_places_that_are_left_at_once_few_are_drawn_and_the_last_is(recipes, monkeypatch):
    monkeypatch.setattr("prl_tui.tui.app.FRAME", 1e6)  # however slow this box is
    app = Drawn(recipes)
    async with app.run_test(size=(80, 24)) as pilot:
        await configure(pilot)
        app.frames.clear()
        for key in "RcRcRcR":
            app.post_message(events.Key(key, key))
        await wait_for(pilot, lambda: isinstance(app.screen, RunsScreen) and not app._keys.waiting, "the last place")
        await wait_for(pilot, lambda: app.frames and app.frames[-1][0] is app.screen, "its frame")
        assert not [screen for screen, waiting in app.frames if waiting], "none while keys waited"


async def test_while_keys_go_on_coming_frames_show_them_at_work(recipes, monkeypatch):
    monkeypatch.setattr("prl_tui.tui.app.FRAME", 0.02)
    app = Drawn(recipes)
    async with app.run_test(size=(80, 24)) as pilot:
        await configure(pilot)
        app.frames.clear()
        for key in "Rc" * 12:
            app.post_message(events.Key(key, key))
        await wait_for(pilot, lambda: app._keys.waiting, "keys that wait")
        await wait_for(pilot, lambda: not app._keys.waiting, "the last place")
        await asyncio.sleep(0)
        assert len([screen for screen, waiting in app.frames if waiting]) > 2
