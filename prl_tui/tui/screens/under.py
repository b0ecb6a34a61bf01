"""The screen under the places: nobody ever sees it."""

from __future__ import annotations

from textual import events
from textual.screen import Screen
from textual.widget import Widget


class Under(Screen[None]):
    """Textual's default screen without the work for a first paint, which every start would wait for."""

    def _extend_compose(self, widgets: list[Widget]) -> None:
        """No rack for toasts and no tooltip: each place has its own."""

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """It is painted over before it is painted."""
        event.refresh_styles = False
