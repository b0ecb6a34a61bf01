"""A log to search in: a `LogPane` with a text or an error that is looked for, and the keys of both."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType

from prl_tui.i18n import t
from prl_tui.telemetry.escapes import plain
from prl_tui.telemetry.line_search import ErrorTest, LineTest, TextTest, find_line
from prl_tui.telemetry.tail_first import TailFirst
from prl_tui.tui.widgets.ansi_strip import Span
from prl_tui.tui.widgets.log_pane import COLUMNS, LogPane
from prl_tui.tui.widgets.log_wrap import WrapPane

_SLICE_SECONDS = 0.004  # a search gives the screen its turn this often


class LogView(WrapPane):
    """Shows one log, follows its end, searches in it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("end,G", "follow", t("follow the end"), show=False, id="log.follow"),
        Binding("home,g", "scroll_home", t("to the start"), show=False, id="log.start"),
        Binding("n", "next", t("next match or error"), show=False, id="log.next"),
        Binding("N", "previous", t("previous match or error"), show=False, id="log.previous"),
        Binding("w", "wrap", t("wrap long lines"), show=False, id="log.wrap"),
        Binding("e", "next_error", t("next error"), show=False, id="log.next_error"),
        Binding("E", "previous_error", t("previous error"), show=False, id="log.previous_error"),
    ]

    @dataclass
    class Searched(LogPane.Changed):
        """A search is over."""

        needle: str
        """Empty for a search for errors."""
        line: int | None
        """The hit, from 0; None: nowhere in the log."""
        wrapped: bool = False
        """It went around the end of the log."""

    _test: TextTest | None = None

    def search(self, needle: str, *, backwards: bool = False) -> None:
        """Mark `needle` everywhere and go to the next line with it; `Searched` says where. Empty ends it.

        The first line in sight that has it comes first; `backwards`: after those in sight the nearest one above them.
        """
        self.needle = needle
        self._test = TextTest(needle) if needle else None
        self.refresh()
        if self._test is not None:
            self._look_for(self._test, backwards, from_here=True)

    def find_error(self, *, backwards: bool = False) -> None:
        """Go to the next line that looks like an error; `Searched` says where."""
        self._look_for(ErrorTest(), backwards, from_here=False)

    # --- keys ------------------------------------------------------------------------------------------------

    def action_follow(self) -> None:
        """Go to the end and stay there."""
        self.follow()

    def action_scroll_home(self) -> None:
        """Go to the first line."""
        self._set_following(False)
        self._skip = 0
        self._place(0, 0)
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

    # --- searching -------------------------------------------------------------------------------------------

    def _look_for(self, test: LineTest, backwards: bool, from_here: bool) -> None:
        """`from_here`: from the first line in sight, as when a text was just typed; else from the line last jumped to."""
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
        self.run_worker(self._search(test, start, backwards), group="search", exclusive=True, exit_on_error=False)

    def _in_sight(self, test: LineTest) -> int | None:
        """The first line in sight that hits."""
        top = self.scroll_offset.y
        lines = self._source.read_lines(top, max(1, self.size.height)) if self._source else []
        return next((top + n for n, raw in enumerate(lines) if test.hits(plain(raw))), None)

    async def _search(self, test: LineTest, start: int, backwards: bool) -> None:
        """Search in slices between which the screen has its turn; `start` may be one beyond either end."""
        source, hit = self._source, None
        if isinstance(source, TailFirst):
            start = await self._count_all(source, start)
        turn = time.monotonic() + _SLICE_SECONDS
        for found in find_line(source, test, start % max(1, source.lines), backwards) if source else ():
            hit = found
            if time.monotonic() > turn:
                await asyncio.sleep(0)
                turn = time.monotonic() + _SLICE_SECONDS
        if source is not self._source:
            return
        self._go_to_hit(test, hit, wrapped=hit is not None and (hit > start if backwards else hit < start))

    def _go_to_hit(self, test: LineTest, hit: int | None, wrapped: bool) -> None:
        """Bring what was found into sight and say so."""
        needle = test.needle if isinstance(test, TextTest) else ""
        if hit is not None and self._source is not None:
            text = plain(b"".join(self._source.read_lines(hit, 1)))
            before = text[: test.first_in(text)] if isinstance(test, TextTest) else ""
            self.go_to_line(hit, cell_len(before))
        self.post_message(self.Searched(self, needle, hit, wrapped))

    async def _count_all(self, source: TailFirst, start: int) -> int:
        """A search looks at all of a log: wait until it is counted; where `start` is then."""
        before = self._moved
        while self._source is source and not source.whole:
            self.poll()
            await asyncio.sleep(0)
        return start + self._moved - before

    def spans(self, text: str) -> list[Span]:
        """Where the searched text is in a line."""
        spans: list[Span] = []
        if self._test is not None:
            shown = plain(text)
            length = len(self._test.needle)
            start = self._test.first_in(shown)
            while start >= 0:
                spans.append((start, start + length))
                start = self._test.first_in(shown, start + length)
        return spans
