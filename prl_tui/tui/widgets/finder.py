"""The line in which a setting is looked for by name; the form shows those that match."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widgets import Input

from prl_tui.i18n import t

if TYPE_CHECKING:
    from prl_tui.tui.widgets.settings_form import SettingsForm


class Finder(Input):
    """Over the form for as long as somebody looks for a setting."""

    def __init__(self, form: SettingsForm) -> None:
        super().__init__(placeholder=t("find a setting"), id="finder")
        self._form = form

    def on_input_changed(self, event: Input.Changed) -> None:
        """The form shows what matches so far."""
        event.stop()
        self._form.find(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter goes to the first setting found."""
        event.stop()
        key = self._form.key
        self.leave()
        self._form.go_to(key)
        self._form.focus()

    def leave(self) -> None:
        """Gone, with all settings in sight again."""
        self.remove()
        self._form.find("")
