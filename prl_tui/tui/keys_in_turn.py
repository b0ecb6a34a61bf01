"""Keys in the order in which they were typed, each for what the one before it brought.

Textual gives a key to whatever has the focus when it is read. A hand that is faster than the screen, a slow connection
or a paste into the terminal has several keys read at once: `/seed` then went letter by letter to the form, whose keys
they are too, before the finder was there. Here a key is given on when its forerunner has done all it does, and when
the place that it is for has all its parts.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from textual import events
from textual.message import Message

from prl_tui.tui.screens.place import Place

if TYPE_CHECKING:
    from textual.app import App
    from textual.message_pump import MessagePump

ROUNDS = 2
"""Ways of a mark through the queues behind a key: one behind the key, one behind what the key has posted."""
LOST = 0.5
"""Seconds between two looks at whether a mark is gone with its widget."""
PATIENCE = 5.0
"""Seconds after which it counts as gone in any case."""
LONGEST = 2.0
"""Seconds that keys wait for a place to be whole."""
SOON = 0.01
LEAVE = "q"
"""Leaves every place."""


def as_typed(event: events.Key) -> list[events.Key]:
    """The keys that a hand has pressed.

    `alt+v` is what a terminal makes of escape and `v` in one piece; nothing here has a key with alt. A line feed is an
    enter that was typed before the terminal was ours.
    """
    if event.key == "ctrl+j":
        return [events.Key("enter", "\r")]
    if event.key.startswith("alt+") and event.character and event.character.isalpha():
        return [events.Key("escape", "\x1b"), events.Key(event.character, event.character)]
    return [event]


class KeyDone(Message):
    """A mark that goes the same way as the key before it, up to the app."""

    def __init__(self, turn: int) -> None:
        super().__init__()
        self.turn = turn


class KeysInTurn:
    """The keys and pastes that wait. `give` is how the app takes one."""

    def __init__(self, app: App[Any], give: Callable[[events.Event], Awaitable[None]]) -> None:
        self._app, self._give = app, give
        self._waiting: deque[events.Event] = deque()
        self._target: MessagePump = app
        self._turn = 0
        self._rounds = 0
        self._waited = 0.0
        self._given = 0.0
        self._busy = False

    @property
    def waiting(self) -> bool:
        """Whether there are keys that have not been given on."""
        return bool(self._waiting)

    async def take(self, event: events.Event) -> None:
        """Give a key on now, or when its turn has come."""
        self._waiting.append(event)
        if not self._busy:
            await self._next()

    async def done(self, turn: int) -> None:
        """A mark is back."""
        if turn != self._turn or not self._busy:
            return
        self._rounds += 1
        if self._rounds < ROUNDS:
            self._mark()
        else:
            self._busy = False
            await self._next()

    async def _next(self) -> None:
        while self._waiting and not self._busy:
            there = self._place_is_there(self._waiting[0])
            if not there and self._waited < LONGEST:
                self._busy = True
                self._waited += SOON
                self._app.set_timer(SOON, self._look_again)
                return
            self._waited = 0.0 if there else LONGEST
            self._turn += 1
            self._busy, self._rounds = True, 0
            event = self._waiting.popleft()
            target = self._app.focused or self._app.screen
            await self._give(event)
            if not event.is_forwarded:  # the app's own key
                self._busy = False
                continue
            self._target = target
            self._given = time.monotonic()
            self._look_for(self._turn)
            self._mark()

    def _mark(self) -> None:
        if not self._target.is_attached or not self._target.post_message(KeyDone(self._turn)):
            self._app.post_message(KeyDone(self._turn))  # gone already: behind what is still in the app's queue

    async def _look_again(self) -> None:
        self._busy = False
        await self._next()

    def _look_for(self, turn: int) -> None:
        self._app.set_timer(LOST, lambda: self._lost(turn))

    async def _lost(self, turn: int) -> None:
        if turn != self._turn or not self._busy:
            return
        if self._target.is_attached and time.monotonic() - self._given < PATIENCE:
            self._look_for(turn)  # the app is busy: what the key does comes later, and so does the next key
            return
        self._busy = False
        await self._next()

    def _place_is_there(self, event: events.Event) -> bool:
        """Whether a key has somebody to go to; who wants to leave waits for no list and no disk."""
        screen = self._app.screen
        if isinstance(screen, Place):
            leaves = isinstance(event, events.Key) and event.key == LEAVE
            return screen.takes_keys() or (leaves and screen.whole())
        return len(self._app.screen_stack) > 1
