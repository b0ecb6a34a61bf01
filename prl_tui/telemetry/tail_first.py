"""A log of any size from its end: what lies far before it is counted while the end is already in sight.

Line numbers need every newline before them, and a log of gigabytes takes seconds to count. So the last mebibyte is
shown first, its lines numbered from 0; the whole is counted in slices meanwhile. Once it is, its lines stand above
(`moved` says how many there are) and the numbers are the file's. The same happens where a log runs away from
somebody who looked elsewhere for a while.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Protocol

from prl_tui.telemetry.line_index import LINE_LIMIT, LineIndex, LineSource
from prl_tui.telemetry.merged_index import MergedIndex

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FAR = 16 << 20
"""Bytes behind the end from which the end is shown first."""
_SLICE = 0.012
"""Seconds of one update for counting what is far behind: keys are answered between two of them."""
_STEP = 4 << 20


class Countable(LineSource, Protocol):
    """A source that knows how much it has yet to count."""

    @property
    def behind(self) -> int:
        """Bytes that were there at the last update, and are not counted yet."""

    def line_of(self, path: Path, line: int) -> int | None:
        """Where line `line` of the file `path` is."""

    def files(self) -> tuple[Path, ...]:
        """What it is made of."""

    def file_of(self, line: int) -> tuple[Path, int]:
        """In which file a line is, and its number there."""

    def lines_above(self, tail: Any) -> int:
        """How many lines stand before the first one of a source of the same kind that began near the end."""

    def close(self) -> None:
        """Give the descriptors back."""


class TailFirst:
    """A line source that shows the end of another one until all of it is counted."""

    def __init__(self, whole: Countable, tail: Callable[[], Countable]) -> None:
        """`tail`: makes a source of the same files that begins near their ends."""
        self.lock = threading.RLock()
        self.moved = 0
        """Lines that have come to stand before the first one, since the generation began."""
        self.at_end = True
        """Whether somebody looks at the end: only then it may be shown first."""
        self._whole, self._open_tail = whole, tail
        self._tail: Countable | None = None
        self._jumps = 0
        self._generations = whole.generation

    @classmethod
    def of(cls, *paths: Path) -> TailFirst:
        """One file, or the files of one rank merged."""
        if len(paths) == 1:
            return cls(LineIndex(paths[0]), lambda: LineIndex(paths[0], from_end=True))
        return cls(MergedIndex(paths), lambda: MergedIndex(paths, from_end=True))

    @property
    def lines(self) -> int:
        """How many lines are shown now."""
        return self._shown.lines

    @property
    def complete_lines(self) -> int:
        """Lines that are shown and have their newline."""
        return self._shown.complete_lines

    @property
    def generation(self) -> int:
        """Changes when line numbers of before mean nothing any more."""
        return self._generations + self._jumps

    @property
    def problem(self) -> OSError | None:
        """Why the log cannot be read now, or None."""
        return self._shown.problem

    @property
    def catching_up(self) -> bool:
        """Whether lines of the end are still to come; those far before it come to stand above."""
        return self._shown.behind > 0

    @property
    def whole(self) -> bool:
        """All of it is counted: line numbers are the file's."""
        return self._tail is None and not self._whole.behind

    def update(self, budget: int = _STEP) -> int:
        """Take in about `budget` new bytes, and in a slice of time what is far behind; how many it were."""
        with self.lock:
            return self._update(budget)

    def count_ahead(self, shown: bool) -> int:
        """Take in a few of the bytes that are far behind, on any thread; how many it were.

        `shown`: where they are what is shown as well; who shows it learns of that from its lines only.
        """
        with self.lock:
            if self._tail is None and not shown:
                return 0
            used = self._whole.update(_STEP)
            self._heed_generation()
            return used

    def _update(self, budget: int) -> int:
        if self._tail is None:
            used = self._whole.update(budget)
            self._heed_generation()
            if self.at_end and self._whole.behind > FAR:
                self._jump()
                used += self._tail_update(budget)
            return used
        return self._tail_update(budget) + self._count_more()

    def read_lines(self, first: int, count: int, limit: int = LINE_LIMIT) -> list[bytes]:
        """Lines `first` to `first + count - 1` of what is shown, each cut to its last `limit` bytes."""
        return self._shown.read_lines(first, count, limit)

    def line_of(self, path: Path, line: int) -> int | None:
        """Where a line of a file is; counts all of it first."""
        while self.update():
            pass
        return self._whole.line_of(path, line)

    def files(self) -> tuple[Path, ...]:
        """What it is made of."""
        return self._whole.files()

    def file_of(self, line: int) -> tuple[Path, int | None]:
        """In which file a line that is shown is, and its number there; None before all of it is counted."""
        path, number = self._shown.file_of(line)
        return path, number if self._tail is None else None

    def close(self) -> None:
        """Give the descriptors back."""
        with self.lock:
            self._whole.close()
            if self._tail is not None:
                self._tail.close()

    @property
    def _shown(self) -> Countable:
        return self._whole if self._tail is None else self._tail

    def _jump(self) -> None:
        self._tail = self._open_tail()
        self.moved = 0
        self._jumps += 1

    def _tail_update(self, budget: int) -> int:
        tail = self._tail
        if tail is None:
            return 0
        before = tail.generation
        used = tail.update(budget)
        if tail.generation != before or (self.at_end and tail.behind > FAR):
            tail.close()  # another file, or it ran away again: a new end
            self._jump()
            used += self._tail.update(budget) if self._tail is not None else 0
        return used

    def _count_more(self) -> int:
        end = time.monotonic() + _SLICE
        used = got = self._whole.update(_STEP)
        while got and time.monotonic() < end:
            got = self._whole.update(_STEP)
            used += got
        self._heed_generation()
        tail = self._tail
        if tail is not None and not self._whole.behind and not tail.behind:
            self.moved += self._whole.lines_above(tail)
            tail.close()
            self._tail = None
        return used

    def _heed_generation(self) -> None:
        """The file began anew: nothing of before counts."""
        if self._whole.generation != self._generations:
            self._generations = self._whole.generation
            self.moved = 0
            if self._tail is not None:
                self._tail.close()
                self._tail = None
