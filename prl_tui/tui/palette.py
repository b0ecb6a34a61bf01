"""Every action by name: Textual's command palette (8.2), made safe for keys that come faster than it draws."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from textual import on, work
from textual.await_complete import AwaitComplete
from textual.command import CommandList, CommandPalette
from textual.css.query import NoMatches
from textual.message import Message
from textual.widgets import Button, Input, OptionList

_GATHER: Any = CommandPalette._gather_commands


class Palette(CommandPalette):
    """The framework's own closes itself once for each Enter of a key held down, and with it the places below."""

    over = False
    """Something was chosen, or it was left: what comes after that is ignored."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Nothing is done to what is being taken down."""
        return super().check_action(action, parameters) if self._whole() else None

    def _whole(self) -> bool:
        return not self.over and self.is_current and self.query_one_optional(CommandList) is not None

    @on(OptionList.OptionSelected)
    @on(Input.Submitted)
    @on(Input.Changed)
    @on(Button.Pressed)
    def _only_once(self, event: OptionList.OptionSelected | Input.Submitted | Input.Changed | Button.Pressed) -> None:
        if not self._whole():
            event.stop()
            event.prevent_default()

    async def _dispatch_message(self, message: Message) -> None:
        """A timer or a change may come when the parts are gone, or before they are there."""
        with self._parts_may_lack():
            await super()._dispatch_message(message)

    @work(exclusive=True, group=CommandPalette._GATHER_COMMANDS_GROUP)
    async def _gather_commands(self, search_value: str) -> None:
        gather = cast("Callable[[Palette, str], Awaitable[None]]", _GATHER.__wrapped__)
        with self._parts_may_lack():
            await gather(self, search_value)

    @contextmanager
    def _parts_may_lack(self) -> Iterator[None]:
        try:
            yield
        except NoMatches:
            if self._whole():
                raise

    def _action_escape(self) -> None:
        if not self.over:
            super()._action_escape()

    def _action_command_list(self, action: str) -> None:
        try:
            super()._action_command_list(action)
        except KeyError:  # a list that has new entries and is not laid out yet has no page to turn
            return

    def dismiss(self, result: None = None) -> AwaitComplete:
        """Close it; once, whatever asks: a key, a click beside it, a choice."""
        if self.over:
            return AwaitComplete()
        self.over = True
        return super().dismiss(result)
