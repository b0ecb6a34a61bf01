"""Where the lines of a growing log are: one newline count per 64 KiB, so that any window is found at once.

The count of a block is `bytes.count`, so indexing costs no Python work per line and 8 bytes per 64 KiB of log. A
window is found by bisection over the counts and inside one block. A file that does not exist yet is an empty
index; truncation, rotation and replacement start it again (`generation` grows).
"""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING, Protocol

from prl_tui.telemetry.followed_file import FollowedFile

if TYPE_CHECKING:
    from pathlib import Path

BLOCK = 1 << 16
READ = 4 * BLOCK
"""Bytes read at once: memory of larger pieces goes back to the system each time, and costs as much as the counting."""
SPARSE = 24
"""Bytes of a line on average from which on leaping to the next newline is faster than looking at every byte."""
LOOK = 512
"""Bytes that are looked at to know how long the lines are."""
FROM_END = 1 << 20
"""Bytes of a log's end that are enough for a screen, unless its lines are very long."""
LINE_LIMIT = 8192
"""Bytes of one line that are handed out: its last ones, where a progress bar's newest state is."""
LETTER = 4
"""Bytes of a letter of UTF-8 at most: a cut line is up to three longer than it was wanted, so that it begins with a whole one."""


class LineSource(Protocol):
    """What a log view or a search needs: lines by number, of something that grows."""

    lock: threading.RLock
    """Held while it takes in what is new: who reads lines on another thread holds it meanwhile."""

    @property
    def complete_lines(self) -> int:
        """Lines that have their newline; they come before those that have not."""

    @property
    def lines(self) -> int:
        """How many lines there are now, an unfinished last one included."""

    @property
    def generation(self) -> int:
        """Changes when line numbers of before mean nothing any more."""

    @property
    def moved(self) -> int:
        """Lines that have come to stand before the first one, since the generation began."""

    @property
    def catching_up(self) -> bool:
        """Whether lines that were there at the last update are still to come: no line that comes now counts as new."""

    @property
    def problem(self) -> OSError | None:
        """Why the log cannot be read now, or None."""

    def update(self, budget: int) -> int:
        """Take in at most about `budget` new bytes; how many it were."""

    def read_lines(self, first: int, count: int, limit: int = LINE_LIMIT) -> list[bytes]:
        """Lines `first` to `first + count - 1` as bytes, each cut to its last `limit` bytes."""


def _near_end(path: Path) -> int:
    """A block's start in the last mebibyte of a file, 0 for a short one or none."""
    try:
        size = path.stat().st_size
    except OSError:
        return 0
    return max(0, size - FROM_END) // BLOCK * BLOCK


def last_of(line: bytes, limit: int) -> bytes:
    """A line's last `limit` bytes, and those before them that belong to the same letter."""
    start = len(line) - limit
    if start <= 0:
        return line
    for begin in range(start, max(-1, start - LETTER), -1):
        if line[start] & 0xC0 != 0x80:
            break
        if line[begin] >= 0xC0:
            return line[begin:]
    return line[start:]


class LineIndex:
    """Sparse line index of one append-only file."""

    def __init__(self, path: Path, *, from_end: bool = False) -> None:
        """`from_end`: begin in the last mebibyte of what is there; its first line is what is left of one."""
        self.path = path
        self.lock = threading.RLock()
        self.moved = 0
        self.size = self._begin = _near_end(path) if from_end else 0
        """Bytes up to which it is indexed."""
        self.behind = 0
        """Bytes that were there at the last update, and are not indexed yet."""
        self.complete_lines = 0
        """Lines that have their newline."""
        self._file = FollowedFile(path)
        self._generation = 0
        self._before = array("Q", [0])  # newlines before block b
        self._open_end = False

    @property
    def lines(self) -> int:
        """How many lines there are now, an unfinished last one included."""
        return self.complete_lines + self._open_end

    @property
    def catching_up(self) -> bool:
        """Whether the last update left bytes for the next one."""
        return self.behind > 0

    @property
    def generation(self) -> int:
        """Grows when the file was truncated or replaced: line numbers of before mean nothing any more."""
        return self._file.generation

    @property
    def problem(self) -> OSError | None:
        """Why the file cannot be read now; None when it can, or is not there yet."""
        return self._file.problem

    def update(self, budget: int = 4 << 20) -> int:
        """Index at most `budget` new bytes; returns how many, 0 when there is nothing new."""
        with self.lock:
            return self._update(budget)

    def _update(self, budget: int) -> int:
        end = self._file.size(self.size)
        if self._file.generation != self._generation:
            self._start_again()
        if end is None:
            return 0
        start, whole = self.size, end
        end = min(end, start + budget)
        while self.size < end:
            data = self._file.read(self.size, min(READ - self.size % BLOCK, end - self.size))
            if not data:
                break
            self._file.note(self.size, data)
            self._count(data)
        self.behind = max(0, whole - self.size)
        return self.size - start

    def line_of(self, path: Path, line: int) -> int | None:
        """Where line `line` (from 0) of the file `path` is; None if it is not in it yet."""
        return line if path == self.path and line < self.lines else None

    def files(self) -> tuple[Path, ...]:
        """What it is made of."""
        return (self.path,)

    def file_of(self, line: int) -> tuple[Path, int]:
        """In which file a line is, and its number there, from 0."""
        return self.path, line

    def read_lines(self, first: int, count: int, limit: int = LINE_LIMIT) -> list[bytes]:
        """Lines `first` to `first + count - 1` as bytes, each cut to its last `limit` bytes."""
        wanted = min(count, self.lines - first)
        if first < 0 or wanted <= 0:
            return []
        found: list[bytes] = []
        position = self._start_of(first)
        window = min(max(256 * wanted, BLOCK // 4), 16 * BLOCK)
        while len(found) < wanted:
            data = self._file.read(position, min(window, self.size - position))
            if not data:
                break
            *whole, rest = data.split(b"\n")
            if whole:
                found.extend(line if len(line) <= limit else last_of(line, limit) for line in whole)
                position += len(data) - len(rest)
            else:  # longer than the window, or the unfinished last one
                end = self._end_of(first + len(found))
                begin = max(position, end - limit - LETTER + 1)
                found.append(last_of(self._file.read(begin, end - begin), limit))
                position = end + 1
                if position > self.size:
                    break
        return found[:wanted]

    def head_of(self, line: int, count: int) -> bytes:
        """The first `count` bytes of a line that is longer than that."""
        return self._file.read(self._start_of(line), count)

    def source_of(self, line: int) -> tuple[LineIndex, int]:
        """The index that has a line, and its number there, from 0."""
        return self, line

    def extent(self, line: int) -> tuple[int, int]:
        """The offsets in the file of a line's first byte and of its end, the newline left out."""
        return self._start_of(line), self._end_of(line)

    def read_at(self, offset: int, count: int) -> bytes:
        """At most so many bytes of the file; empty where it has none there any more."""
        return self._file.read(offset, count)

    def lines_above(self, tail: LineIndex) -> int:
        """How many lines stand before the first one of an index of the same file that began near its end."""
        return self._before[tail._begin // BLOCK]

    def close(self) -> None:
        """Give the file descriptor back."""
        with self.lock:
            self._file.close()

    def _start_again(self) -> None:
        self._generation = self._file.generation
        self.size = self.complete_lines = self._begin = self.behind = 0
        self._before = array("Q", [0])
        self._open_end = False

    def _count(self, data: bytes) -> None:
        lines, before, size = self.complete_lines, self._before, len(data)
        end = BLOCK - self.size % BLOCK
        start = 0
        while end <= size:
            lines += self._newlines(data, start, end)
            before.append(lines)
            start, end = end, end + BLOCK
        self.complete_lines = lines + self._newlines(data, start, size)
        self.size += size
        self._open_end = data[-1] != 10

    @staticmethod
    def _newlines(data: bytes, start: int, end: int) -> int:
        """How many there are between two places.

        CPython's `replace` leaps from one to the next where `count` looks at every byte: several times faster for lines
        of a hundred bytes, slower for very short ones. A look at two places says which there are.
        """
        middle = (start + end) // 2
        seen = data.count(10, start, min(start + LOOK, end)) + data.count(10, middle, min(middle + LOOK, end))
        if seen * SPARSE > 2 * LOOK:
            return data.count(10, start, end)
        return end - start - len(data[start:end].replace(b"\n", b""))

    def _start_of(self, line: int) -> int:
        """Offset of the first byte of `line`: one after the `line`-th newline."""
        if line == 0:
            return self._begin
        block = bisect_right(self._before, line - 1) - 1
        data = self._file.read(self._begin + block * BLOCK, BLOCK)
        missing = line - self._before[block]
        low, high = 0, len(data)
        while high - low > 2048:  # halving by count() stays in C until few newlines are left
            middle = (low + high) // 2
            left = data.count(b"\n", low, middle)
            if left >= missing:
                high = middle
            else:
                missing -= left
                low = middle
        position = low - 1
        for _ in range(missing):
            position = data.find(b"\n", position + 1)
        return self._begin + block * BLOCK + position + 1

    def _end_of(self, line: int) -> int:
        """Offset of the newline that ends `line`, or the end of what is indexed."""
        return self._start_of(line + 1) - 1 if line < self.complete_lines else self.size
