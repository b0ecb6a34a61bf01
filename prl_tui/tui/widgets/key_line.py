"""The last line: the few keys that matter here.

Textual's own footer is a widget for each key, all made anew when one key comes or goes: 20 ms each time, at the start
and whenever a setting breaks a rule. This is one line of text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

if TYPE_CHECKING:
    from textual import events
    from textual.screen import Screen

LAST = 2
"""Keys at the end that stay where not all fit: help, and the way out."""


class Key(NamedTuple):
    """One key of the line."""

    key: str
    shown: str
    does: str
    enabled: bool
    tooltip: str

    @property
    def width(self) -> int:
        """Columns with the blanks around it."""
        return cell_len(self.shown) + cell_len(self.does) + 3


class KeyLine(Widget):
    """The keys of the screen that are told, as text; each can be clicked."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    KeyLine { dock: bottom; height: 1; background: $panel; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._keys: list[Key] = []

    def on_mount(self) -> None:
        """Follow what can be done."""
        self.screen.bindings_updated_signal.subscribe(self, self._changed)

    def _changed(self, screen: Screen[object]) -> None:
        if not screen.app.app_focus or screen is not self.screen:  # a terminal in the background keeps its line
            return
        keys = self._now(screen)
        if keys != self._keys:
            self._keys = keys
            self.refresh()

    def _now(self, screen: Screen[object]) -> list[Key]:
        """One key for each action, in the screen's order."""
        found: dict[str, Key] = {}
        for _, binding, enabled, tooltip in screen.active_bindings.values():
            if binding.show and binding.action not in found:
                shown = self.app.get_key_display(binding)
                found[binding.action] = Key(binding.key, shown, binding.description, enabled, tooltip)
        return list(found.values())

    def fitting(self) -> list[Key]:
        """The keys that there is room for: whole ones, and the last ones before others."""
        room = self.size.width - sum(key.width for key in self._keys[-LAST:])
        fit = []
        for key in self._keys[:-LAST]:
            room -= key.width
            if room < 0:
                break
            fit.append(key)
        return fit + self._keys[-LAST:]

    def render(self) -> Content:
        """The keys, the ones that do nothing now dimmed."""
        parts: list[tuple[str, str]] = []
        for key in self.fitting():
            dim = "" if key.enabled else " dim"
            parts += [
                (f" {key.shown} ", f"bold $footer-key-foreground{dim}"),
                (f"{key.does} ", f"$footer-description-foreground{dim}"),
            ]
        return Content.assemble(*parts)

    def _at(self, x: int) -> Key | None:
        for key in self.fitting():
            if 0 <= x < key.width:
                return key
            x -= key.width
        return None

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """What the key under the pointer does, in more words."""
        key = self._at(event.x)
        words = key.tooltip if key is not None else ""
        if (self.tooltip or "") != words:
            self.tooltip = words or None

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """A click is the key; of one that can do nothing now the key says why."""
        key = self._at(event.x)
        if key is not None:
            self.app.simulate_key(key.key)
