"""A log line's pieces as a Textual strip: its own colours on the widget's, found texts marked.

Strips are made of segments, never of markup: brackets in a log are brackets.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from prl_tui.telemetry.escapes import Look, Piece, pieces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prl_tui.telemetry.escapes import Colour

Span = tuple[int, int]
"""First character and the one after the last, in the plain text."""


def to_strip(text: str, base: Style, spans: Sequence[Span] = (), mark: Style | None = None) -> Strip:
    """The strip of a decoded line; `spans` of its plain text (ascending, apart) are drawn with `mark`."""
    found = pieces(text)
    if mark is not None and spans:
        segments = [
            Segment(part, style + mark if marked else style) for part, style, marked in _cut(found, base, spans)
        ]
    else:
        segments = [Segment(piece.text, _on(base, piece.look)) for piece in found]
    width = sum(_width(segment.text) for segment in segments)
    return Strip(segments, width)


def _width(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)


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
