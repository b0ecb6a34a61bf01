"""Which lines of a log pass a filter, found on a thread of its own: the newest first, then those that come.

Neither the screen's thread nor memory depends on the log's size: results come as bits in blocks of lines, and after
each few milliseconds of work the thread stands back, so that a key is answered between two of them (the interpreter
runs one thread at a time). The log itself is only read; whoever shows it takes in what is new.
"""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prl_tui.telemetry.line_set import BLOCK_LINES, LineSet
from prl_tui.telemetry.slow_patterns import TooSlowError
from prl_tui.telemetry.tail_first import TailFirst

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prl_tui.telemetry.line_index import LineSource
    from prl_tui.telemetry.line_tests import LineFilter

_BREATH = 0.0005
"""Seconds for which the thread stands back after a batch."""
_TURN = 0.002
"""Seconds that a batch should take."""
_FEWEST, _MOST = 16, 2048
"""Lines of a batch: lines may be megabytes long."""
_WAIT = 1.0
"""Seconds until new lines are looked for, unless somebody says that there are some."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A block of lines as far as it is known."""

    look: int
    """Which look at the whole log found it."""
    generation: int
    """Of the log that it is of."""
    block: int
    bits: bytes
    first: int
    end: int
    """All complete lines from `first` up to here have been tested."""


class LineScan:
    """The lines of a source that pass a filter, as `take` last heard from the thread."""

    def __init__(self, source: LineSource, wanted: LineFilter, *, shown: bool = True) -> None:
        """`shown`: somebody else shows the same source, and has to see its new lines come (`TailFirst.count_ahead`)."""
        self.source, self.wanted = source, wanted
        self.lines = LineSet()
        """What was found so far; changes in `take` only."""
        self.first = self.end = 0
        """The complete lines that have been tested."""
        self.generation = source.generation
        """That of the source, whose lines these are."""
        self._shown = shown
        self._look = self._looks = 0
        self._found: list[_Found] = []
        self._lock = threading.Lock()
        self._over, self._news = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="log-scan", daemon=True)
        self._batch = 128

    def start(self) -> LineScan:
        """Begin to look."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """End soon; returns at once."""
        self._over.set()
        self._news.set()

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end, for whoever closes the log's files for good."""
        self._thread.join(timeout)

    def look(self) -> None:
        """There are new lines."""
        self._news.set()

    @property
    def done(self) -> bool:
        """All that was complete at the last look has been tested."""
        source = self.source
        whole = not isinstance(source, TailFirst) or source.whole
        return whole and self.generation == source.generation and self.first == 0 and self.end >= source.complete_lines

    @property
    def counted(self) -> bool:
        """All older lines have been tested; those that come are, soon."""
        return self.first == 0 and (self.end > 0 or not self.source.complete_lines)

    @property
    def share(self) -> float:
        """How much of the log has been tested, 0 to 1."""
        return (self.end - self.first) / max(1, self.source.complete_lines)

    def take(self) -> tuple[int, bool]:
        """Take in what was found since; how many lines came before those known, and whether anything changed."""
        with self._lock:
            found, self._found = self._found, []
        above, changed = 0, False
        if self.generation != self.source.generation:
            self._forget()
            changed = True
        for one in found:
            if one.generation != self.generation:
                continue
            if one.look != self._look:
                self._forget()
                self._look, above, changed = one.look, 0, True
            known = len(self.lines)
            self.lines.put(one.block, one.bits)
            if self.end and one.end < self.end:
                above += len(self.lines) - known
            changed = changed or len(self.lines) != known
            if not self.end:
                self.first = one.first
            self.first, self.end = min(self.first, one.first), max(self.end, one.end)
        return above, changed

    def unfinished(self) -> tuple[int, ...]:
        """Lines without a newline yet that pass as they are now; none before the older ones are known."""
        source = self.source
        first = source.complete_lines
        if not self.counted or source.lines <= first:
            return ()
        rows = source.read_lines(first, source.lines - first)
        try:
            return tuple(first + n for n in self.wanted.chosen(rows))
        except TooSlowError:
            return ()  # whoever shows it sees that the expression gave up

    def _forget(self) -> None:
        self.generation = self.source.generation
        self.lines = LineSet()
        self.first = self.end = 0

    # --- the thread ----------------------------------------------------------------------------------------------

    def _run(self) -> None:
        with contextlib.suppress(TooSlowError):  # what was found stays; whoever shows it sees that it gave up
            self._look_on()

    def _look_on(self) -> None:
        while not self._over.is_set():
            if not self._count():
                self._scan()
                self._wait(0.02)

    def _count(self) -> bool:
        """Have a log that is shown from its end be counted: only then its lines have their numbers."""
        source = self.source
        if not isinstance(source, TailFirst) or source.whole:
            return False
        if not source.count_ahead(not self._shown):
            self._wait(0.02)
        time.sleep(_BREATH)
        return True

    def _scan(self) -> None:
        """Test lines until the log begins anew or the scan is over."""
        source = self.source
        self._looks += 1
        with source.lock:
            generation, end = source.generation, source.complete_lines
        newest, older = end // BLOCK_LINES, end // BLOCK_LINES - 1
        bits, tested = bytearray(BLOCK_LINES // 8), newest * BLOCK_LINES
        while not self._over.is_set() and source.generation == generation:
            end = source.complete_lines
            if tested < end:
                stop = min(end, (newest + 1) * BLOCK_LINES)
                if not self._test(generation, newest, bits, tested, stop):
                    return
                tested = stop
                if stop == (newest + 1) * BLOCK_LINES:
                    newest, bits = newest + 1, bytearray(BLOCK_LINES // 8)
            elif older >= 0:
                first, old = older * BLOCK_LINES, bytearray(BLOCK_LINES // 8)
                if not self._test(generation, older, old, first, first + BLOCK_LINES):
                    return
                older -= 1
            elif not self._count():
                self._wait(_WAIT)

    def _test(self, generation: int, block: int, bits: bytearray, first: int, end: int) -> bool:
        """Test the lines of a block from `first` to `end`, hand them over; False: the log is another one by now."""
        at, step = first, block * BLOCK_LINES
        while at < end:
            if self._over.is_set():
                return False
            began = time.perf_counter()
            count = min(self._batch, end - at)
            with self.source.lock:
                same = self.source.generation == generation
                rows = self.source.read_lines(at, count) if same else []
            if len(rows) < count:
                return False
            _mark(bits, self.wanted.chosen(rows), at - step)
            at += count
            self._pace(time.perf_counter() - began)
            time.sleep(_BREATH)
        with self._lock:
            self._found.append(_Found(self._looks, generation, block, bytes(bits), first, end))
        return True

    def _pace(self, took: float) -> None:
        if took > _TURN:
            self._batch = max(_FEWEST, self._batch // 4 if took > 4 * _TURN else self._batch // 2)
        elif took < _TURN / 2:
            self._batch = min(_MOST, self._batch * 2)

    def _wait(self, seconds: float) -> None:
        self._news.wait(seconds)
        self._news.clear()


def _mark(bits: bytearray, chosen: Sequence[int], offset: int) -> None:
    for n in chosen:
        at = n + offset
        bits[at >> 3] |= 1 << (at & 7)
