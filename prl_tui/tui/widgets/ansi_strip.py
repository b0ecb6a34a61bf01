"""A log line's pieces as the segments of a Textual strip: its own colours on the widget's, found texts marked.

Segments are no markup: brackets in a log are brackets.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

from rich.cells import get_character_cell_size
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from prl_tui.telemetry.escapes import Look, Piece, pieces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from textual.widget import Widget

    from prl_tui.telemetry.escapes import Colour

CUT = "…"
"""Stands in the first or last cell of a row whose line goes on there."""
_LEAST_MARKED = 3
"""Cells of a row that has room for the sign at both ends."""
Span = tuple[int, int]
"""First character and the one after the last, in the plain text."""


def window(
    text: str, base: Style, x: int, width: int, spans: Sequence[Span] = (), mark: Style | None = None
) -> tuple[list[Segment], int]:
    """Columns `x` to `x + width` of a decoded line, padded to just that width, and the width of the whole line.

    `spans` of its plain text (ascending, apart) are drawn with `mark`.
    """
    parts = _styled(text, base, spans, mark)
    if not all(part.isascii() for part, _ in parts):
        strip = Strip([Segment(part, style) for part, style in parts])
        return list(strip.crop_extend(x, x + width, base)), strip.cell_length
    segments: list[Segment] = []
    start = room = 0
    for part, style in parts:  # one character is one cell
        shown = part[max(0, x - start) : max(0, x + width - start)]
        if shown:
            segments.append(Segment(shown, style))
            room += len(shown)
        start += len(part)
    if room < width:
        segments.append(Segment(" " * (width - room), base))
    return segments, start


def _styled(text: str, base: Style, spans: Sequence[Span], mark: Style | None) -> list[tuple[str, Style]]:
    """A decoded line in parts that are drawn alike."""
    found = pieces(text)
    if mark is not None and spans:
        return [(part, style + mark if marked else style) for part, style, marked in _cut(found, base, spans)]
    return [(piece.text, _on(base, piece.look)) for piece in found]


def _in_rows(parts: Sequence[tuple[str, Style]], starts: Sequence[int], width: int) -> list[list[Segment]]:
    """The parts in rows that begin in these cells, in one pass; what is before the first and after the last one goes."""
    edges = [*starts, starts[-1] + width]
    rows: list[list[Segment]] = [[] for _ in starts]
    cell = 0
    for text, style in parts:
        places: Sequence[int] = range(cell, cell + len(text) + 1)
        if not text.isascii():
            places = tuple(accumulate(map(get_character_cell_size, text), initial=cell))
        for row in range(max(0, bisect_right(edges, cell) - 1), len(rows)):
            if edges[row] >= places[-1]:
                break
            shown = text[bisect_left(places, edges[row]) : bisect_left(places, edges[row + 1])]
            if shown:
                rows[row].append(Segment(shown, style))
        cell = places[-1]
        if cell >= edges[-1]:
            break
    return rows


def _cut(found: Sequence[Piece], base: Style, spans: Sequence[Span]) -> Iterator[tuple[str, Style, bool]]:
    """The pieces, cut where a span begins or ends."""
    edges = [edge for span in spans for edge in span]
    position, passed = 0, 0  # passed: edges at or before position; odd means inside a span
    for piece in found:
        style = _on(base, piece.look)
        end = position + len(piece.text)
        start = position
        while position < end:
            while passed < len(edges) and edges[passed] <= position:
                passed += 1
            stop = min(end, edges[passed]) if passed < len(edges) else end
            yield piece.text[position - start : stop - start], style, passed % 2 == 1
            position = stop


@lru_cache(maxsize=4096)
def _on(base: Style, look: Look) -> Style:
    if look == Look():
        return base
    return base + Style(
        color=_colour(look.foreground),
        bgcolor=_colour(look.background),
        bold=look.bold or None,
        dim=look.dim or None,
        italic=look.italic or None,
        underline=look.underline or None,
        reverse=look.reverse or None,
        strike=look.strike or None,
    )


def _colour(colour: Colour | None) -> Color | None:
    if colour is None:
        return None
    return Color.from_ansi(colour) if isinstance(colour, int) else Color.from_rgb(*colour)


class Paint:
    """Draws lines for one pass of a widget; what all lines need is looked up once.

    The widget has the component classes `PREFIX--found`, `PREFIX--current` and `PREFIX--cut`.
    """

    def __init__(self, widget: Widget, prefix: str, x: int, width: int) -> None:
        self.x = x
        self.width = width
        self.style = widget.visual_style.rich_style
        self._widget = widget
        self._prefix = prefix
        self._background = widget.background_colors[1]
        self._filters = widget.get_line_filters()
        self._own: dict[str, Style] = {}

    def strip(
        self, text: str, spans: Sequence[Span] = (), current: bool = False, without_start: bool = False
    ) -> tuple[Strip, int]:
        """The part of a line that is in sight, with the app's colour filters (NO_COLOR, palette) on it; cells of all of it.

        `CUT` stands where it goes on; `without_start`: before `text` there is more of it too.
        """
        style, mark = self._styles(spans, current)
        segments, width = window(text, style, self.x, self.width, spans, mark)
        left = without_start or (self.x > 0 and width > 0)
        return self._filtered(self._marked(segments, style, left, width > self.x + self.width)), width

    def _marked(self, segments: list[Segment], style: Style, left: bool, right: bool) -> list[Segment]:
        """With a sign in the first and the last cell of a row, where its line goes on there."""
        if not (left or right) or self.width < _LEAST_MARKED:
            return segments
        mark = [Segment(CUT, style + Style(color=self._component("cut").color))]
        inner = Strip(segments, self.width).crop(int(left), self.width - int(right))
        return [*(mark if left else []), *inner, *(mark if right else [])]

    def rows(
        self,
        text: str,
        starts: Sequence[int],
        spans: Sequence[Span] = (),
        current: bool = False,
        without_start: bool = False,
    ) -> list[Strip]:
        """All of a line in rows that begin in these cells, each as wide as the view; `without_start` as `strip`."""
        style, mark = self._styles(spans, current)
        found = []
        for start, segments in zip(
            starts, _in_rows(_styled(text, style, spans, mark), starts, self.width), strict=True
        ):
            row = list(Strip(segments).crop_extend(0, self.width, style))
            found.append(self._filtered(self._marked(row, style, without_start and start == 0, right=False)))
        return found

    def beside(self, text: str, name: str) -> list[Segment]:
        """A text of the view's own, in the style of its component `PREFIX--name`."""
        style = self._own.get(name)
        if style is None:
            component = self._widget.get_component_rich_style(f"{self._prefix}--{name}", partial=True)
            style = self._own[name] = self.style + component
        segments = [Segment(text, style)]
        for line_filter in self._filters:
            segments = line_filter.apply(segments, self._background)
        return segments

    def _styles(self, spans: Sequence[Span], current: bool) -> tuple[Style, Style | None]:
        style = self.style
        if current:  # only its background: the line keeps its own colours
            style += Style(bgcolor=self._component("current").bgcolor, bold=True)
        return style, self._component("found") if spans else None

    def _filtered(self, segments: list[Segment]) -> Strip:
        for line_filter in self._filters:
            segments = line_filter.apply(segments, self._background)
        return Strip(segments, self.width)

    def _component(self, name: str) -> Style:
        return self._widget.get_component_rich_style(f"{self._prefix}--{name}")
