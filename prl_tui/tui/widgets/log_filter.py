"""A log pane that may show only some lines of its log, each with the number that it has there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from textual.strip import Strip

from prl_tui.i18n import t
from prl_tui.telemetry.escapes import plain
from prl_tui.telemetry.filtered_source import FilteredSource
from prl_tui.telemetry.line_index import LINE_LIMIT
from prl_tui.telemetry.line_levels import LEVELS, Level
from prl_tui.telemetry.line_tests import LevelTest, LineFilter, LineTest, SearchTest
from prl_tui.tui.widgets.log_pane import LogPane
from prl_tui.tui.widgets.log_wrap import WrapPane, row_starts

if TYPE_CHECKING:
    from prl_tui.telemetry.line_index import LineSource
    from prl_tui.tui.widgets.ansi_strip import Paint

_LEAST_DIGITS = 4


@dataclass(frozen=True)
class Shown:
    """Which lines are wanted in sight; nothing set: all."""

    only: SearchTest | None = None
    """Lines with this."""
    without: SearchTest | None = None
    """No lines with this."""
    least: Level | None = None
    """Lines of this level or a graver one."""

    def __bool__(self) -> bool:
        """Whether anything is left out."""
        return self.only is not None or self.without is not None or self.least is not None

    def filter(self, *more: LineTest) -> LineFilter:
        """The lines that pass, and hit `more` too."""
        only = [LevelTest.from_on(self.least)] if self.least is not None else []
        return LineFilter((*only, *([self.only] if self.only else []), *more), (self.without,) if self.without else ())

    def words(self) -> list[str]:
        """What is left in or out, in words."""
        said = [t("only “{text}”", text=self.only.needle)] if self.only is not None else []
        said += [t("without “{text}”", text=self.without.needle)] if self.without is not None else []
        levels = {"error": t("errors"), "warning": t("warnings and errors"), "info": t("info, warnings and errors")}
        return said + ([levels[self.least]] if self.least is not None else [])


class FilterPane(WrapPane):
    """A log pane with `shown`: which of its lines are in sight."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"log-view--number"}
    DEFAULT_CSS = "FilterPane > .log-view--number { color: $text-muted; }"

    shown = Shown()
    hidden: LineTest | None = None
    """Lines that never are in sight in this log, whatever is `shown`."""
    _base: LineSource | None = None
    """The whole log, where only a part of it is shown."""

    @dataclass
    class Filtered(LogPane.Changed):
        """Other lines are in sight now."""

    @property
    def log_source(self) -> LineSource | None:
        """All of the log, whatever is in sight."""
        return self._base or self._source

    @property
    def filtered(self) -> FilteredSource | None:
        """What is in sight, where that is not all."""
        return self._source if isinstance(self._source, FilteredSource) else None

    def show(self, source: LineSource | None, placeholder: str = "", hidden: LineTest | None = None) -> None:
        """Show another log, from its end; search and filter go on in it."""
        self.stop_looking()
        self.hidden = hidden
        self._base, narrowed = None, source
        if (self.shown or hidden is not None) and source is not None:
            self._base, narrowed = source, FilteredSource(source, self.wanted())
        self._measure(narrowed)
        super().show(narrowed, placeholder)

    def narrow(self, shown: Shown) -> None:
        """Show other lines of the same log; a view that does not follow stays near where it is."""
        if shown == self.shown:
            return
        at = None if self.following else self.number_of(self.current_line or round(self.scroll_y))
        self.shown = shown
        self.show(self.log_source, self.placeholder, self.hidden)
        if at is not None and self.filtered is None:
            self.go_to_line(at)
        self.post_message(self.Filtered(self))

    def wanted(self, *more: LineTest) -> LineFilter:
        """What a line must pass to be in sight, and to hit `more` too."""
        wanted = self.shown.filter(*more)
        return wanted if self.hidden is None else replace(wanted, without=(*wanted.without, self.hidden))

    def number_of(self, line: int) -> int:
        """The number in the whole log of a line that is shown."""
        if self.filtered is None:
            return line
        return next(iter(self.filtered.numbers(line, 1)), line)

    def line_of(self, number: int) -> int:
        """Where a line of the whole log is shown, or the first one after it that is."""
        return number if self.filtered is None else self.filtered.place_of(number)

    def in_sight(self, limit: int = LINE_LIMIT) -> list[tuple[int, str]]:
        """The lines in sight, by where they are shown, as plain text, however much of them is in sight.

        Of each its last `limit` bytes at most.
        """
        top, left = self.scroll_offset.y, max(1, self.size.height)
        raws = self._source.read_lines(top, left, limit) if self._source else []
        found: list[tuple[int, str]] = []
        left += self._skip
        for n, raw in enumerate(raws):
            text = plain(raw)
            left -= len(row_starts(text, self._text_width)) if self.wrapped else 1
            found.append((top + n, text))
            if left <= 0:
                break
        return found

    def marked_row(self) -> int | None:
        """The row of the pane in which the line that was last jumped to begins; None where it is not in sight."""
        row = -self._skip
        for line, text in self.in_sight() if self.current_line is not None else ():
            if line == self.current_line:
                return max(0, row)
            row += len(row_starts(text, self._text_width)) if self.wrapped else 1
        return None

    def poll(self, budget: int = 4 << 20) -> int:
        """Take in what is new; numbers of more digits take more room."""
        got = super().poll(budget)
        if got and self._measure(self._source):
            self._fit()
            if self.following:
                self._go_to_end()
            self.refresh()
        return got

    def stop_looking(self) -> None:
        """End what looks for lines on a thread."""
        if self.filtered is not None:
            self.filtered.close()

    def on_unmount(self) -> None:
        """Nobody looks any more."""
        self.stop_looking()

    # --- keys ------------------------------------------------------------------------------------------------

    def action_level(self) -> None:
        """All lines, then only errors, then warnings too, then all that have a level."""
        order: list[Level | None] = [None, *LEVELS]
        self.narrow(replace(self.shown, least=order[(order.index(self.shown.least) + 1) % len(order)]))

    # --- drawing ---------------------------------------------------------------------------------------------

    def _measure(self, source: LineSource | None) -> bool:
        """Give the numbers room; whether that is another than before."""
        room = 0
        if isinstance(source, FilteredSource):
            room = max(_LEAST_DIGITS, len(str(source.base.lines))) + 1
        changed, self._gutter = room != self._gutter, room
        return changed

    def _nothing(self) -> str:
        if self.filtered is None or self.filtered.problem:
            return super()._nothing()
        return t("No line matches.") if self.filtered.scan.counted else t("Looking for the lines …")

    def _framed(self, strip: Strip, line: int, paint: Paint) -> Strip:
        if not self._gutter:
            return strip
        number = f"{self.number_of(line) + 1:>{self._gutter - 1}} " if line >= 0 else " " * self._gutter
        return Strip([*paint.beside(number, "number"), *strip], self._gutter + strip.cell_length)
