"""How a place's panes share the screen: the border between two of them moves by keys, or dragged with the mouse.

Kept by class of terminal size for as long as the app runs: what suits a large window says nothing about a small one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from textual import events
from textual.binding import Binding, BindingType
from textual.widget import Widget

from prl_tui.i18n import t
from prl_tui.tui.screens.place import Place

LEAST_UPPER, LEAST_LOGS = 6, 6
"""Rows, borders included: a head with two GPUs or a flat curve; the log's tabs with three lines."""
LEAST_GPUS, LEAST_CHART = 36, 30
"""Columns that the narrowest table of GPUs needs, and a curve with its axis."""
AROUND = 5
"""Rows of the screen that belong to no pane, at most."""
STEP = 4
"""Columns that one key moves the upright border."""

Border = Literal["rows", "columns"]


@dataclass(frozen=True)
class Shares:
    """What somebody gave the panes; None: what the layout gives."""

    rows: int | None = None
    """Height of the GPUs and the curves."""
    columns: int | None = None
    """Width of the GPUs."""


class SizedPanes(Place):
    """A place with `#gpus` and `.chart` beside each other in `#upper`, over `#logs`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("plus", "grow(1)", t("a taller pane"), show=False, key_display="+ -", tooltip=t("Or drag its border")),
        Binding("minus", "grow(-1)", show=False),
        Binding(
            "greater_than_sign",
            "widen(1)",
            t("wider GPUs"),
            show=False,
            key_display="< >",
            tooltip=t("Or drag their border"),
        ),
        Binding("less_than_sign", "widen(-1)", show=False),
        Binding("equals_sign", "even", t("panes as they were"), show=False, tooltip=t("At this size of terminal")),
    ]
    _dragged: Border | None = None

    # --- keys -----------------------------------------------------------------------------------------------------

    def action_grow(self, by: int) -> None:
        """More or fewer rows for the pane that was gone to."""
        if self._alone():
            return
        upper = self.has_class("-on-gpus") or self.has_class("-on-curves") or self.query_one("#gpus").has_focus
        self._share(rows=self._rows() + (by if upper else -by))

    def action_widen(self, by: int) -> None:
        """More or fewer columns for the GPUs; the curves have the rest."""
        if not self._alone():
            self._share(columns=self._columns() + by * STEP)

    def action_even(self) -> None:
        """The layout's own shares again, at this class of terminal size."""
        self.prl.pane_shares.pop(self._size_class(), None)
        self.share_room()

    def _alone(self) -> bool:
        """Said where one pane has the whole screen."""
        if self.has_class("-zoom") or self.is_narrow():
            self.prl.tell(t("One pane has the whole screen: there is no border to move."))
            return True
        return False

    def is_narrow(self) -> bool:
        """Whether there is room for one pane only."""
        return "-narrow" in self._size_class()

    # --- shares ---------------------------------------------------------------------------------------------------

    def _size_class(self) -> tuple[str, str]:
        """Of the terminal as it is now; the screen's own classes follow a resize later."""
        width, height = self.app.size
        return (
            [name for start, name in self.HORIZONTAL_BREAKPOINTS or () if start <= width][-1],
            [name for start, name in self.VERTICAL_BREAKPOINTS or () if start <= height][-1],
        )

    # what was chosen comes first: of two keys in one moment, the second finds the screen before it was drawn anew

    def _rows(self) -> int:
        chosen = self.prl.pane_shares.get(self._size_class(), Shares()).rows
        return self.query_one("#upper").outer_size.height if chosen is None else self._fitting_rows(chosen)

    def _columns(self) -> int:
        chosen = self.prl.pane_shares.get(self._size_class(), Shares()).columns
        return self.query_one("#gpus").outer_size.width if chosen is None else self._fitting_columns(chosen)

    def _share(self, rows: int | None = None, columns: int | None = None) -> None:
        key = self._size_class()
        shares = self.prl.pane_shares.get(key, Shares())
        if rows is not None:
            shares = replace(shares, rows=self._fitting_rows(rows))
        if columns is not None:
            shares = replace(shares, columns=self._fitting_columns(columns))
        self.prl.pane_shares[key] = shares
        self.share_room()

    def _fitting_rows(self, rows: int) -> int:
        return max(LEAST_UPPER, min(rows, self.app.size.height - AROUND - LEAST_LOGS))

    def _fitting_columns(self, columns: int) -> int:
        charts = sum(chart.display for chart in self.query(".chart"))
        return max(LEAST_GPUS, min(columns, self.app.size.width - LEAST_CHART * max(1, charts)))

    def share_room(self) -> None:
        """Give the panes what was chosen for a terminal of this size, or leave them to the layout."""
        gpus, upper = self.query_one_optional("#gpus"), self.query_one_optional("#upper")
        if gpus is None or upper is None:
            return  # not composed yet
        key = self._size_class()
        alone = self.has_class("-zoom") or self.is_narrow()
        shares = Shares() if alone else self.prl.pane_shares.get(key, Shares())
        rows = None if shares.rows is None else self._fitting_rows(shares.rows)
        columns = None if shares.columns is None else self._fitting_columns(shares.columns)
        for pane in (gpus, *self.query(".chart")):
            pane.styles.height = rows
        upper.styles.max_height = rows
        gpus.styles.width = gpus.styles.max_width = columns
        gpus.styles.min_width = None if columns is None else LEAST_GPUS

    def fit_terminal(self) -> None:
        """Another size of the terminal has shares of its own."""
        super().fit_terminal()
        self.share_room()

    def on_resize(self, event: events.Resize) -> None:  # noqa: ARG002
        """Another size of the terminal has shares of its own."""
        self.share_room()

    # --- mouse ----------------------------------------------------------------------------------------------------

    def _border_at(self, x: int, y: int) -> Border | None:
        """Which border between two panes is there: each pane draws its own side of it."""
        upper, logs, gpus = (self.query_one(name) for name in ("#upper", "#logs", "#gpus"))
        if not (upper.display and logs.display):
            return None
        if y in (upper.region.bottom - 1, logs.region.y):
            return "rows"
        return "columns" if upper.region.contains(x, y) and x in (gpus.region.right - 1, gpus.region.right) else None

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Take hold of a border."""
        if event.button == 1 and self.whole():
            self._dragged = self._border_at(event.screen_x, event.screen_y)
            if self._dragged:
                self._holder().capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """The border follows the mouse."""
        if self._dragged == "rows":
            self._share(rows=event.screen_y - self.query_one("#upper").region.y + 1)
        elif self._dragged == "columns":
            self._share(columns=event.screen_x - self.query_one("#gpus").region.x + 1)

    def on_mouse_up(self) -> None:
        """Let it go; what the drag swept over was not meant as a selection."""
        if self._dragged:
            self._dragged = None
            self._holder().release_mouse()
            self.clear_selection()

    def _holder(self) -> Widget:
        return self.query_one("#body")
