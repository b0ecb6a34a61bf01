"""A curve as braille text: every pixel column keeps its smallest and its largest value, so spikes survive.

The cost hardly depends on the number of points: columns are found by bisection, their extremes by `min` and `max`
over array slices. NaN and infinities are dropped before scaling (one infinity would flatten everything else) and
reported by column, to be marked apart; the line is not drawn across them.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

from prl_tui.i18n import cells, fit, t

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from prl_tui.telemetry.series import Series

LABEL = 8
"""Cells of a value label; fixed, so that nothing moves when values change."""
MARK = "×"
"""Stands in the top row where values were not finite."""

_BLANK = " "
_LEFT_DOTS = (0x40, 0x04, 0x02, 0x01)  # by bit of a nibble, lowest bit = lowest dot
_RIGHT_DOTS = (0x80, 0x20, 0x10, 0x08)


def _cells() -> dict[tuple[str, str], str]:
    """Braille character of two hexadecimal digits: the dots of its left and of its right column."""
    table = {}
    for left in range(16):
        for right in range(16):
            dots = sum(dot for bit, dot in enumerate(_LEFT_DOTS) if left >> bit & 1)
            dots += sum(dot for bit, dot in enumerate(_RIGHT_DOTS) if right >> bit & 1)
            table[f"{left:x}", f"{right:x}"] = chr(0x2800 + dots) if dots else _BLANK
    return table


_CELL = _cells()


@dataclass(frozen=True, slots=True)
class Frame:
    """What a plot's axes span."""

    first_step: int
    last_step: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Plot:
    """The drawn area of one curve."""

    rows: tuple[str, ...]
    """Top row first, all of the same width."""
    marks: frozenset[int]
    """Cell columns with values that were not finite."""


class _Column(NamedTuple):
    """Finite values of one pixel column."""

    number: int
    low: float
    high: float
    first: float
    last: float
    joined: bool
    """No value that is not finite stands between this column and the one before."""


@dataclass(frozen=True, slots=True)
class Points:
    """A curve's points ready to be drawn: by step, the finite ones apart from the others."""

    steps: array[int]
    values: array[float]
    odd_steps: tuple[int, ...] = ()
    """Steps whose values are NaN or infinite."""


def points_of(curve: Series) -> Points:
    """The points of a series in the order of their steps (a resumed run may have gone back)."""
    steps, values = curve.steps(), curve.values()
    if not curve.ascending:
        order = sorted(range(len(steps)), key=steps.__getitem__)
        steps = array("q", [steps[index] for index in order])
        values = array("d", [values[index] for index in order])
    if math.isfinite(sum(values)):
        return Points(steps, values)
    finite = [value - value == 0 for value in values]  # inf - inf and nan - nan are nan
    odd = tuple(step for step, kept in zip(steps, finite, strict=True) if not kept)
    return Points(array("q", compress(steps, finite)), array("d", compress(values, finite)), odd)


def frame_of(curves: Sequence[Points]) -> Frame | None:
    """The axes that hold all curves; None without a finite value."""
    drawn = [curve for curve in curves if len(curve.values)]
    if not drawn:
        return None
    edges = [curve.steps[index] for curve in drawn for index in (0, -1)]
    edges += [curve.odd_steps[index] for curve in drawn if curve.odd_steps for index in (0, -1)]
    return Frame(
        min(edges),
        max(edges),
        min(min(curve.values) for curve in drawn),
        max(max(curve.values) for curve in drawn),
    )


def draw(curve: Points, frame: Frame, width: int, height: int) -> Plot:
    """The curve in `width` x `height` cells, 2 x 4 dots each."""
    pixels = 2 * width
    span = max(1, frame.last_step - frame.first_step)
    odd_columns = sorted({(step - frame.first_step) * (pixels - 1) // span for step in curve.odd_steps})
    columns = _columns(curve, frame, pixels, odd_columns)
    bits = _raster(columns, frame, pixels, 4 * height)
    digits = [f"{column:0{height}x}" for column in bits]
    rows = tuple(
        "".join(map(_CELL.__getitem__, zip(row[::2], row[1::2], strict=True))) for row in zip(*digits, strict=True)
    )
    return Plot(rows, frozenset(column // 2 for column in odd_columns))


def chart_text(curve: Series, width: int, height: int, title: str = "") -> str:
    """A chart with axis labels as plain text of `height` lines, each at most `width` cells."""
    return "\n".join(line.rstrip() for line in chart_lines(curve, width, height, title))


def chart_lines(curve: Series, width: int, height: int, title: str = "") -> list[str]:
    """The lines of `chart_text`, padded to `width`."""
    head = [headline(title, curve, width)] if title else []
    points = points_of(curve)
    frame = frame_of([points])
    rows = height - len(head) - 1
    if frame is None or rows < 1 or width <= LABEL + 8:
        lines = [*head, *([] if head else [headline("", curve, width)])]
        return (lines + [" " * width] * height)[:height]
    plot = draw(points, frame, width - LABEL - 1, rows)
    body = [
        f"{label} {marked(row, plot.marks) if number == 0 else row}"
        for number, (label, row) in enumerate(zip(value_labels(frame, rows), plot.rows, strict=True))
    ]
    return [*head, *body, step_line(frame, width)]


def headline(title: str, curve: Series, width: int) -> str:
    """Title on the left, newest value on the right; says so when there are no points."""
    newest = format_value(curve[-1][1]) if len(curve) else t("no points yet")
    room = max(0, width - cells(newest) - 1)
    return fit(f"{fit(title, room)} {newest}", width)


def value_labels(frame: Frame, rows: int) -> list[str]:
    """Label of each plot row, LABEL cells wide: the largest value at the top, the smallest at the bottom."""
    labels = [" " * LABEL] * rows
    labels[-1] = f"{format_value(frame.low):>{LABEL}}"
    labels[0] = f"{format_value(frame.high):>{LABEL}}"
    return labels


def step_line(frame: Frame, width: int) -> str:
    """The line below the plot: first step on the left, last on the right."""
    left = t("step {first}", first=f"{frame.first_step:,}")
    right = f"{frame.last_step:,}"
    room = width - LABEL - 1 - len(right)
    return fit(f"{'':{LABEL}} {fit(left, room)}{right}", width)


def marked(row: str, marks: frozenset[int]) -> str:
    """The top row of a plot, with MARK where values were not finite."""
    return "".join(MARK if column in marks else cell for column, cell in enumerate(row)) if marks else row


def format_value(value: float) -> str:
    """At most LABEL characters, three significant digits where they fit."""
    for digits in (4, 3, 2, 1):
        text = f"{value:.{digits}g}"
        if len(text) <= LABEL:
            return text
    return f"{value:.0e}"


def _columns(curve: Points, frame: Frame, pixels: int, odd: list[int]) -> Iterator[_Column]:
    """The pixel columns that have values, from left to right."""
    span = max(1, frame.last_step - frame.first_step)
    steps, values = curve.steps, curve.values
    start, previous = 0, -1
    while start < len(steps):
        number = (steps[start] - frame.first_step) * (pixels - 1) // span
        # The first step that falls into the next column: (step - first) * (pixels - 1) >= (number + 1) * span
        edge = frame.first_step - (-(number + 1) * span // (pixels - 1))
        end = bisect_left(steps, edge, start + 1)
        part = values[start:end]
        joined = previous >= 0 and not _between(odd, previous, number)
        yield _Column(number, min(part), max(part), part[0], part[-1], joined)
        start, previous = end, number


def _between(sorted_numbers: list[int], low: int, high: int) -> bool:
    index = bisect_left(sorted_numbers, low)
    return index < len(sorted_numbers) and sorted_numbers[index] <= high


def _raster(columns: Iterable[_Column], frame: Frame, pixels: int, dots: int) -> list[int]:
    """One integer per pixel column: its dots as bits, the highest bit on top."""
    bits = [0] * pixels
    unit = 1.0 if math.isfinite(frame.high - frame.low) else 0.25
    reach = frame.high * unit - frame.low * unit
    scale = (dots - 1) / reach if reach > 0 else math.inf
    base = frame.low * unit
    if not math.isfinite(scale):  # all values are one: in the middle
        scale, base = 1.0, base - (dots - 1) / 2
    previous_number, previous_dot = -1, 0.0
    for column in columns:
        low, high, first, last = (
            (value * unit - base) * scale for value in (column.low, column.high, column.first, column.last)
        )
        if column.joined:
            touched = _join(bits, previous_number, previous_dot, column.number, first)
            low, high = min(low, touched), max(high, touched)  # so that the line has no gaps
        bottom, top = round(low), round(high)
        bits[column.number] |= ((1 << (top - bottom + 1)) - 1) << bottom
        previous_number, previous_dot = column.number, last
    return bits


def _join(bits: list[int], left: int, left_dot: float, right: int, right_dot: float) -> float:
    """A straight line over the empty columns between two; the dot that the right one must touch."""
    slope = (right_dot - left_dot) / (right - left)
    previous = round(left_dot)
    for offset in range(1, right - left):
        dot = round(left_dot + slope * offset)
        low, high = min(previous, dot), max(previous, dot)
        bits[left + offset] |= ((1 << (high - low + 1)) - 1) << low
        previous = dot
    return left_dot + slope * (right - left - 1)
