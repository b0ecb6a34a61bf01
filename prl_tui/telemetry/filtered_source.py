"""A log as only those lines of it that pass a filter; each keeps the number that it has in the log.

The lines are found on a thread (`LineScan`), the newest first: the end is in sight at once, older ones come to stand
above it. A line that is still being written, such as a bar, is tested anew at each look.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from prl_tui.telemetry.line_index import LINE_LIMIT
from prl_tui.telemetry.line_scan import LineScan
from prl_tui.telemetry.tail_first import TailFirst

if TYPE_CHECKING:
    from prl_tui.telemetry.line_index import LineSource
    from prl_tui.telemetry.line_tests import LineFilter

_KEPT = 256
"""Lines that are kept; each is as long as it was wanted."""
_NEAR = 8
"""Lines from one to the next that are read at once: to find a line costs as much as to read some."""


class FilteredSource:
    """Line source of the lines of another one that pass; that one is taken in here and nowhere else meanwhile."""

    def __init__(self, base: LineSource, wanted: LineFilter) -> None:
        self.base = base
        self.wanted = wanted
        self.lock = threading.RLock()
        self.generation = self.moved = 0
        self.scan = LineScan(base, wanted, shown=False).start()
        self._seen = base.generation
        self._read: dict[tuple[int, int], bytes] = {}
        """Complete lines that were read last, by number and limit: each drawing wants almost the same ones."""
        self._open: tuple[int, ...] = ()
        """Unfinished lines that pass, by their numbers."""
        self._goal: int | None = None
        """Complete lines of the log when it was first counted to its end: once they are tested, others are new."""

    @property
    def complete_lines(self) -> int:
        """Lines that pass and have their newline."""
        return len(self.scan.lines)

    @property
    def lines(self) -> int:
        """How many pass so far."""
        return len(self.scan.lines) + len(self._open)

    @property
    def catching_up(self) -> bool:
        """Whether lines that were there when somebody began to look have still to be counted or tested."""
        return self._goal is None or not self.scan.counted or self.scan.end < self._goal

    @property
    def problem(self) -> OSError | None:
        """Why the log cannot be read now, or None."""
        return self.base.problem

    def update(self, budget: int = 4 << 20) -> int:
        """Take in new bytes and what the thread has found; not 0 where that changes what is shown."""
        if isinstance(self.base, TailFirst):
            self.base.at_end = False  # numbers are wanted, and the thread counts
        if self.base.update(budget):
            self.scan.look()
        above, changed = self.scan.take()
        if self.base.generation != self._seen:
            self._seen = self.base.generation
            self.generation += 1
            self.moved = 0
            self._read = {}
            self._goal = None
            changed = True
        self.moved += above
        still_open = self.scan.unfinished()
        changed = changed or bool(still_open) or still_open != self._open
        self._open = still_open
        if self._goal is None and self._is_counted():
            self._goal = self.base.complete_lines
        return int(changed)

    def _is_counted(self) -> bool:
        """Whether all lines of the log have their numbers."""
        return self.base.whole if isinstance(self.base, TailFirst) else not self.base.catching_up

    def read_lines(self, first: int, count: int, limit: int = LINE_LIMIT) -> list[bytes]:
        """Lines at places `first` to `first + count - 1` of those that pass."""
        numbers = self.numbers(first, count)
        if count > _KEPT:
            return self._rows(numbers, limit)
        missing = [number for number in numbers if (number, limit) not in self._read]
        rows = dict(zip(missing, self._rows(missing, limit), strict=False))
        found = [self._read.get((number, limit), rows.get(number)) for number in numbers]
        complete = self.base.complete_lines
        whole = {(number, limit): row for number, row in rows.items() if number < complete}
        if len(self._read) + len(whole) > _KEPT:
            wanted = {(number, limit) for number in numbers}
            self._read = {key: row for key, row in self._read.items() if key in wanted}
        self._read |= whole
        end = found.index(None) if None in found else len(found)  # the file shrank under us; the next update says so
        return [row for row in found[:end] if row is not None]

    def _rows(self, numbers: list[int], limit: int) -> list[bytes]:
        found: list[bytes] = []
        while numbers:
            near = next((n for n in range(1, len(numbers)) if numbers[n] - numbers[n - 1] > _NEAR), len(numbers))
            start = numbers[0]
            rows = self.base.read_lines(start, numbers[near - 1] - start + 1, limit)
            found += [rows[number - start] for number in numbers[:near] if number - start < len(rows)]
            if len(rows) <= numbers[near - 1] - start:
                break
            numbers = numbers[near:]
        return found

    def numbers(self, first: int, count: int) -> list[int]:
        """The numbers in the log, from 0, of the lines at these places."""
        if first < 0 or count <= 0:
            return []
        found = self.scan.lines.between(first, count)
        skipped = max(0, first - len(self.scan.lines))
        return found + list(self._open[skipped : skipped + count - len(found)])

    def place_of(self, line: int) -> int:
        """Where the line of the log is, or the first one after it that passes."""
        place = self.scan.lines.before(line)
        return place + sum(number < line for number in self._open)

    def close(self) -> None:
        """Stop to look; the log itself stays open."""
        self.scan.stop()
