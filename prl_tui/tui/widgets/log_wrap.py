"""A log whose long lines may be wrapped: only the lines in sight are laid out, however long the log is.

The scroll position stays a number of lines; of the first line in sight some rows may be above the view (`_skip`). So
nothing counts the rows of a whole log: the end is found from the last lines backwards, a step by the lines it crosses.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.cells import get_character_cell_size
from textual.cache import LRUCache
from textual.geometry import Size
from textual.widget import Widget

from prl_tui.telemetry.escapes import decode, plain
from prl_tui.telemetry.line_index import LINE_LIMIT
from prl_tui.tui.widgets.ansi_strip import Paint
from prl_tui.tui.widgets.log_pane import LogPane

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.strip import Strip

    from prl_tui.tui.widgets.log_pane import _Key

WRAPPED_LIMIT = 1 << 16
"""Bytes of a line that are shown where it is wrapped, its last ones."""
WHEEL = 3
"""Rows of one turn of the wheel."""
_Place = tuple[int, int]
"""A line, and a row of it."""


def row_starts(text: str, width: int) -> Sequence[int]:
    """In which cells of a plain line its rows begin, at `width` cells a row; a wide character is never halved."""
    width = max(1, width)
    return range(0, max(1, len(text)), width) if text.isascii() else _starts_of_wide(text, width)


@lru_cache(maxsize=128)
def _starts_of_wide(text: str, width: int) -> tuple[int, ...]:
    starts, cell = [0], 0
    for char in text:
        size = get_character_cell_size(char)
        if cell + size > starts[-1] + width and cell > starts[-1]:
            starts.append(cell)
        cell += size
    return tuple(starts)


class WrapPane(LogPane):
    """A log pane with `wrapped`: whether long lines go on in the next row."""

    wrapped = False
    _skip = 0
    """Rows of the first line in sight that are above the view."""
    _end_at: _Place = (0, 0)
    """The first line and row in sight when the last row is at the bottom."""

    def wrap(self, on: bool) -> None:
        """Wrap long lines, or cut them again; the first line in sight stays there, or the end does."""
        self.wrapped = on
        self._skip = 0
        self._limit = WRAPPED_LIMIT if on else LINE_LIMIT
        self._row_cache: LRUCache[_Key, list[Strip]] = LRUCache(512)
        line = round(self.scroll_y)
        self._fit()
        if self.following:
            self._go_to_end()
        elif on:
            self._stand((line, 0))
        else:
            self._place(0, min(line, self.max_scroll_y))
        self.refresh()

    # --- where it stands -------------------------------------------------------------------------------------

    def move(self, rows: int) -> None:
        """Scroll by rows; at the end it follows."""
        place = self._further((round(self.scroll_y), self._skip), rows)
        if place >= self._end_at:
            self.follow()
            return
        self._set_following(False)
        self._stand(place)
        self.refresh()

    def go_to_line(self, line: int, column: int | None = None) -> None:
        """Bring a line (from 0), and its row with `column`, into sight; mark it and stop to follow."""
        super().go_to_line(line, column)
        if self.wrapped:
            row = bisect_right(self._starts(line), column or 0) - 1
            self._stand(self._further((line, row), -(self.size.height // 3)))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The scroll bar moves by whole lines."""
        super().watch_scroll_y(old_value, new_value)
        if self.wrapped:
            self._skip = 0
            if self.following:
                self._go_to_end()
            self.refresh()

    def notify_style_update(self) -> None:
        """Other colours: nothing that was drawn counts any more."""
        super().notify_style_update()
        if self.wrapped:
            self._row_cache.clear()

    def _stand(self, place: _Place) -> None:
        line, self._skip = min(place, self._end_at)
        self._place(0, line)

    def _go_to_end(self) -> None:
        if self.wrapped:
            self._stand(self._end_at)
        else:
            super()._go_to_end()

    def _fit(self) -> None:
        """Wrapped, the end is where the last rows fill the view."""
        super()._fit()
        if self.wrapped:
            self._end_at = self._find_end()
            height = self._end_at[0] + self.size.height
            self.set_reactive(Widget.virtual_size, Size(self._pane_width, height))
            if self.is_attached and self.show_vertical_scrollbar:
                self.vertical_scrollbar.window_virtual_size = height

    def _widen(self, width: int) -> None:
        if not self.wrapped:
            super()._widen(width)

    def _find_end(self) -> _Place:
        height = max(1, self.size.height)
        first = max(0, self.lines - height)
        left = height
        raws = self._source.read_lines(first, height, self._limit) if self._source else []
        for n in range(len(raws) - 1, -1, -1):
            rows = len(row_starts(plain(raws[n]), self._text_width))
            if rows >= left:
                return first + n, rows - left
            left -= rows
        return first, 0

    def _starts(self, line: int) -> Sequence[int]:
        raws = self._source.read_lines(line, 1, self._limit) if self._source else []
        return row_starts(plain(raws[0]) if raws else "", self._text_width)

    def _further(self, place: _Place, rows: int) -> _Place:
        """So many rows further, at most to the first or the last row."""
        line, row = place[0], place[1] + rows
        while row < 0:
            if line == 0:
                return 0, 0
            line -= 1
            row += len(self._starts(line))
        while row >= (there := len(self._starts(line))):
            if line + 1 >= self.lines:
                return line, there - 1
            row -= there
            line += 1
        return line, row

    # --- keys and the wheel ----------------------------------------------------------------------------------

    def action_wrap(self) -> None:
        """Wrap long lines, or cut them again."""
        self.wrap(not self.wrapped)

    def action_scroll_up(self) -> None:
        """One row, or line, up."""
        self.move(-1) if self.wrapped else super().action_scroll_up()

    def action_scroll_down(self) -> None:
        """One row, or line, down."""
        self.move(1) if self.wrapped else super().action_scroll_down()

    def action_page_up(self) -> None:
        """A view's height up."""
        self.move(-self.size.height) if self.wrapped else super().action_page_up()

    def action_page_down(self) -> None:
        """A view's height down."""
        self.move(self.size.height) if self.wrapped else super().action_page_down()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Rows, not whole lines, where lines are wrapped."""
        self._wheel(event, -WHEEL)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Rows, not whole lines, where lines are wrapped."""
        self._wheel(event, WHEEL)

    def _wheel(self, event: events.MouseEvent, rows: int) -> None:
        if self.wrapped:
            event.stop()
            event.prevent_default()
            self.move(rows)

    # --- drawing ---------------------------------------------------------------------------------------------

    def _strips(self, first: int, count: int) -> list[Strip]:
        if not self.wrapped or self._source is None or not self.lines:
            return super()._strips(first, count)
        top, last = self.scroll_offset.y, first + count
        paint = Paint(self, "log-view", 0, self._text_width)
        strips: list[Strip] = []
        for n, raw in enumerate(self._source.read_lines(top, last, self._limit)):
            skip = 0 if n else self._skip
            rows = self._rows_of(raw, paint, top + n, skip, last - len(strips))
            if self._gutter:
                rows = [self._framed(row, -1 if at or skip else top + n, paint) for at, row in enumerate(rows)]
            strips += rows
            if len(strips) >= last:
                break
        strips = strips[first:last]
        return strips + [self._blank(paint)] * (count - len(strips))

    def _rows_of(self, raw: bytes, paint: Paint, line: int, skip: int, most: int) -> list[Strip]:
        """At most so many rows of a line, after the skipped ones; at least its last one."""
        current, cut = line == self.current_line, self._lacks_its_start(raw, line)
        key = (raw, 0, paint.width, paint.style, self.needle, current, cut)
        rows = self._row_cache.get(key)
        if rows is None:
            text = decode(raw)
            starts = row_starts(plain(text), paint.width)
            if (
                len(raw) > LINE_LIMIT
            ):  # its rows may be thousands: those in sight are all that is drawn, and none is kept
                skip = min(skip, len(starts) - 1)
                wanted = starts[skip : skip + most + 1]  # the one after them says where the last one ends
                return paint.rows(text, wanted, self.spans(text), current, cut)[:most]
            rows = self._row_cache[key] = paint.rows(text, starts, self.spans(text), current, cut)
        return rows[min(skip, len(rows) - 1) :]
