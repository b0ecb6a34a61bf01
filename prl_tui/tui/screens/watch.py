"""Watch: is it alive, is it learning, when is it done, what is wrong?"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.content import Content, Span
from textual.widgets import Static

from prl_tui.i18n import t
from prl_tui.runs.bare import BareRun
from prl_tui.runs.folder import RunFolder
from prl_tui.runs.overview import Overview
from prl_tui.runs.plans import outputs_of
from prl_tui.runs.state import ALIVE
from prl_tui.telemetry.cause import Cause, line_at
from prl_tui.tui import fault_place, stopping
from prl_tui.tui.cells import fit, safe
from prl_tui.tui.curves import charts, in_sight
from prl_tui.tui.feeds import RunFeed
from prl_tui.tui.run_words import closing, head, health
from prl_tui.tui.screens.log_place import CALM, LogPlace
from prl_tui.tui.screens.place import told
from prl_tui.tui.screens.sized_panes import SizedPanes
from prl_tui.tui.widgets.chart import LineChart
from prl_tui.tui.widgets.gpu_pane import GpuPane
from prl_tui.tui.widgets.key_line import KeyLine
from prl_tui.tui.widgets.log_filter import Shown
from prl_tui.tui.widgets.log_finder import FilterLine
from prl_tui.tui.widgets.log_pane import screen_is_behind
from prl_tui.tui.widgets.log_tabs import LogTabs, tabs_of
from prl_tui.tui.widgets.log_view import LogView
from prl_tui.tui.widgets.top_bar import TopBar

if TYPE_CHECKING:
    from prl_tui.machine.gpus import GpuSnapshot
    from prl_tui.runs.records import Broken
    from prl_tui.telemetry.series import Series

RECALLED = 120
"""Rows of the GPU history that are drawn at once."""
COMPARED_AFTER = 5.0
"""Seconds until a run that was just started has written down what it is made of."""
LINGER = 10
"""Seconds that a demo stays open after its end."""


class WatchScreen(SizedPanes, LogPlace):
    """The third place."""

    _turned = 0
    """How often other curves were asked for."""
    PARTS = ("#head", "#gpus", "#curves", "#second", "LogTabs", "#log", "#health")

    CSS_PATH = "watch.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "pane('gpus')", t("gpus")),
        Binding("2", "pane('curves')", t("curves")),
        Binding("3", "pane('logs')", t("logs")),
        Binding("P", "promote", t("the full run"), tooltip=t("A passed smoke test's config, in full")),
        told("P", "promote"),
        Binding("right_square_bracket", "tab(1)", t("log"), key_display="[ ]", tooltip=t("The next log")),
        Binding("left_square_bracket", "tab(-1)", show=False),
        told("right_square_bracket", "tab"),
        told("left_square_bracket", "tab"),
        Binding("z", "zoom", t("zoom"), show=False),
        Binding("slash", "find", t("find"), tooltip=t("A text or a regex, re:…")),
        Binding("d", "details", t("cause"), tooltip=t("The line of the cause, else the first error")),
        told("d", "details"),
        Binding("x", "stop", t("stop"), tooltip=t("Stop the run and all that it started")),
        told("x", "stop"),
        Binding("m", "changes", t("changes"), show=False, tooltip=t("What changed since the recipe's last run")),
        told("m", "changes"),
        Binding("S", "stacks", t("stacks"), show=False, tooltip=t("Where each rank stands now, by py-spy")),
        told("S", "stacks"),
        Binding("R", "app.go('runs')", t("runs"), show=False),
        Binding("c", "app.go('configure')", t("configure"), show=False),
        Binding("escape", "back", show=False),
        Binding("question_mark", "help", t("help")),
        Binding("q", "leave", t("leave"), tooltip=t("The run goes on")),
    ]

    def __init__(self, folder: RunFolder, feed: RunFeed) -> None:
        super().__init__(folder)
        self.feed = feed
        self._ended_at: float | None = None
        self._snapshot: GpuSnapshot | None = None
        self._moment: tuple[object, ...] = ()
        """What else moves what is shown, as it was at the last look."""
        self._culprit: Cause | None = None
        self._changed = ""
        self._offered: list[str] = []
        self._written: dict[str, tuple[str, tuple[Span, ...]]] = {}
        self._info: dict[str, object] = {}
        self._curves = outputs_of(None).curves

    def compose(self) -> ComposeResult:
        """Head, GPUs and curves, logs, health."""
        self.fit_terminal()
        yield TopBar("watch")
        yield Static(id="head")
        with Container(id="body"):
            with Container(id="upper"):
                yield GpuPane(id="gpus", classes="pane")
                yield LineChart(id="curves", classes="chart pane")
                yield LineChart(id="second", classes="chart pane")
            with Vertical(id="logs", classes="pane"):
                yield LogTabs()
                yield FilterLine()
                yield LogView(id="log")
        yield Static(id="health")
        yield KeyLine()

    def on_mount(self) -> None:
        """Start the two clocks: the logs', and everybody else's."""
        if not self.query("#gpus"):
            return  # the app is leaving: nothing was composed
        self.add_class("-on-logs")
        self.share_room()
        self._show_tab(0)
        self.set_focus(self.query_one(LogView))
        self._look()
        self.prl.beside.do(f"record {self.folder.id}", self.folder.info, self._take_info)
        self.prl.beside.do(f"history {self.folder.id}", self._recall)
        self._compare()
        self.set_timer(COMPARED_AFTER, self._compare)
        self.follow_log()
        self.set_interval(CALM, self._turn)

    def _take_info(self, info: dict[str, object] | Broken | None) -> None:
        """What the run was started with; a change of the curves is drawn."""
        if not self.is_attached or not self.whole():
            return
        self._info = info if isinstance(info, dict) else {}
        self._curves = outputs_of(info).curves
        if self._one is not None:
            self._show_curves(self._one.view.series)

    def _recall(self) -> None:
        """What the GPUs did before anybody looked, from the run's own record; on a thread."""
        from prl_tui.telemetry import gpu_history

        found = gpu_history.utilizations(self.folder.path / gpu_history.FILE, RECALLED)
        if found:
            self.later(self._recalled, found)

    def _compare(self) -> None:
        """What changed since the recipe's last run, for the time in which a run says nothing yet; on a thread."""

        def work() -> None:
            from prl_tui.runs import changes

            found = changes.since_last(self.folder.path.parent, self.folder)
            if found is not None:
                self._changed = found.short()

        self.prl.beside.do(f"compare {self.folder.id}", work)

    def _recalled(self, found: dict[str, list[int | None]]) -> None:
        self.query_one(GpuPane).recall(found)

    # --- drawing --------------------------------------------------------------------------------------------------

    def _turn(self) -> None:
        """Look at what may have changed: the clock's second does so too, as ages and times are shown."""
        self.read_silent_log()
        if screen_is_behind(self.app):
            return
        one, snapshot = self.feed.latest(), self.prl.gpu_reading().snapshot
        moment = int(time.monotonic()), self.size, self.prl.leaves_after
        if one is not self._one or snapshot is not self._snapshot or moment != self._moment:
            self._snapshot, self._moment = snapshot, moment
            self._look()

    def _look(self) -> None:
        """Take what the feeds have."""
        reading = self.prl.gpu_reading()
        self.set_class(reading.snapshot is None or not reading.snapshot.gpus, "-no-gpus")
        self.query_one(GpuPane).show(reading)
        one = self.feed.latest()
        if one is None:
            self._write("#head", Content(t("run {id} · reading its files …", id=safe(self.folder.id))))
            return
        if one is not self._one:
            self._one = one
            self._show_curves(one.view.series)
            self._collect_tabs(one)
            offered = [action for action in ("stop", "details", "tab", "promote") if self.offers(action)]
            if offered != self._offered:
                self._offered = offered
                self.refresh_bindings()
        if one.status.state in {"starting", "running", "stopping"}:  # else its ranks are no processes of this box
            self.query_one(GpuPane).follow(self.feed.seats(), len(one.view.ranks), self._info.get("values"))
        self._write("#head", head(one, self.size.width - 2))
        self._show_health(one)
        self._linger(one)

    def offers(self, action: str) -> bool:
        """`stop` while there is something to stop, `details` of a fault, another log where there are several."""
        match action:
            case "stop":
                return self._one is not None and stopping.offered(self._one)
            case "details":
                return self._one is not None and fault_place.find(self._one) is not None
            case "tab" | "entry":
                return len(self.query_one(LogTabs).tabs) > 1
            case "changes":
                return not isinstance(self.folder, BareRun)
            case "stacks":
                return self._one is not None and stopping.lives(self._one)
            case "promote":
                return self._one is not None and self._one.smoke is not None and self._one.smoke.passed
        return super().offers(action)

    def _show_curves(self, series: dict[str, Series] | object) -> None:
        found = charts(cast("dict[str, Series]", series), self._curves)
        one, two = self.query_one("#curves", LineChart), self.query_one("#second", LineChart)
        room = 2 if two.display else 1
        first, second = (*in_sight(found, self._turned, room), {})[:2]
        one.set_series(first)
        two.set_series(second)
        (two if room > 1 else one).border_subtitle = t("2  next curve") if len(found) > room else ""

    def _collect_tabs(self, one: Overview) -> None:
        tabs = self.query_one(LogTabs)
        wanted = tabs_of(one)
        if wanted != tabs.tabs:
            first_ranks = len(tabs.tabs) == 1 and len(wanted) > 1
            self._take_tabs(wanted)
            if first_ranks and not self._chose_log:
                self._show_tab(1)  # rank 0's own log reads better than all ranks in one
        self._show_culprit(one)

    def _show_culprit(self, one: Overview) -> None:
        """Once it is known why the run failed, its rank's own log: the others' tell what followed from it."""
        cause = one.cause
        if cause is None or self._culprit == cause:
            return
        self._culprit = cause
        rank = fault_place.rank_of(one, cause.path)
        names = [tab.rank for tab in self.query_one(LogTabs).tabs]
        if not self._chose_log and rank is not None and rank in names:
            self._show_tab(names.index(rank))

    def _show_health(self, one: Overview) -> None:
        text, tone = health(one)
        if self._changed and not tone and one.status.state in ALIVE and one.view.last_row is None:
            text += f"   {safe(self._changed)}"
        if self._ended_at is not None and self._closes:
            left = max(0, round(LINGER - (time.monotonic() - self._ended_at)))
            text = closing(text, left, max(10, self.size.width - 2))
        line = self.query_one("#health", Static)
        line.set_class(tone == "bad", "-bad")
        line.set_class(tone == "warn", "-warn")
        self._write("#health", Content(fit(text, max(10, self.size.width - 2))))

    def _write(self, line: str, content: Content) -> None:
        """A line of its own, drawn only where it says something else now."""
        text = content.plain, tuple(content.spans)
        if self._written.get(line) != text:
            self._written[line] = text
            self.query_one(line, Static).update(content, layout=False)

    def _linger(self, one: Overview) -> None:
        """A demo leaves by itself a while after its end, unless somebody is reading."""
        if not one.status.over or not self._closes:
            return
        here = self._ended_at is not None and self.prl.touched > self._ended_at  # typing in a finder, or scrolling
        if here or self.app.screen is not self or self.prl.unkept:  # or a dialog is open, or settings would be lost
            self.prl.leaves_after = None
        elif self._ended_at is None:
            self._ended_at = time.monotonic()
        elif time.monotonic() - self._ended_at > LINGER:
            self.prl.action_leave()

    @property
    def _closes(self) -> bool:
        """Whether the app ends with this run: another run that somebody looks at meanwhile says nothing of a demo's."""
        return self.prl.leaves_after == self.folder

    def on_key(self) -> None:
        """Somebody is here, and may come back here."""
        if self._ended_at is not None:
            self.prl.leaves_after = None

    # --- actions --------------------------------------------------------------------------------------------------

    def action_pane(self, name: str) -> None:
        """Go to a pane; where there is room for one only, show it. The curves again: the next ones."""
        if name == "curves" and self._one is not None:
            self._turned += self.has_class("-on-curves")
            self._show_curves(self._one.view.series)
        super().action_pane(name)
        if name == "gpus":
            self.set_focus(self.query_one(GpuPane))

    def action_promote(self, _why: bool = False) -> None:
        """From a smoke test that passed to the full run's settings."""
        if self._one is not None:
            from prl_tui.tui import settings_of_run

            settings_of_run.promote(self.prl, self._one)

    def action_changes(self, _why: bool = False) -> None:
        """What changed since the last run of the same recipe."""
        if self._foreign():
            return
        from prl_tui.tui import changed

        changed.show(self.prl, self.folder)

    def action_stacks(self, _why: bool = False) -> None:
        """Where each rank stands now."""
        if self._foreign():
            return
        from prl_tui.tui import stacks

        stacks.show(self.prl, self.folder)

    def _foreign(self) -> bool:
        """Told to whoever wants more of a log or folder than it has."""
        if isinstance(self.folder, BareRun):
            self.prl.tell(t("prl-tui did not start this: its settings and processes are not known."))
            return True
        return False

    def action_zoom(self) -> None:
        """One pane, or all of them; say so where there is room for one only."""
        if self.is_narrow():
            self.prl.tell(t("One pane has the whole screen at this width: 1 2 3 show another one."))
            return
        self.toggle_class("-zoom")
        self.share_room()

    def action_details(self, _none: bool = False) -> None:
        """Go to the cause of a failure, else to the first line that looks like an error."""
        place = fault_place.find(self._one) if self._one is not None else None
        stopped = fault_place.of_stop(self._one) if self._one is not None and place is None else None
        place = place or stopped
        if place is None:
            self.prl.tell(self._no_errors())
            return
        names = [tab.rank for tab in self.query_one(LogTabs).tabs]
        self._came_from = self.in_sight() if stopped is None else None
        if stopped is not None:
            self.prl.tell(t("The stop caused the error lines here: none came before it. e leads to the next one."))
        self.action_pane("logs")
        self._chose_log = True
        self.query_one(LogView).narrow(Shown())
        self._show_tab(names.index(place.rank) if place.rank in names else 0)
        view = self.query_one(LogView)
        if place.at is None:
            view.find_error(first=True)
            return
        awaited = t("Counting the lines before the cause …")
        self.prl.beside.do(
            f"line {place}", partial(line_at, place.path, place.at), partial(self._go_to, place), awaited=awaited
        )

    def _go_to(self, place: fault_place.FaultPlace, line: int | None) -> None:
        if self.is_attached and self.whole():
            self.run_worker(self.go_to(place.rank, place.path, line or 0), group="details", exclusive=True)

    def action_stop(self, _ended: bool = False) -> None:
        """Ask, then stop the run; say why where it is over."""
        stopping.ask(self.prl, self.folder)

    def action_back(self) -> None:
        """All of the log again, else go to the runs."""
        if not self.clear_log():
            self.prl.action_go("runs")

    def action_leave(self) -> None:
        """Leave the app; the run goes on."""
        self.prl.action_ask_leave()

    def action_help(self) -> None:
        """What this screen is."""
        from prl_tui.tui.help import watch_help
        from prl_tui.tui.screens.dialogs import Help

        self.app.push_screen(Help(watch_help()))
