"""Watch: is it alive, is it learning, when is it done, what is wrong?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Footer, Input, Static

from prl_tui.core.devices import read as read_devices
from prl_tui.i18n import t
from prl_tui.runs import overview
from prl_tui.runs.folder import RunFolder
from prl_tui.runs.overview import Overview
from prl_tui.runs.plans import outputs_of
from prl_tui.runs.state import ALIVE
from prl_tui.telemetry.cause import Cause
from prl_tui.telemetry.durations import format_duration, format_speed
from prl_tui.telemetry.line_index import LineIndex
from prl_tui.telemetry.merged_index import MergedIndex
from prl_tui.tui.cells import fit, safe
from prl_tui.tui.feeds import RunFeed
from prl_tui.tui.screens.place import Place
from prl_tui.tui.widgets.chart import LineChart
from prl_tui.tui.widgets.gpu_table import WATCH, GpuTable
from prl_tui.tui.widgets.log_view import LogView, screen_is_behind
from prl_tui.tui.widgets.top_bar import TopBar

if TYPE_CHECKING:
    from prl_tui.telemetry.series import Series

BAR = 20
"""Cells of the progress bar."""
LINGER = 10
"""Seconds that a demo stays open after its end."""


@dataclass(frozen=True, slots=True)
class LogTab:
    """One log that can be shown."""

    name: str
    rank: int | None


class LogTabs(Widget):
    """The logs of a run by name."""

    @dataclass
    class Chosen(Message):
        """A log was clicked."""

        index: int

    def __init__(self) -> None:
        super().__init__(id="log-tabs")
        self.tabs: list[LogTab] = [LogTab(t("launcher"), None)]
        self.active = 0
        self.note = ""

    def render(self) -> Content:
        """The active one has a sign; the right end says what the view does."""
        parts: list[tuple[str, str]] = [(f"{t('Logs')} ", "bold")]
        used = cell_len(f"{t('Logs')} ")
        for n, tab in enumerate(self.tabs):
            text = f" {'▸' if n == self.active else ' '}{tab.name} "
            used += cell_len(text)
            parts.append((text, "$text-accent bold" if n == self.active else "$secondary"))
        parts.append((fit(self.note, max(0, self.content_size.width - used), right=True), "$secondary"))
        return Content.assemble(*parts)

    def on_click(self, event: events.Click) -> None:
        """Show the log under the pointer."""
        at = cell_len(f"{t('Logs')} ") + 1
        for n, tab in enumerate(self.tabs):
            end = at + cell_len(f"  {tab.name} ")
            if at <= event.x < end:
                self.post_message(self.Chosen(n))
            at = end


class WatchScreen(Place):
    """The third place."""

    CSS_PATH = "watch.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "pane('gpus')", t("gpus")),
        Binding("2", "pane('curves')", t("curves")),
        Binding("3", "pane('logs')", t("logs")),
        Binding("right_square_bracket", "tab(1)", t("log"), key_display="[ ]", tooltip=t("The next log")),
        Binding("left_square_bracket", "tab(-1)", show=False),
        Binding("z", "zoom", t("zoom"), show=False),
        Binding("slash", "find", t("find")),
        Binding("d", "details", t("details"), tooltip=t("The first line that looks like an error")),
        Binding("x", "stop", t("stop"), tooltip=t("Stop the run and all that it started")),
        Binding("R", "app.go('runs')", t("runs"), show=False),
        Binding("c", "app.go('configure')", t("configure"), show=False),
        Binding("escape", "back", show=False),
        Binding("question_mark", "help", t("help")),
        Binding("q", "leave", t("leave"), tooltip=t("The run goes on")),
    ]

    def __init__(self, folder: RunFolder, feed: RunFeed) -> None:
        super().__init__()
        self.folder, self.feed = folder, feed
        self._one: Overview | None = None
        self._sources: dict[int | None, LineIndex | MergedIndex] = {}
        self._ended_at: float | None = None
        self._keep = False
        self._chose_log = False
        info = folder.info()
        self._info = info if isinstance(info, dict) else {}
        self._curves = outputs_of(info).curves

    def compose(self) -> ComposeResult:
        """Head, GPUs and curves, logs, health."""
        self.fit_terminal()
        yield TopBar("watch")
        yield Static(id="head")
        with Container(id="body"):
            with Container(id="upper"):
                yield GpuTable(WATCH, id="gpus", classes="pane")
                yield LineChart(id="curves", classes="chart pane")
                yield LineChart(id="second", classes="chart pane")
            with Vertical(id="logs", classes="pane"):
                yield LogTabs()
                yield LogView(id="log")
        yield Static(id="health")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Start the two clocks: the logs', and everybody else's."""
        self.query_one("#gpus").border_title = t("GPUs")
        self.add_class("-on-logs")
        self._show_tab(0)
        self.query_one(LogView).focus()
        self._look()
        self.set_interval(0.1, self._read_log)
        self.set_interval(0.25, self._look)

    # --- drawing --------------------------------------------------------------------------------------------------

    def _read_log(self) -> None:
        if screen_is_behind(self.app):
            return
        view = self.query_one(LogView)
        view.poll()
        self._note(view)

    def _note(self, view: LogView) -> None:
        tabs = self.query_one(LogTabs)
        if view.following:
            note = t("following")
        elif view.new_lines:
            note = t("{n} new lines below, end follows", n=f"{view.new_lines:,}")
        else:
            note = t("end follows")
        if note != tabs.note:
            tabs.note = note
            tabs.refresh()

    def _look(self) -> None:
        """Take what the feeds have."""
        if screen_is_behind(self.app):
            return
        reading = self.prl.gpu_reading()
        self.set_class(reading.problem is not None, "-no-gpus")
        self.query_one(GpuTable).show(reading)
        one = self.feed.latest()
        if one is None:
            self.query_one("#head", Static).update(
                Content(t("run {id} · reading its files …", id=safe(self.folder.id)))
            )
            return
        if one is not self._one:
            self._one = one
            self._rank_gpus(one)
            self._show_curves(one.view.series)
            self._collect_tabs(one)
        self.query_one("#head", Static).update(head(one, self.size.width - 2), layout=False)
        self._show_health(one)
        self._linger(one)

    def _rank_gpus(self, one: Overview) -> None:
        values = self._info.get("values")
        spec = values.get("cuda_visible_devices") if isinstance(values, dict) else None
        entries = read_devices(spec).entries if isinstance(spec, str) else ()
        ranks = {log.rank for log in one.view.ranks}
        if entries:
            placed = {index: rank for rank, index in enumerate(entries) if rank in ranks and isinstance(index, int)}
        else:
            placed = {rank: rank for rank in ranks}
        self.query_one(GpuTable).set_ranks(placed)

    def _show_curves(self, series: dict[str, Series] | object) -> None:
        found = cast("dict[str, Series]", series)
        names = [name for name in self._curves if name in found]
        pair: dict[str, Series] = {name: found[name] for name in ("loss", "eval_loss") if name in found}
        others = [name for name in names if name not in pair]
        self.query_one("#curves", LineChart).set_series(pair or {name: found[name] for name in names[:1]})
        self.query_one("#second", LineChart).set_series({name: found[name] for name in others[:1]})

    def _collect_tabs(self, one: Overview) -> None:
        tabs = self.query_one(LogTabs)
        bad = {mark.path for mark in one.view.errors}
        wanted = [LogTab(t("launcher"), None)]
        for log in one.view.ranks:
            odd = " !" if bad & {log.stdout, log.stderr} else ""
            wanted.append(LogTab(f"r{log.rank}{odd}", log.rank))
        if wanted != tabs.tabs:
            first_ranks = len(tabs.tabs) == 1 and len(wanted) > 1
            tabs.tabs = wanted
            tabs.active = min(tabs.active, len(wanted) - 1)
            tabs.refresh()
            if first_ranks and not self._chose_log:
                self._show_tab(1)  # rank 0's own log reads better than all ranks in one

    def _show_health(self, one: Overview) -> None:
        text, tone = health(one)
        if self._ended_at is not None and not self._keep and self.prl.leave_when_done:
            left = max(0, round(LINGER - (time.monotonic() - self._ended_at)))
            text = t("closing in {n} s, any key keeps it open   {text}", text=text, n=left)
        line = self.query_one("#health", Static)
        line.set_class(tone == "bad", "-bad")
        line.set_class(tone == "warn", "-warn")
        line.update(Content(fit(text, max(10, self.size.width - 2))), layout=False)

    def _linger(self, one: Overview) -> None:
        """A demo leaves by itself a while after its end, unless somebody is reading."""
        if one.status.state in ALIVE or not self.prl.leave_when_done:
            return
        if self._ended_at is None:
            self._ended_at = time.monotonic()
        elif not self._keep and time.monotonic() - self._ended_at > LINGER:
            self.prl.action_leave()

    def on_key(self) -> None:
        """Somebody is here."""
        self._keep = self._keep or self._ended_at is not None

    # --- logs -----------------------------------------------------------------------------------------------------

    def _show_tab(self, index: int) -> None:
        tabs = self.query_one(LogTabs)
        tabs.active = index % len(tabs.tabs)
        tabs.refresh()
        rank = tabs.tabs[tabs.active].rank
        waiting = t("Nothing is written yet.")
        self.query_one(LogView).show(self._source(rank), waiting)
        self._read_log()

    def _source(self, rank: int | None) -> LineIndex | MergedIndex:
        if rank not in self._sources:
            logs = {log.rank: log for log in self._one.view.ranks} if self._one is not None else {}
            self._sources[rank] = LineIndex(self.folder.output) if rank is None else logs[rank].open()
        return self._sources[rank]

    def on_log_tabs_chosen(self, event: LogTabs.Chosen) -> None:
        """A click on a log's name."""
        self._chose_log = True
        self._show_tab(event.index)

    def on_log_view_searched(self, event: LogView.Searched) -> None:
        """Say when nothing was found."""
        if event.line is None:
            self.prl.tell(
                t("“{text}” is not in this log.", text=event.needle) if event.needle else t("No error lines here.")
            )

    # --- actions --------------------------------------------------------------------------------------------------

    def action_pane(self, name: str) -> None:
        """Go to a pane; where there is room for one only, show it."""
        for other in ("gpus", "curves", "logs"):
            self.set_class(other == name, f"-on-{other}")
        if name == "logs":
            self.query_one(LogView).focus()

    def action_zoom(self) -> None:
        """One pane, or all of them."""
        self.toggle_class("-zoom")

    def action_tab(self, by: int) -> None:
        """Another log."""
        self._chose_log = True
        self._show_tab(self.query_one(LogTabs).active + by)

    def action_find(self) -> None:
        """Search in the log."""
        self.action_pane("logs")
        if not self.query("#finder"):
            self.query_one("#logs").mount(Input(placeholder=t("find in the log"), id="finder"), before=1)
        self.query_one("#finder").focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter searches upwards from the end."""
        needle = event.value
        event.input.remove()
        view = self.query_one(LogView)
        view.focus()
        view.search(needle, backwards=True)

    def action_details(self) -> None:
        """Go to the cause of a failure, else to the first line that looks like an error."""
        one = self._one
        if one is not None and one.cause is not None and one.cause.path is not None:
            self._go_to_cause(one, one.cause)
            return
        if one is None or not one.view.errors:
            self.prl.tell(t("No error lines here."))
            return
        mark = next((m for m in one.view.errors if m.path != self.folder.output), one.view.errors[0])
        rank = next((log.rank for log in one.view.ranks if mark.path in {log.stdout, log.stderr}), None)
        names = [tab.rank for tab in self.query_one(LogTabs).tabs]
        self.action_pane("logs")
        self._show_tab(names.index(rank) if rank in names else 0)
        self.query_one(LogView).find_error()

    def _go_to_cause(self, one: Overview, cause: Cause) -> None:
        """Open the log that shows why the run failed, at its line."""
        rank = next((log.rank for log in one.view.ranks if cause.path in {log.stdout, log.stderr}), None)
        names = [tab.rank for tab in self.query_one(LogTabs).tabs]
        self.action_pane("logs")
        self._chose_log = True
        self._show_tab(names.index(rank) if rank in names else 0)
        source = self._source(rank)
        while source.update():
            pass
        line = cause.line or 0
        if isinstance(source, MergedIndex) and cause.path is not None:
            line = source.line_of(cause.path, line) or 0
        self.query_one(LogView).go_to_line(line)

    def action_stop(self) -> None:
        """Ask, then stop the run."""
        from prl_tui.tui.stopping import ask

        if self._one is not None:
            ask(self.prl, self._one)

    def action_back(self) -> None:
        """Close the finder, else go to the runs."""
        if self.query("#finder"):
            self.query_one("#finder").remove()
            self.query_one(LogView).focus()
        elif self.query_one(LogView).needle:
            self.query_one(LogView).search("")
        else:
            self.prl.action_go("runs")

    def action_leave(self) -> None:
        """Leave the app; the run goes on."""
        self.prl.action_leave()

    def action_help(self) -> None:
        """What this screen is."""
        from prl_tui.tui.help import watch_help
        from prl_tui.tui.screens.dialogs import Help

        self.app.push_screen(Help(watch_help()))

    def on_unmount(self) -> None:
        """Give the files back."""
        for source in self._sources.values():
            source.close()


def head(one: Overview, width: int) -> Content:
    """`run 7f3 · demo/two-ranks · ▸ running   step 120 / 200  60 %  ━━━╸────  7 it/s  16 s left  checkpoint 100`."""
    state = one.status.state
    tone = {"finished": "$text-success", "failed": "$text-error", "lost": "$text-warning"}.get(state, "$text-accent")
    parts: list[tuple[str, str]] = [
        (t("run {id}", id=safe(one.id)), "bold"),
        (f" · {safe(one.source)} · ", "$secondary"),
        (overview.state_word(state), tone),
    ]
    room = width - sum(cell_len(text) for text, _ in parts)
    for text in _progress(one, room > 70):
        if cell_len(text) + 3 <= room:
            parts.append((f"   {safe(text)}", ""))
            room -= cell_len(text) + 3
    return Content.assemble(*parts)


def _progress(one: Overview, with_bar: bool) -> Sequence[str]:
    progress = one.view.progress
    took = _took(one)
    if progress is None:
        return [overview.phase_words(one.view.phase), took] if one.status.state in ALIVE else [took]
    share = progress.step / progress.total if progress.total else 0.0
    found = [
        t("step {step} / {total}", step=f"{progress.step:,}", total=f"{progress.total:,}"),
        f"{100 * share:3.0f} %",
    ]
    if with_bar:
        found.append(bar(share, BAR))
    if one.status.state in ALIVE:
        if progress.eta_seconds is not None:
            found.append(t("{time} left", time=format_duration(progress.eta_seconds)))
        found.append(format_speed(progress.seconds_per_step))
    else:
        found.append(took)
    if one.view.checkpoints:
        newest = one.view.checkpoints[-1]
        age = format_duration(time.time() - newest.seen_at) if newest.seen_at else ""
        step = newest.step if newest.step is not None else newest.path
        found.append(
            t("checkpoint {step}, {age} ago", step=step, age=age) if age else t("checkpoint {step}", step=step)
        )
    return found


def _took(one: Overview) -> str:
    if one.status.started is None:
        return ""
    if one.status.ended is not None:
        return t("after {time}", time=format_duration(one.status.ended - one.status.started))
    return t("for {time}", time=format_duration(time.time() - one.status.started))


def bar(share: float, cells: int) -> str:
    """A progress bar in half cells."""
    halves = round(max(0.0, min(1.0, share)) * cells * 2)
    full, half = divmod(halves, 2)
    return "━" * full + ("╸" if half else "") + "─" * (cells - full - half)


def health(one: Overview) -> tuple[str, str]:
    """What a person should know first, and its tone: good, warn, bad or nothing."""
    status, view = one.status, one.view
    if status.state == "failed":
        return _failure(one), "bad"
    if status.state in {"lost", "finished-with-exit-error", "unknown"}:
        return f"! {status.detail}", "warn"
    if status.state == "finished":
        return "✓ " + t("finished, exit code 0; its settings and logs stay in {path}", path=one.folder.path), ""
    if status.detail:
        return status.detail, ""
    row = view.last_row
    if row is not None:
        shown = [f"{name} {value:.4g}" for name, value in row.values.items() if name in _SHOWN]
        return "✓ " + "   ".join(shown), ""
    return "· " + overview.phase_words(view.phase), ""


def _failure(one: Overview) -> str:
    """Why it died: the cause, else the first error line, else what is known of its end."""
    code = t("exit code {code}", code=one.status.exit_code)
    if one.cause is not None:
        return f"✗ {safe(one.cause.words())}   d {t('details')}"
    if one.view.errors:
        mark = next((m for m in one.view.errors if m.path != one.folder.output), one.view.errors[0])
        return f"✗ {code}: {safe(mark.text)}   d {t('details')}"
    return f"✗ {code}. {one.status.detail}"


_SHOWN = ("loss", "reward", "grad_norm", "learning_rate", "token_acc", "kl")
