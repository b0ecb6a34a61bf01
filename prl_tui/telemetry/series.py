"""A metric over the steps: grows cheaply, is handed over without copying, and never loses a spike.

A buffer is two arrays that are only appended to; a `Series` is a view of their first n entries, so handing one
over costs nothing and it stays true while the buffer grows. A full buffer keeps, of each group of points, the
smallest, the largest and one that is not finite.
"""

from __future__ import annotations

import math
from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CAPACITY = 32_768
"""Points of one series that are kept before it is thinned out: half a MiB."""
_GROUP = 4


class Series:
    """An immutable run of (step, value) points; equal only to itself."""

    __slots__ = ("_count", "_steps", "_values", "ascending", "generation")

    def __init__(self, steps: array[int], values: array[float], count: int, generation: int, ascending: bool) -> None:
        self._steps = steps
        self._values = values
        self._count = count
        self.generation = generation
        """Views of one buffer with the same generation share their beginning."""
        self.ascending = ascending
        """Whether no step is smaller than the one before it."""

    @classmethod
    def of(cls, points: Iterable[tuple[int, float]]) -> Series:
        """A series of given points."""
        buffer = SeriesBuffer()
        for step, value in points:
            buffer.append(step, value)
        return buffer.view()

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[tuple[int, float]]:
        return zip(self.steps(), self.values(), strict=True)

    def __getitem__(self, index: int) -> tuple[int, float]:
        if not -self._count <= index < self._count:
            raise IndexError(index)
        index %= self._count
        return self._steps[index], self._values[index]

    def __repr__(self) -> str:
        return f"Series({self._count} points)"

    def steps(self, start: int = 0) -> array[int]:
        """Steps from point `start` on, as a copy."""
        return self._steps[start : self._count]

    def values(self, start: int = 0) -> array[float]:
        """Values from point `start` on, as a copy."""
        return self._values[start : self._count]

    def continues(self, earlier: Series) -> bool:
        """Whether this one begins with all the points of `earlier`, so that only the rest is new."""
        return (
            self._values is earlier._values and self.generation == earlier.generation and self._count >= earlier._count
        )


class SeriesBuffer:
    """The growing side of a series."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._steps = array("q")
        self._values = array("d")
        self._generation = 0
        self._ascending = True
        self._view: Series | None = None

    def append(self, step: int, value: float) -> None:
        """Add one point; the oldest lose detail when the buffer is full."""
        if self._steps and step < self._steps[-1]:
            self._ascending = False
        self._steps.append(step)
        self._values.append(value)
        self._view = None
        if len(self._values) >= self._capacity:
            self._thin_out()

    def view(self) -> Series:
        """The points so far; the same object until one is added."""
        if self._view is None:
            self._view = Series(self._steps, self._values, len(self._values), self._generation, self._ascending)
        return self._view

    def _thin_out(self) -> None:
        steps, values = array("q"), array("d")
        for start in range(0, len(self._values), _GROUP):
            for index in _kept(self._values, range(start, min(start + _GROUP, len(self._values)))):
                steps.append(self._steps[index])
                values.append(self._values[index])
        self._steps, self._values = steps, values  # views of before keep the old arrays
        self._generation += 1


def _kept(values: array[float], group: range) -> list[int]:
    """Indexes in `group` of the smallest and the largest value and of the last one that is not finite."""
    finite = [index for index in group if math.isfinite(values[index])]
    odd = [index for index in group if not math.isfinite(values[index])]
    kept = set(odd[-1:])
    if finite:
        kept |= {min(finite, key=values.__getitem__), max(finite, key=values.__getitem__)}
    return sorted(kept)
