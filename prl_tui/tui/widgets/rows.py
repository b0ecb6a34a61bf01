"""A list of one-line rows with a cursor: only the visible ones are ever drawn. Base of the lists on the screens."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

Piece = tuple[str, str]
"""Literal text and its role: "", muted, strong, accent, good, warning, error, edit, mark, selected."""


class Rows(ScrollView, can_focus=True):
    """Rows are made by `row`; subclasses say how many there are and what choosing one means."""

    ROLES: ClassVar[tuple[str, ...]] = (
        "muted",
        "strong",
        "accent",
        "good",
        "warning",
        "error",
        "edit",
        "mark",
        "selected",
    )
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"rows--{role}" for role in ROLES} | {"rows--cursor"}
    DEFAULT_CSS = """
    Rows {
        scrollbar-size-vertical: 1;
        overflow-x: hidden;
        overflow-y: scroll;  /* always there, so that no row changes its width */
        scrollbar-background: $background;
        scrollbar-background-hover: $background;
        scrollbar-background-active: $background;
        scrollbar-color: $panel-lighten-2;
        & > .rows--muted { color: $secondary; }
        & > .rows--strong { text-style: bold; }
        & > .rows--accent { color: $text-accent; }
        & > .rows--good { color: $text-success; }
        & > .rows--warning { color: $text-warning; }
        & > .rows--error { color: $text-error; }
        & > .rows--mark { color: $text-accent; text-style: bold; }
        & > .rows--edit { background: $primary; color: $text; }
        & > .rows--selected { background: $primary; color: $text; text-style: reverse; }
        & > .rows--cursor { background: $surface-lighten-2; }
        &:focus > .rows--cursor { background: $primary-muted; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home", "move(-1000000)", show=False),
        Binding("end", "move(1000000)", show=False),
        Binding("enter", "choose", show=False),
    ]

    def __init__(self, **keywords: str | None) -> None:
        super().__init__(id=keywords.get("id"), classes=keywords.get("classes"))
        self.cursor = 0
        self._marks: tuple[int, list[object]] = (-1, [])
        self._styles: dict[str, Style] = {}

    @property
    def room(self) -> int:
        """Cells of a row: a blank one keeps it off the scroll bar."""
        return max(0, self.scrollable_content_region.width - 1)

    # --- for subclasses -------------------------------------------------------------------------------------------

    def count(self) -> int:
        """How many rows there are."""
        return 0

    def row(self, y: int, width: int) -> list[Piece]:  # noqa: ARG002
        """The pieces of a row."""
        return []

    def selectable(self, y: int) -> bool:  # noqa: ARG002
        """Whether the cursor may rest on a row."""
        return True

    def chosen(self, y: int) -> None:
        """Enter or a click on a row."""

    def moved(self) -> None:
        """The cursor rests on another row."""

    # --- moving ---------------------------------------------------------------------------------------------------

    async def on_key(self, event: events.Key) -> None:
        """A key of the list's own works at once: as a binding it would wait behind characters that came after it."""
        for binding in self._bindings.key_to_bindings.get(event.key, ()):
            if "." not in binding.action:
                event.stop()
                event.prevent_default()
                if await self.app.run_action(binding.action, self):
                    return  # else the next one says why

    def action_move(self, by: int) -> None:
        """Move the cursor to the next selectable row."""
        last = self.count() - 1
        at = max(0, min(self.cursor + by, last))
        step = 1 if by > 0 else -1
        while 0 <= at <= last and not self.selectable(at):
            at += step
        if not 0 <= at <= last:  # nothing further on: the nearest one on the way back
            at = self._nearest(max(0, min(self.cursor + by, last)))
        if by < 0 and at == self.cursor == self._nearest(0):
            self.scroll_to(y=0, animate=False)
        self.put_cursor(at)

    def action_page(self, by: int) -> None:
        """Move by a page."""
        self.action_move(by * max(1, self.size.height - 1))

    def action_choose(self) -> None:
        """Choose the row under the cursor."""
        if 0 <= self.cursor < self.count() and self.selectable(self.cursor):
            self.chosen(self.cursor)

    def put_cursor(self, y: int) -> None:
        """Put the cursor on a row and show it."""
        before = self.cursor
        if y != before:
            self.cursor = y
            self.moved()
        self.show_cursor()
        self.refresh_line(before)
        self.refresh_line(y)

    def show_cursor(self) -> None:
        """Scroll so that the cursor is seen."""
        if self.size.height:
            self.scroll_to_region(Region(0, self.cursor, 1, 1), animate=False, force=True)

    def rows_changed(self) -> None:
        """Call when the number or the text of rows changed."""
        total = self.count()
        self._fit(total)
        if total and not (self.cursor < total and self.selectable(self.cursor)):
            self.cursor = self._nearest(min(self.cursor, total - 1))
        self._refresh_changed(total)

    def look(self, y: int, width: int) -> object:
        """What a row looks like, to tell whether it must be drawn again."""
        return self.row(y, width)

    def _fit(self, total: int) -> None:
        """The scroll range, without a layout of the whole screen."""
        self.set_reactive(Widget.virtual_size, Size(self.size.width, total))
        if self.is_attached and self.show_vertical_scrollbar:
            self.vertical_scrollbar.window_virtual_size = total
            if self.scroll_offset.y > self.max_scroll_y:
                self.scroll_to(y=self.max_scroll_y, animate=False)

    def _refresh_changed(self, total: int) -> None:
        """Draw the rows that look another way now; all of them where their number or the width changed."""
        width = self.room
        before, self._marks = self._marks, (width, [self.look(y, width) for y in range(total)])
        if before[0] != width or len(before[1]) != total:
            self.refresh()
            return
        for y, (old, new) in enumerate(zip(before[1], self._marks[1], strict=True)):
            if old != new:
                self.refresh_line(y)

    def _nearest(self, y: int) -> int:
        rows = [row for row in range(self.count()) if self.selectable(row)]
        return min(rows, key=lambda row: (abs(row - y), row)) if rows else 0

    def on_resize(self) -> None:
        """Rows may depend on the width; the cursor stays in sight."""
        self.rows_changed()
        self.show_cursor()

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor and chooses."""
        y = event.y + self.scroll_offset.y - (1 if self.styles.border_top[0] else 0)
        if 0 <= y < self.count() and self.selectable(y):
            self.put_cursor(y)
            self.chosen(y)

    # --- drawing --------------------------------------------------------------------------------------------------

    def render_lines(self, crop: Region) -> list[Strip]:
        """Styles are looked up once for all lines of one drawing."""
        self._styles = {"": self.rich_style}
        return super().render_lines(crop)

    def role_style(self, role: str, on_cursor: bool) -> Style:
        """The style of a role, over the widget's own and the cursor's."""
        key = f"{role}|" if on_cursor else role
        if key not in self._styles:
            base = self._styles.get("") or self.rich_style
            if on_cursor:
                base = base + self.get_component_rich_style("rows--cursor", partial=True)
            own = self.get_component_rich_style(f"rows--{role}", partial=True) if role else Style.null()
            self._styles[key] = base + own
        return self._styles[key]

    def render_line(self, y: int) -> Strip:
        """One visible line."""
        at, width, full = y + self.scroll_offset.y, self.room, self.scrollable_content_region.width
        if at >= self.count():
            return Strip.blank(full, self.role_style("", False))
        on_cursor = at == self.cursor and self.selectable(at) and self.shows_cursor()
        pieces = self.row(at, width)
        strip = Strip([Segment(text, self.role_style(role, on_cursor)) for text, role in pieces if text])
        return strip.adjust_cell_length(full, self.role_style("", on_cursor))

    def shows_cursor(self) -> bool:
        """Whether the cursor's row is marked."""
        return True


class StillRows(Rows):
    """Lines of a text: the keys scroll it, and none of them is chosen."""

    def shows_cursor(self) -> bool:
        """A text has no chosen line."""
        return False

    def show_cursor(self) -> None:
        """A text stays where it was put, at another size too."""

    def action_move(self, by: int) -> None:
        """Scroll."""
        self.scroll_relative(y=by, animate=False)
