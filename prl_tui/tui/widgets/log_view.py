"""A log to search in: a `FilterPane` with what is looked for, how often it is there, and the keys of all of it."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType

from prl_tui.i18n import t
from prl_tui.telemetry.escapes import plain
from prl_tui.telemetry.line_scan import LineScan
from prl_tui.telemetry.line_search import BATCH, find_line
from prl_tui.telemetry.line_tests import ErrorTest, LevelTest, LineTest, PatternTest, SearchTest, TextTest, search_test
from prl_tui.telemetry.slow_patterns import TooSlowError
from prl_tui.telemetry.tail_first import TailFirst
from prl_tui.tui.widgets import log_hits
from prl_tui.tui.widgets.ansi_strip import Span
from prl_tui.tui.widgets.log_filter import FilterPane
from prl_tui.tui.widgets.log_pane import COLUMNS, LogPane

if TYPE_CHECKING:
    from prl_tui.telemetry.line_index import LineSource
    from prl_tui.telemetry.line_levels import Level

_SLICE_SECONDS = 0.004  # a search gives the screen its turn this often
_FILTERED_BATCH = 64  # lines that lie apart are found one by one


class LogView(FilterPane):
    """Shows one log, follows its end, searches in it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("end,G", "follow", t("follow the end"), show=False, id="log.follow"),
        Binding("home,g", "scroll_home", t("to the start"), show=False, id="log.start"),
        Binding("n", "next", t("next match or error"), show=False, id="log.next"),
        Binding("N", "previous", t("previous match or error"), show=False, id="log.previous"),
        Binding("w", "wrap", t("wrap long lines"), show=False, id="log.wrap"),
        Binding("e", "next_error", t("next error"), show=False, id="log.next_error"),
        Binding("E", "previous_error", t("previous error"), show=False, id="log.previous_error"),
        Binding("a", "next_warning", t("next warning"), show=False, id="log.next_warning"),
        Binding("A", "previous_warning", t("previous warning"), show=False, id="log.previous_warning"),
    ]

    @dataclass
    class Searched(LogPane.Changed):
        """A search is over."""

        needle: str
        """Empty for a search for a level."""
        line: int | None
        """The hit, from 0; None: nowhere in what is shown."""
        wrapped: bool = False
        """It went around the end of the log."""
        level: Level | None = None
        """What was looked for where it was no text."""

    @dataclass
    class GaveUp(LogPane.Changed):
        """A regular expression took too long: it is no longer searched or filtered by, and not every line was tested."""

        reason: str

    _test: SearchTest | None = None
    _count: LineScan | None = None
    """Finds all lines with the searched text."""
    _level: Level | None = None
    """What was jumped to last, where that was a level."""
    _level_count: LineScan | None = None
    """Finds all lines of that level."""

    def search(self, needle: str, *, backwards: bool = False) -> None:
        """Mark `needle` everywhere and go to the next line with it; `Searched` says where. Empty ends it.

        The first line in sight that has it comes first; `backwards`: after those in sight the nearest one above them.
        `re:` begins a regular expression: ValueError, with a sentence, where what follows is none.
        """
        self._test = search_test(needle) if needle else None
        self.needle = needle
        self._count_hits()
        self.refresh()
        if self._test is None:
            self.workers.cancel_group(self, "search")  # one that is under way would still jump to its hit
        else:
            try:
                self._look_for(self._test, backwards, from_here=True)
            except TooSlowError:
                self._drop_slow()

    def find_error(self, *, backwards: bool = False, first: bool = False) -> None:
        """Go to the next line that looks like an error, or to the log's first one; `Searched` says where."""
        self._look_for(ErrorTest(), backwards, from_here=False, from_top=first)

    @property
    def hits(self) -> str:
        """How many lines have the searched text, and which of them is the current one; empty without a search.

        After a jump to an error or a warning the same of these, as long as the end is not followed again.
        """
        if self._level_count is not None and not self.following:
            return log_hits.of_level(self, self._level_count, self._level == "error")
        return log_hits.of_text(self, self._count) if self._count is not None else ""

    def show(self, source: LineSource | None, placeholder: str = "", hidden: LineTest | None = None) -> None:
        """Show another log, from its end; search and filter go on in it."""
        super().show(source, placeholder, hidden)
        self._count_hits()

    def poll(self, budget: int = 4 << 20) -> int:
        """Take in what is new, of the log and of the count."""
        got = super().poll(budget)
        for count in (self._count, self._level_count):
            if count is not None:
                if got:
                    count.look()
                count.take()
        self._drop_slow()
        return got

    def _drop_slow(self) -> None:
        """Take away what gave up: no count and no part of a log stands there that was not looked for everywhere."""
        slow = [one for one in (self._test, self.shown.only, self.shown.without) if _gave_up(one)]
        if not slow:
            return
        if _gave_up(self._test):
            self.search("")
        only = None if _gave_up(self.shown.only) else self.shown.only
        without = None if _gave_up(self.shown.without) else self.shown.without
        self.narrow(replace(self.shown, only=only, without=without))
        self.post_message(
            self.GaveUp(self, next(str(one.pattern.error()) for one in slow if isinstance(one, PatternTest)))
        )

    def stop_looking(self) -> None:
        """End what looks for lines on a thread."""
        super().stop_looking()
        if self._count is not None:
            self._count.stop()
            self._count = None
        self._count_level(None)

    def _count_hits(self) -> None:
        if self._count is not None:
            self._count.stop()
            self._count = None
        self._count_level(None)
        source = self.log_source
        if self._test is not None and source is not None:
            self._count = LineScan(source, self.wanted(self._test)).start()

    def _count_level(self, level: Level | None) -> None:
        """Count the lines of a level, on a thread; None: no level's any more."""
        if level == self._level:
            return
        if self._level_count is not None:
            self._level_count.stop()
        self._level, self._level_count = level, None
        source = self.log_source
        if level is not None and source is not None:
            self._level_count = LineScan(source, self.wanted(LevelTest(level))).start()

    # --- keys ------------------------------------------------------------------------------------------------

    def action_follow(self) -> None:
        """Go to the end and stay there."""
        self.follow()

    def action_scroll_home(self) -> None:
        """Go to the first line."""
        self._set_following(False)
        self._skip = 0
        self._place(0, 0)
        self._at_start = True
        self.refresh()

    def action_scroll_left(self) -> None:
        """One step to the left."""
        self.scroll_to(x=max(0, self.scroll_x - COLUMNS))

    def action_scroll_right(self) -> None:
        """One step to the right."""
        self.scroll_to(x=self.scroll_x + COLUMNS)

    def action_next(self) -> None:
        """Next line with the searched text, or next error when nothing is searched for."""
        self._look_for(self._test or ErrorTest(), backwards=False, from_here=False)

    def action_previous(self) -> None:
        """Previous line with the searched text, or previous error when nothing is searched for."""
        self._look_for(self._test or ErrorTest(), backwards=True, from_here=False)

    def action_next_error(self) -> None:
        """Next line that looks like an error."""
        self.find_error()

    def action_previous_error(self) -> None:
        """Previous line that looks like an error."""
        self.find_error(backwards=True)

    def action_next_warning(self) -> None:
        """Next line that is a warning."""
        self._look_for(LevelTest("warning"), backwards=False, from_here=False)

    def action_previous_warning(self) -> None:
        """Previous line that is a warning."""
        self._look_for(LevelTest("warning"), backwards=True, from_here=False)

    # --- searching -------------------------------------------------------------------------------------------

    def _look_for(self, test: LineTest, backwards: bool, from_here: bool, from_top: bool = False) -> None:
        """`from_here`: from the first line in sight, as when a text was just typed; else from the line last jumped to.

        `from_top`: from the log's first line.
        """
        self._count_level(next(iter(test.levels)) if isinstance(test, LevelTest) else None)
        start = self.scroll_offset.y
        current, height = self.current_line, max(1, self.size.height)
        seen = self._in_sight(test) if from_here else None
        if seen is not None:
            self.workers.cancel_group(self, "search")
            self._go_to_hit(test, seen, wrapped=False)
            return
        if not from_here and current is not None and start <= current < start + height:
            start = current + (-1 if backwards else 1)
        elif not from_here and backwards:
            start = max(0, min(start + height, self.lines) - 1)

        async def search() -> None:  # made when it begins: one that is called off before that never was
            await self._search(test, None if from_top else start, backwards)

        self.run_worker(search, group="search", exclusive=True, exit_on_error=False)  # type: ignore[arg-type]

    def _in_sight(self, test: LineTest) -> int | None:
        """The first line in sight that hits."""
        top = self.scroll_offset.y
        lines = self._source.read_lines(top, max(1, self.size.height)) if self._source else []
        return next((top + n for n, raw in enumerate(lines) if test.hits(plain(raw))), None)

    async def _search(self, test: LineTest, begin: int | None, backwards: bool) -> None:
        """Search in slices between which the screen has its turn; `begin` may be one beyond either end, None: the top."""
        source, hit, start = self._source, None, begin or 0
        if isinstance(source, TailFirst):
            start = await self._count_all(source, start)
        if self.filtered is not None:
            start = await self._all_filtered(start)
        start = 0 if begin is None else start
        batch = BATCH if self.filtered is None else _FILTERED_BATCH
        turn = time.monotonic() + _SLICE_SECONDS
        try:
            for found in find_line(source, test, start % max(1, source.lines), backwards, batch) if source else ():
                hit = found
                if time.monotonic() > turn:
                    await asyncio.sleep(0)
                    turn = time.monotonic() + _SLICE_SECONDS
        except TooSlowError:
            return  # the next look at the log takes it away and says so
        if source is not self._source:
            return
        self._go_to_hit(test, hit, wrapped=hit is not None and (hit > start if backwards else hit < start))

    def _go_to_hit(self, test: LineTest, hit: int | None, wrapped: bool) -> None:
        """Bring what was found into sight and say so."""
        typed = test if isinstance(test, (TextTest, PatternTest)) else None
        level = next(iter(test.levels)) if isinstance(test, LevelTest) else None
        if hit is not None and self._source is not None:
            text = plain(b"".join(self._source.read_lines(hit, 1, self._limit)))
            before = text[: next(iter(typed.spans(text)), (0, 0))[0]] if typed is not None else ""
            self.go_to_line(hit, cell_len(before))
        self.post_message(self.Searched(self, typed.needle if typed is not None else "", hit, wrapped, level))

    async def _count_all(self, source: TailFirst, start: int) -> int:
        """A search looks at all of a log: wait until it is counted; where `start` is then."""
        before = self._moved
        while self._source is source and not source.whole:
            self.poll()
            await asyncio.sleep(0)
        return start + self._moved - before

    async def _all_filtered(self, start: int) -> int:
        """Wait until the lines of all of the log are there; where `start` is then."""
        before, filtered = self._moved, self.filtered
        while self.filtered is filtered and filtered is not None and not filtered.scan.counted:
            self.poll()
            await asyncio.sleep(0.02)
        return start + self._moved - before

    def spans(self, text: str) -> list[Span]:
        """Where the searched text is in a line."""
        return list(self._test.spans(plain(text))) if self._test is not None else []


def _gave_up(test: LineTest | None) -> bool:
    return isinstance(test, PatternTest) and test.pattern.gave_up
