"""What the app's places have in common: where their layout changes, and the app that they belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual import events
from textual.screen import Screen

from prl_tui.tui.widgets.top_bar import TopBar

if TYPE_CHECKING:
    from prl_tui.tui.app import PrlApp

WIDTHS = [(0, "-narrow"), (100, "-medium"), (150, "-wide")]
"""Columns from which a class holds."""
HEIGHTS = [(0, "-short"), (30, "-middle"), (40, "-tall")]
"""Rows from which a class holds."""


class Place(Screen[None]):
    """A place of the app."""

    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS

    def fit_terminal(self) -> None:
        """Take the classes of the terminal's size now: with the first resize, the first frame would be drawn twice."""
        size = self.app.size
        for breakpoints, cells in ((WIDTHS, size.width), (HEIGHTS, size.height)):
            self.add_class([name for start, name in breakpoints if start <= cells][-1])

    def on_resize(self, event: events.Resize) -> None:
        """A size that the screen has already: the start tells it three times, and each would be drawn whole."""
        if event.size == self.size and self.stack_updates:
            event.prevent_default()

    @property
    def prl(self) -> PrlApp:
        """The app."""
        return cast("PrlApp", self.app)

    def on_top_bar_chosen(self, event: TopBar.Chosen) -> None:
        """Another place."""
        self.prl.action_go(event.place)
