"""Every action by name: Textual's command palette (8.2), made safe for keys that come faster than it draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.command import CommandPalette
from textual.widgets import Button, Input, OptionList

if TYPE_CHECKING:
    from textual.await_complete import AwaitComplete


class Palette(CommandPalette):
    """The framework's own closes itself once for each Enter of a key held down, and with it the places below."""

    over = False
    """Something was chosen, or it was left: what comes after that is ignored."""

    @on(OptionList.OptionSelected)
    @on(Input.Submitted)
    @on(Button.Pressed)
    def _only_once(self, event: OptionList.OptionSelected | Input.Submitted | Button.Pressed) -> None:
        if self.over or not self.is_current:
            event.stop()
            event.prevent_default()

    def _action_escape(self) -> None:
        if not self.over:
            super()._action_escape()

    def _action_command_list(self, action: str) -> None:
        try:
            super()._action_command_list(action)
        except KeyError:  # a list that has new entries and is not laid out yet has no page to turn
            return

    def dismiss(self, result: None = None) -> AwaitComplete:
        """Close it."""
        self.over = True
        return super().dismiss(result)
