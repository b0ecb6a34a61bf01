"""The line in which a setting is looked for by name; the form shows those that match."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.widgets import Input

from prl_tui.i18n import t

if TYPE_CHECKING:
    from prl_tui.tui.widgets.settings_form import SettingsForm


class Finder(Input):
    """Over the form for as long as somebody looks for a setting. `back` is called when that came to nothing."""

    def __init__(self, form: SettingsForm, back: Callable[[], None]) -> None:
        super().__init__(placeholder=t("find a setting"), id="finder")
        self._form = form
        self._back = back
        self._before = form.standing

    def on_input_changed(self, event: Input.Changed) -> None:
        """The form shows what matches so far."""
        event.stop()
        self._form.find(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter goes to the first setting found; without one, back to where the search began."""
        event.stop()
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
