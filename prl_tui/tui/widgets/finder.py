"""The line in which a setting is looked for by name; the form shows those that match."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import events
from textual.widgets import Input

from prl_tui.i18n import t

if TYPE_CHECKING:
    from prl_tui.tui.widgets.settings_form import SettingsForm


STEPS = {"up": -1, "down": 1}
PAGES = {"pageup": -1, "pagedown": 1}


class Finder(Input):
    """Over the form for as long as somebody looks for a setting. `back` is called when that came to nothing."""

    def __init__(self, form: SettingsForm, back: Callable[[], None]) -> None:
        super().__init__(placeholder=t("find a setting; ↑ ↓ move among those found"), id="finder")
        self._form = form
        self._back = back
        self._before = form.standing
        self._shown = ""

    def on_input_changed(self, event: Input.Changed) -> None:
        """The form shows what matches so far."""
        event.stop()
        self._show_hits()

    def _show_hits(self) -> None:
        """Once for each text: a key that moves among the hits may be quicker than the news of what was typed."""
        if self._shown != self.value:
            self._shown = self.value
            self._form.find(self.value)

    def on_key(self, event: events.Key) -> None:
        """The arrows move among the hits."""
        if event.key not in STEPS | PAGES:
            return
        event.stop()
        event.prevent_default()
        self._show_hits()
        if event.key in STEPS:
            self._form.action_move(STEPS[event.key])
        else:
            self._form.action_page(PAGES[event.key])

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter goes to the setting under the cursor; where none was found, back to where the search began."""
        event.stop()
        self._show_hits()
        if not self._form.key or not event.value.strip():
            self.give_up()
            return
        self.leave()
        self._form.focus()

    def give_up(self) -> None:
        """Gone, and all as it was before."""
        self._end()
        self._form.stand(self._before)
        self._back()

    def leave(self) -> None:
        """Gone, with all settings in sight again; the setting that was gone to meanwhile, by a click, has the cursor."""
        key = self._form.key
        self._end()
        self._form.go_to(key)

    def _end(self) -> None:
        self.remove()
        self._form.find("")
