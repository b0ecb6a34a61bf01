"""Curves of one to three metrics over the steps, with fixed-width axis labels.

Drawing is `telemetry.chart_text`; this widget adds colours and draws again only when a series, the size or the
colours changed. Values that are not finite are marked in the top row, whatever the scale.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from prl_tui.i18n import cells, t
from prl_tui.telemetry.chart_text import (
    LABEL,
    MARK,
    Frame,
    Plot,
    draw,
    format_value,
    frame_of,
    points_of,
    step_line,
    value_labels,
)
from prl_tui.telemetry.escapes import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.style import Style

    from prl_tui.telemetry.series import Series

LINES = ("line-chart--first", "line-chart--second", "line-chart--third")
_EMPTY = 0x2800
_MARKED = -1
_Run = tuple[str, int]
"""Text and the number of its curve, or _MARKED."""


class LineChart(Widget):
    """Shows series that grow; hand it the newest views with `set_series`."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {*LINES, "line-chart--label", "line-chart--mark"}
    DEFAULT_CSS = """
    LineChart {
        height: 1fr;
        & > .line-chart--first { color: $accent; }
        & > .line-chart--second { color: $secondary; }
        & > .line-chart--third { color: $primary; }
        & > .line-chart--label { color: $secondary; }
        & > .line-chart--mark { color: $error; text-style: bold; }
    }
    """

    def __init__(
        self,
        title: str = "",
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002  (Textual's name for it)
        classes: str | None = None,
    ) -> None:
        """`title` stands for the names of the series, where they say less."""
        super().__init__(name=name, id=id, classes=classes)
        self._title = title
        self._curves: dict[str, Series] = {}
        self._picture: list[Strip] = []
        self._drawn_for: object = None

    def set_title(self, title: str) -> None:
        """Another heading; empty: the names of the series."""
        if title != self._title:
            self._title = title
            self._drawn_for = None
            self.refresh()

    def set_series(self, curves: Mapping[str, Series]) -> None:
        """Draw these, at most three, by name; costs nothing when they are the ones already drawn."""
        chosen = dict(list(curves.items())[: len(LINES)])
        if chosen != self._curves:
            self._curves = chosen
            self._drawn_for = None
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """One line of the picture."""
        width, height = self.size
        wanted = (width, height, self.visual_style)
        if wanted != self._drawn_for:
            self._picture = [strip.crop_extend(0, width, self._style()) for strip in self._draw(width, height)]
            self._drawn_for = wanted
        return self._picture[y] if y < len(self._picture) else Strip.blank(width, self._style())

    def notify_style_update(self) -> None:
        """Other colours: the picture counts no more."""
        super().notify_style_update()
        self._drawn_for = None

    def _style(self, component: str = "") -> Style:
        return self.get_component_rich_style(component) if component else self.visual_style.rich_style

    def _draw(self, width: int, height: int) -> Iterator[Strip]:
        yield Strip(self._heading(width))
        points = [points_of(curve) for curve in self._curves.values()]
        frame = frame_of(points)
        rows = height - 2
        if frame is None or rows < 1 or width <= LABEL + 8:
            return
        plots = [draw(curve, frame, width - LABEL - 1, rows) for curve in points]
        yield from self._body(frame, plots, rows)
        yield Strip([Segment(step_line(frame, width), self._style("line-chart--label"))])

    def _body(self, frame: Frame, plots: Sequence[Plot], rows: int) -> Iterator[Strip]:
        label_style = self._style("line-chart--label")
        styles = [self._style(component) for component in (*LINES, "line-chart--mark")]  # _MARKED is the last
        marks = frozenset[int]().union(*(plot.marks for plot in plots))
        for number, label in enumerate(value_labels(frame, rows)):
            runs = _overlay([plot.rows[number] for plot in plots], marks if number == 0 else frozenset())
            segments = [Segment(text, styles[curve]) for text, curve in runs]
            yield Strip([Segment(f"{label} ", label_style), *segments])

    def _heading(self, width: int) -> list[Segment]:
        """Names on the left, newest values on the right, where columns don't move when values change."""
        names = list(self._curves) or [""]
        values = [format_value(curve[-1][1]) if len(curve) else "" for curve in self._curves.values()]
        right = "".join(f" {value:>{LABEL}}" for value in values) if any(values) else t("no points yet")
        left = plain(self._title) or "  ".join(plain(name) for name in names)
        room = max(0, width - cells(right))
        style = self._style()
        if self._title or len(names) == 1:
            name_parts = [Segment(left, style)]
        else:
            name_parts = [
                Segment(f"{plain(name)}  ", self._style(component))
                for name, component in zip(names, LINES, strict=False)
            ]
        strip = Strip(name_parts).crop_extend(0, room, style)
        return [*strip, Segment(right, style)]


def _overlay(rows: Sequence[str], marks: frozenset[int]) -> list[_Run]:
    """One plot row of all curves: dots of all, in the colour of the last that has any in the cell."""
    if len(rows) == 1 and not marks:
        return [(rows[0], 0)]
    cells: list[_Run] = []
    for column, parts in enumerate(zip(*rows, strict=True)):
        dots = [ord(part) - _EMPTY if part != " " else 0 for part in parts]
        owner = max((number for number, dot in enumerate(dots) if dot), default=0)
        together = 0
        for dot in dots:
            together |= dot
        if column in marks:
            cells.append((MARK, _MARKED))
        else:
            cells.append((chr(_EMPTY + together) if together else " ", owner))
    return [("".join(text for text, _ in group), owner) for owner, group in groupby(cells, key=lambda cell: cell[1])]
