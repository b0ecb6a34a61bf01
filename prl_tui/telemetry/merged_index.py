"""Several logs of one rank as one list of lines, in the order in which they were seen to arrive.

A rank under torchrun has two files, stdout and stderr, and neither carries times, so their true order is not on
disk. torchrun's own merge (`PET_TEE`) was measured with torch 2.13 and tqdm 4.70 and is no substitute: it turns
every carriage return into a line (a bar of 12 steps became 40 lines, most of them blank), starts one rank's text
in the middle of another's line, and cuts a line in two that was written in two parts. Here the order inside each
stream is exact; between streams it is that of arrival while somebody watches, and what was there before is shown
stream by stream in the order given, so that errors (stderr, last) are at the end. Unfinished last lines, usually
a progress bar, stay at the bottom, as they would on a terminal.
"""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING

from prl_tui.telemetry.line_index import LINE_LIMIT, LineIndex

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


class MergedIndex:
    """Line source over several files; see the module for what its order means."""

    def __init__(self, paths: Sequence[Path], *, from_end: bool = False) -> None:
        """`from_end`: begin near each file's end."""
        self.sources = tuple(LineIndex(path, from_end=from_end) for path in paths)
        self.lock = threading.RLock()
        self.generation = self.moved = 0
        self._start_again()

    @property
    def lines(self) -> int:
        """How many lines there are now, unfinished last ones included."""
        return self._placed + sum(source.lines > source.complete_lines for source in self.sources)

    @property
    def complete_lines(self) -> int:
        """Lines that have their newline; they come before those that have not."""
        return self._placed

    @property
    def behind(self) -> int:
        """Bytes that were there at the last update, and are not taken in yet."""
        return sum(source.behind for source in self.sources)

    @property
    def catching_up(self) -> bool:
        """Whether the last update left bytes for the next one."""
        return self.behind > 0

    @property
    def problem(self) -> OSError | None:
        """The first file's reason why it cannot be read now, or None."""
        return next((source.problem for source in self.sources if source.problem), None)

    def update(self, budget: int = 4 << 20) -> int:
        """Take in at most about `budget` new bytes; returns how many."""
        with self.lock:
            return self._update(budget)

    def _update(self, budget: int) -> int:
        used = 0
        for number, source in enumerate(self.sources):
            before = source.generation
            used += source.update(max(0, budget - used))
            if source.generation != before:
                self._start_again()
                self.generation += 1
                return used + self.update(0)
            self._place(number, source)
        return used

    def read_lines(self, first: int, count: int, limit: int = LINE_LIMIT) -> list[bytes]:
        """Lines `first` to `first + count - 1` as bytes, each cut to its last `limit` bytes."""
        wanted = min(count, self.lines - first)
        if first < 0 or wanted <= 0:
            return []
        found: list[bytes] = []
        segment = bisect_right(self._starts, first) - 1
        while len(found) < wanted and 0 <= segment < len(self._starts):
            skipped = first + len(found) - self._starts[segment]
            asked = min(self._length(segment) - skipped, wanted - len(found))
            source = self.sources[self._numbers[segment]]
            rows = source.read_lines(self._firsts[segment] + skipped, asked, limit)
            found += rows
            if len(rows) < asked:
                break  # the file shrank under us; the next update says so
            segment += 1
        if len(found) < wanted and first + len(found) >= self._placed:
            found += list(self._tails(limit))[first + len(found) - self._placed :]
        return found[:wanted]

    def line_of(self, path: Path, line: int) -> int | None:
        """Where line `line` (from 0) of the file `path` is in this list; None if it is not in it yet."""
        for segment, number in enumerate(self._numbers):
            first = self._firsts[segment]
            if self.sources[number].path == path and first <= line < first + self._length(segment):
                return self._starts[segment] + line - first
        tail = self._placed
        for source in self.sources:
            if source.lines > source.complete_lines:
                if source.path == path and line == source.complete_lines:
                    return tail
                tail += 1
        return None

    def files(self) -> tuple[Path, ...]:
        """What it is made of."""
        return tuple(source.path for source in self.sources)

    def file_of(self, line: int) -> tuple[Path, int]:
        """In which file a line is, and its number there, from 0."""
        source, number = self.source_of(line)
        return source.path, number

    def source_of(self, line: int) -> tuple[LineIndex, int]:
        """The index that has a line, and its number there, from 0."""
        if line < self._placed:
            segment = bisect_right(self._starts, line) - 1
            return self.sources[self._numbers[segment]], self._firsts[segment] + line - self._starts[segment]
        still_open = [source for source in self.sources if source.lines > source.complete_lines] or self.sources[:1]
        source = still_open[min(line - self._placed, len(still_open) - 1)]
        return source, source.complete_lines

    def lines_above(self, tail: MergedIndex) -> int:
        """How many lines more this has than one that began near its files' ends, which has the same last ones."""
        return max(0, self.lines - tail.lines)

    def close(self) -> None:
        """Give the file descriptors back."""
        with self.lock:
            for source in self.sources:
                source.close()

    def _start_again(self) -> None:
        self._placed = 0
        self._taken = [0] * len(self.sources)
        self._starts = array("Q")  # first line of segment i in this list
        self._numbers = array("H")  # its source
        self._firsts = array("Q")  # its first line in that source

    def _place(self, number: int, source: LineIndex) -> None:
        new = source.complete_lines - self._taken[number]
        if new <= 0:
            return
        if not len(self._numbers) or self._numbers[-1] != number:
            self._starts.append(self._placed)
            self._numbers.append(number)
            self._firsts.append(self._taken[number])
        self._taken[number] += new
        self._placed += new

    def _length(self, segment: int) -> int:
        last = segment + 1 == len(self._starts)
        return (self._placed if last else self._starts[segment + 1]) - self._starts[segment]

    def _tails(self, limit: int) -> Iterator[bytes]:
        for source in self.sources:
            if source.lines > source.complete_lines:
                yield from source.read_lines(source.complete_lines, 1, limit)
