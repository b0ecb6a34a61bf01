"""The part of a place that shows a run's logs: which one, what is in sight of it, what is looked for in it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from prl_tui.i18n import t
from prl_tui.runs.folder import RunFolder
from prl_tui.runs.overview import Overview
from prl_tui.telemetry.rank_logs import RankLog
from prl_tui.telemetry.tail_first import TailFirst
from prl_tui.telemetry.teed_log import IdleRankLineTest, RankLineTest, TeedLog
from prl_tui.tui.cells import fit
from prl_tui.tui.run_words import waiting
from prl_tui.tui.screens.place import Place, told
from prl_tui.tui.widgets.log_filter import Shown
from prl_tui.tui.widgets.log_finder import FilterLine, LogFinder, Purpose
from prl_tui.tui.widgets.log_pane import screen_is_behind
from prl_tui.tui.widgets.log_tabs import LogTab, LogTabs
from prl_tui.tui.widgets.log_view import LogView

if TYPE_CHECKING:
    from pathlib import Path

    from textual.timer import Timer

    from prl_tui.machine import viewer

_TOLD = 160
"""Cells of a cause in a notice."""
QUICK, CALM = 0.1, 0.25
"""Seconds between two looks at a log, and at one that has been silent for a while."""
SILENT = 5
"""Looks at a log without anything new after which it counts as silent."""


class LogPlace(Place):
    """A place with `LogTabs`, a `FilterLine` and a `LogView` in `#logs`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "right_curly_bracket",
            "entry(1)",
            t("next group of ranks"),
            show=False,
            key_display="{ }",
            tooltip=t("Or the next rank that is shown by itself"),
        ),
        Binding("left_curly_bracket", "entry(-1)", show=False),
        told("right_curly_bracket", "entry"),
        told("left_curly_bracket", "entry"),
        Binding(
            "f",
            "find('only')",
            t("only lines with …"),
            show=False,
            tooltip=t("Filter: show lines with a text or a regex, re:…"),
        ),
        Binding(
            "F",
            "find('without')",
            t("no lines with …"),
            show=False,
            tooltip=t("Filter: hide lines with a text or a regex, re:…"),
        ),
        Binding("y", "copy_log", t("copy the lines in sight"), show=False, tooltip=t("To the terminal's clipboard")),
        Binding("Y", "copy_log(True)", t("copy the line found"), show=False, tooltip=t("To the terminal's clipboard")),
        Binding("o", "open_log('pager')", t("open in $PAGER"), show=False, tooltip=t("The log's file, at this line")),
        Binding("v", "open_log('editor')", t("open in $EDITOR"), show=False, tooltip=t("The log's file, at this line")),
        Binding("s", "save_log", t("save the log"), show=False, tooltip=t("The lines that are shown, to a file")),
        Binding(
            "l", "level", t("lines by level"), show=False, tooltip=t("Filter: all, errors, warnings too, info too")
        ),
    ]

    def __init__(self, folder: RunFolder) -> None:
        super().__init__()
        self.folder = folder
        self._one: Overview | None = None
        self._sources: dict[int | None, TailFirst] = {}
        self._chose_log = False
        self._came_from: tuple[object, ...] | None = None
        """What was in sight when somebody asked for a fault."""
        self._silent = 0
        self._clock: Timer | None = None
        """Looks at the log quickly; it rests while the log is silent, since each of its ticks costs."""

    # --- drawing --------------------------------------------------------------------------------------------------

    def follow_log(self) -> None:
        """Begin to look at the log; `read_silent_log` is for the clock that everything else has."""
        self._clock = self.set_interval(QUICK, self._read_log)

    def read_silent_log(self) -> None:
        """Look at a log that has been silent for a while; call it every `CALM` seconds."""
        if self._silent > SILENT:
            self._read_log()

    def _read_log(self) -> None:
        if screen_is_behind(self.app):
            return
        view = self.query_one(LogView)
        self._was_silent(0 if view.poll() else self._silent + 1)
        self._note(view)

    def _was_silent(self, looks: int) -> None:
        if self._clock is not None and (looks > SILENT) != (self._silent > SILENT):
            (self._clock.pause if looks > SILENT else self._clock.resume)()
        self._silent = looks

    def _spare_mark(self, view: LogView) -> None:
        """Notices lie at the bottom; where the marked line does too, at the top: what was asked for stays in sight."""
        row = view.marked_row()
        self.set_class(row is not None and row >= view.size.height // 2, "-mark-is-low")

    def _note(self, view: LogView) -> None:
        if len(self.app._notifications):
            self._spare_mark(view)
        tabs = self.query_one(LogTabs)
        hits, new = view.hits, f"{view.new_lines:,}"
        if view.following:
            said = [t("following")]
        elif view.new_lines:
            said = [t("{n} new {n:line|lines} below, end follows", n=new), t("{n} new below", n=new)]
        else:
            said = [t("end follows")]
        notes = [f"{hits}  {one}" if hits else one for one in said] + [hits] * bool(hits)
        if notes != tabs.notes:
            tabs.notes = notes
            tabs.refresh()
        self.query_one(FilterLine).show(view, self._log_in_words(view, tabs.tabs[tabs.active]))

    @staticmethod
    def _log_in_words(view: LogView, tab: LogTab) -> str:
        """Which log is shown, and what of it never is."""
        if isinstance(view.hidden, IdleRankLineTest):
            return t("{log}, bars left out", log=tab.title)
        return tab.title

    # --- which log ------------------------------------------------------------------------------------------------

    def _show_tab(self, index: int) -> None:
        tabs = self.query_one(LogTabs)
        tabs.active = index % len(tabs.tabs)
        tabs.refresh()
        tab = tabs.tabs[tabs.active]
        alone = tab.rank is not None or len(tabs.tabs) == 1
        hidden = None if alone else RankLineTest() if tab.own else IdleRankLineTest()
        self.query_one(LogView).show(self._source(tab.rank), waiting(self.folder, self._rank(tab)), hidden)
        self._was_silent(0)
        self._read_log()

    def _source(self, rank: int | None) -> TailFirst:
        if rank not in self._sources:
            logs = {log.rank: (log.stdout, log.stderr) for log in self._one.view.ranks} if self._one is not None else {}
            self._sources[rank] = TeedLog.at(self.folder.output) if rank is None else TailFirst.of(*logs[rank])
        return self._sources[rank]

    def _rank(self, tab: LogTab) -> RankLog | None:
        """The files of a rank's own log; None for a log of all."""
        ranks = self._one.view.ranks if self._one is not None else ()
        return next((log for log in ranks if log.rank == tab.rank), None)

    def on_log_tabs_chosen(self, event: LogTabs.Chosen) -> None:
        """A click on a log's name."""
        self._chose_log = True
        self._show_tab(event.index)

    def _only_log(self) -> bool:
        """Told to whoever wants another log where there is one only."""
        alone = len(self.query_one(LogTabs).tabs) < 2
        if alone:
            self.prl.tell(t("There is no other log here."))
        return alone

    def action_tab(self, by: int) -> None:
        """Another log; say where there is none."""
        if self._only_log():
            return
        self._chose_log = True
        self._show_tab(self.query_one(LogTabs).active + by)

    def _take_tabs(self, wanted: list[LogTab]) -> None:
        """Other logs are there now: the one in sight stays in sight, wherever its name stands among them."""
        tabs = self.query_one(LogTabs)
        before, alone = tabs.tabs[tabs.active], len(tabs.tabs) == 1
        at = next((n for n, tab in enumerate(wanted) if tab.is_same(before)), None)
        tabs.tabs, tabs.active = wanted, at or 0
        tabs.refresh()
        if at is None or alone != (len(wanted) == 1):
            self._show_tab(tabs.active)  # another log, or of the same one other lines

    def action_entry(self, by: int) -> None:
        """The next log, group of logs, or odd one of its row; say where there is none."""
        if self._only_log():
            return
        self._chose_log = True
        self._show_tab(self.query_one(LogTabs).beside(by))

    async def go_to(self, rank: int | None, path: Path, line: int) -> None:
        """Bring a line of a file into sight once all of the log is counted: numbers need every line before them."""
        source, view = self._source(rank), self.query_one(LogView)
        while view.log_source is source and not source.whole:
            view.poll()
            await asyncio.sleep(0)
        if view.log_source is source:
            place = source.line_of(path, line) or 0
            view.poll()
            while view.log_source is source and view.filtered is not None and not view.filtered.scan.counted:
                view.poll()
                await asyncio.sleep(0.02)
            view.go_to_line(view.line_of(place), 0)
            self._arrived()

    def in_sight(self) -> tuple[object, ...]:
        """What decides which part of which log is seen, and who has the keys."""
        view = self.query_one(LogView)
        return (
            self.query_one(LogTabs).active,
            view.shown,
            view.scroll_offset,
            self.focused,
            self.has_class("-on-logs"),
        )

    def _arrived(self) -> None:
        """Somebody asked for a fault: where nothing has moved, say that it is the line that is marked."""
        came_from, self._came_from = self._came_from, None
        if came_from is None or came_from != self.in_sight():
            return
        view, cause = self.query_one(LogView), self._one.cause if self._one is not None else None
        words = (
            cause.words() if cause is not None and cause.path else dict(view.in_sight()).get(view.current_line or 0, "")
        )
        self._spare_mark(view)
        self.prl.tell(t("{cause} – the marked line, in sight already", cause=fit(words.strip(), _TOLD).rstrip()))

    def on_unmount(self) -> None:
        """Give the files back."""
        for source in self._sources.values():
            source.close()

    # --- which lines ----------------------------------------------------------------------------------------------

    def action_pane(self, name: str) -> None:
        """Go to a pane; where there is room for one only, show it."""
        for other in ("gpus", "curves", "logs"):
            self.set_class(other == name, f"-on-{other}")
        if name == "logs":
            self.set_focus(self.query_one(LogView))  # now: `focus` would take it from a finder that comes next

    async def action_find(self, purpose: Purpose = "find") -> None:
        """Search in the log, or show a part of it. The keys that follow wait until the field is there, and are its."""
        self.action_pane("logs")
        if not self.query("#finder"):
            finder = LogFinder(purpose, self.query_one(LogView))
            await self.query_one("#logs").mount(finder, before=1)
        self.set_focus(self.query_one_optional("#finder"))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter does it: a search in what is in sight, then upwards."""
        finder = event.input
        if not isinstance(finder, LogFinder):
            return
        try:
            finder.apply()
        except ValueError as error:
            self.prl.tell(str(error), "error")
            return
        finder.remove()
        self.query_one(LogView).focus()
        self._note(self.query_one(LogView))

    def action_level(self) -> None:
        """Other levels in sight."""
        self.action_pane("logs")
        self.query_one(LogView).action_level()
        self._note(self.query_one(LogView))

    def action_copy_log(self, current: bool = False) -> None:
        """The lines in sight, or the one last jumped to."""
        from prl_tui.tui import log_out

        log_out.copy(self.prl, self.query_one(LogView), current=current)

    def action_open_log(self, kind: viewer.Kind) -> None:
        """The person's own program on the log."""
        from prl_tui.tui import log_out

        log_out.open_in(self.prl, self.query_one(LogView), kind)

    def action_save_log(self) -> None:
        """What is shown, to a file."""
        from prl_tui.tui import log_out

        tabs = self.query_one(LogTabs)
        name = tabs.tabs[tabs.active].name if tabs.tabs[tabs.active].rank is not None else "log"
        log_out.save(self.prl, self.query_one(LogView), f"{self.folder.id.removesuffix('.log')}-{name}.txt")

    def on_log_view_searched(self, event: LogView.Searched) -> None:
        """Say when nothing was found, or when what was asked for was there already."""
        if event.line is not None:
            self._arrived()
            return
        self._came_from = None
        if event.needle:
            self.prl.tell(t("“{text}” is not in this log.", text=event.needle))
        else:
            self.prl.tell(t("No warning lines here.") if event.level == "warning" else self._no_errors())

    def on_log_view_gave_up(self, event: LogView.GaveUp) -> None:
        """Say which expression was too slow."""
        said = t("{reason} It is taken away: not every line was tested.", reason=event.reason)
        self.prl.tell(said, "error")
        self._note(self.query_one(LogView))

    def _no_errors(self) -> str:
        """What helps where no line looks like an error: of a run that hangs only its stacks tell."""
        if self._one is not None and self._one.quiet is not None:
            return t("No error lines here: the run is silent. S shows where each rank stands.")
        return t("No error lines here.")

    def clear_log(self) -> bool:
        """Close the finder, else end the search, else show all lines again; whether there was any of it."""
        view = self.query_one(LogView)
        if self.query("#finder"):
            self.query_one("#finder").remove()
            view.focus()
        elif view.needle:
            view.search("")
        elif view.shown:
            view.narrow(Shown())
        else:
            return False
        self._note(view)
        return True
