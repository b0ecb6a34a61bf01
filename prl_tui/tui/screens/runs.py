"""Runs: newest first, what each is, how far it came, how it ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message

from prl_tui.i18n import t
from prl_tui.runs import overview
from prl_tui.runs.changes import Changes, Memory
from prl_tui.runs.overview import Overview
from prl_tui.runs.state import ALIVE, State
from prl_tui.tui import stopping
from prl_tui.tui.cells import fit
from prl_tui.tui.screens.place import Place, told
from prl_tui.tui.widgets.key_line import KeyLine
from prl_tui.tui.widgets.rows import Piece, Rows, StillRows
from prl_tui.tui.widgets.top_bar import TopBar

if TYPE_CHECKING:
    from prl_tui.runs.folder import RunFolder
    from prl_tui.tui.app import PrlApp

MOST = 300
"""Runs that are read for the list."""

ROLE: dict[State, str] = {
    "finished": "good",
    "failed": "error",
    "finished-with-exit-error": "warning",
    "lost": "warning",
    "running": "accent",
    "starting": "accent",
    "elsewhere": "accent",
}


class RunList(Rows):
    """One row a run."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "choose", t("watch"))]

    def __init__(self) -> None:
        super().__init__(id="runs")
        self.runs: list[Overview] = []
        self.changes: Mapping[str, Changes] = {}
        self.waiting = True
        self._longest = (0, 0)
        """Cells of the longest words of how far and of how long."""
        self.wanted = ""
        """The run that the cursor starts on."""

    def on_mount(self) -> None:
        """The frame's title."""
        self.border_title = t("Runs")

    def show(self, runs: list[Overview]) -> None:
        """Draw runs; the cursor stays on its run."""
        now = self.runs[self.cursor].id if self.cursor < len(self.runs) else self.wanted
        before, self.runs, self.waiting = self.cursor, runs, False
        self.cursor = next((y for y, one in enumerate(runs) if one.id == now), min(self.cursor, max(0, len(runs) - 1)))
        told = [(overview.progress_words(one), overview.took(one)) for one in runs]
        self._longest = (
            max((cell_len(far) for far, _ in told), default=0), max((cell_len(took) for _, took in told), default=0)
        )  # fmt: skip
        self.rows_changed()
        if self.cursor != before:
            self.show_cursor()

    def tell(self, changes: Mapping[str, Changes]) -> None:
        """What changed in each run since its recipe's run before."""
        self.changes = changes
        self.rows_changed()

    def moved(self) -> None:
        """The lines below are about the run under the cursor."""
        self.post_message(self.Moved())

    class Moved(Message):
        """Another run is under the cursor."""

    def count(self) -> int:
        """Runs, or the one line that says that there are none."""
        return max(1, len(self.runs))

    def selectable(self, y: int) -> bool:
        """Runs only."""
        return y < len(self.runs)

    def row(self, y: int, width: int) -> list[Piece]:
        """State, age, what, how far, how long, what stands beside it."""
        if not self.runs:
            return [(fit(self.none_words(), width), "muted")]
        one = self.runs[y]
        state = one.status.state
        began = time.strftime("%m-%d %H:%M", time.localtime(one.created)) if one.created else "–"
        wide, silent = width > 120, one.quiet is not None
        detailed = width > 130
        what, far, took = self._columns(wide)
        pieces: list[Piece] = [
            (fit(one.id, 7) + " ", "strong"),
            (
                fit(overview.status_word(one), 25 if wide else 16) + " ",
                "warning" if silent else ROLE.get(state, "muted"),
            ),
            (fit(began, 12) + " " if width > 90 else "", "muted"),
            (fit(one.what, what) + " ", ""),
        ]
        if silent and not detailed:
            return [*pieces, (fit(overview.reason(one), 33 if wide else 30), "warning")]
        pieces += [
            (fit(overview.progress_words(one), far), ""),
            (fit(overview.took(one), took, right=True), "muted"),
        ]
        if detailed:
            text = overview.reason(one) or self._changed(one)
            pieces.append(("   " + fit(text, max(4, width - 117)), "warning" if silent else "muted"))
        return pieces

    def none_words(self) -> str:
        """What the list says where it has no run."""
        return t("reading the runs …") if self.waiting else t("There are no runs yet: choose a preset and press l.")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There is nothing to watch in an empty list."""
        if action == "choose" and not self.runs:
            return False
        return super().check_action(action, parameters)

    def _columns(self, wide: bool) -> tuple[int, int, int]:
        """Cells of what, how far and how long: a longer time takes its cells where how far leaves some, else from what."""
        what, far, took = (33, 21, 12) if wide else (20, 21, 9)
        more = max(0, self._longest[1] - took)
        left = max(far - more, min(far, self._longest[0] + 1))
        return what - (left - (far - more)), left, took + more

    def _changed(self, one: Overview) -> str:
        found = self.changes.get(one.id)
        return found.brief() if found is not None else ""

    def chosen(self, y: int) -> None:
        """Watch it."""
        cast("PrlApp", self.app).open_run(self.runs[y].folder)


class RunNote(StillRows, can_focus=False):
    """Two lines about one run: why it ended as it did, and what changed since its recipe's run before."""

    def __init__(self) -> None:
        super().__init__(id="note")
        self._lines: list[Piece] = []

    def show(self, one: Overview | None, changes: Changes | None) -> None:
        """The run under the cursor."""
        self._lines = [] if one is None else [_why(one), (_since(one, changes), "muted")]
        self.rows_changed()

    def count(self) -> int:
        """Lines."""
        return len(self._lines)

    def row(self, y: int, width: int) -> list[Piece]:
        """One of them."""
        text, role = self._lines[y]
        return [(fit(text, width), role)]


def _why(one: Overview) -> Piece:
    """The cause of a failure; else its state, how far it came and its code."""
    text = overview.reason(one)
    if text and text != one.status.unwritten:
        return text, "warning" if one.quiet is not None else "error" if one.status.state == "failed" else "muted"
    code = one.status.exit_code
    told = [one.what, overview.state_word(one.status.state).partition(" ")[2], overview.progress_words(one)]
    told.append(t("exit code {code}", code=code) if code is not None else "")
    told.append(one.status.unwritten)
    return " · ".join(part for part in told if part), "muted"


def _since(one: Overview, changes: Changes | None) -> str:
    if changes is not None:
        return changes.short()
    return t("Run {id} is the first of its recipe.", id=one.id) if one.recipe else ""


class RunsScreen(Place):
    """The second place."""

    PARTS = ("RunList", "RunNote")
    _listed = False
    _offered: Sequence[str] = ()

    CSS = """
    RunsScreen RunList { border: round $panel-lighten-2; padding: 0 0 0 1; }
    RunsScreen RunList:focus { border: round $primary; }
    RunsScreen #note { height: 2; padding: 0 0 0 2; scrollbar-size: 0 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "stop", t("stop"), tooltip=t("Stop the run and all that it started")),
        told("x", "stop"),
        Binding("D,delete", "delete", t("delete"), tooltip=t("Delete an ended run's folder")),
        told("D,delete", "delete"),
        Binding("o", "open", t("settings"), tooltip=t("Open its settings in the form")),
        told("o", "open"),
        Binding("W", "sweep", t("sweep"), show=False, tooltip=t("Find and end processes that outlived their run")),
        Binding("m", "changes", t("changes"), tooltip=t("What changed since the recipe's last run")),
        told("m", "changes"),
        Binding("c,escape", "app.go('configure')", t("configure")),
        Binding("question_mark", "help", t("help")),
        Binding("q", "app.leave", t("quit")),
    ]

    def compose(self) -> ComposeResult:
        """The list."""
        self.fit_terminal()
        yield TopBar("runs")
        yield RunList()
        yield RunNote()
        yield KeyLine()

    def on_mount(self) -> None:
        """Read the runs now and again, off this thread."""
        from prl_tui.machine import paths

        self._memory = Memory()
        self._overviews = overview.Overviews(paths.runs_dir())
        self._looking = threading.Lock()
        self.rows.wanted = self.prl.watched.id if self.prl.watched is not None else ""
        self.set_focus(self.rows)
        self._read()
        self.set_interval(2.0, self._read)

    @property
    def rows(self) -> RunList:
        """The list."""
        return self.query_one(RunList)

    def _read(self) -> None:
        self.run_worker(
            self._work, name="runs", description="read the runs", thread=True, exclusive=True, exit_on_error=False
        )

    def _work(self) -> None:
        if not self._looking.acquire(blocking=False):
            return  # the look before this one is not over yet
        try:
            found = self._overviews.look(MOST)
        finally:
            self._looking.release()
        self.later(self._show, found)
        self.later(self._tell, self._memory.of(found))

    def takes_keys(self) -> bool:
        """The list has been read once: a key before that would be for a row that is not there."""
        return super().takes_keys() and self._listed

    def _show(self, found: list[Overview]) -> None:
        self._listed = True
        self.rows.show(found)
        self._note()

    def on_unmount(self) -> None:
        """Nobody waits for a look that is not over."""
        self._overviews.stop()

    def _tell(self, changes: Mapping[str, Changes]) -> None:
        self.rows.tell(changes)
        self._note()

    def on_run_list_moved(self) -> None:
        """Another run is under the cursor."""
        self._note()

    def _note(self) -> None:
        one = self._here()
        self.query_one(RunNote).show(one, self.rows.changes.get(one.id) if one is not None else None)

        offered = [action for action in ("choose", "stop", "delete", "open", "changes") if self.offers(action)]
        if offered != self._offered:
            self._offered = offered
            self.refresh_bindings()

    def _here(self) -> Overview | None:
        runs, cursor = self.rows.runs, self.rows.cursor
        return runs[cursor] if cursor < len(runs) else None

    def _this(self) -> Overview | None:
        """The run that a key is for; where there is none, that is said."""
        one = self._here()
        if one is None:
            self.prl.tell(self.rows.none_words())
        return one

    def offers(self, action: str) -> bool:
        """What can be done with the run under the cursor."""
        one = self._here()
        match action:
            case "choose":
                return one is not None
            case "stop":
                return one is not None and stopping.offered(one)
            case "delete":
                return one is not None and one.status.state not in ALIVE
            case "open":
                return one is not None and one.recipe in self.prl.catalog.recipes
            case "changes":
                return one is not None and one.id in self.rows.changes
        return super().offers(action)

    def action_stop(self, _why: bool = False) -> None:
        """Ask, then stop it; say why where it is over."""
        one = self._this()
        if one is not None:
            stopping.ask(self.prl, one)

    def action_delete(self, _why: bool = False) -> None:
        """Ask, then delete an ended run; of any other say why it stays."""
        from prl_tui.runs import store
        from prl_tui.tui.screens.dialogs import Question

        one = self._this()
        if one is None:
            return
        folder = one.folder
        kept = store.why_kept(folder)
        if kept is not None:
            self.prl.tell(kept.sentence)
            return

        def answered(yes: bool | None) -> None:
            if yes:  # beside the screen: a supervisor that waits for room takes a moment to leave
                self.run_worker(
                    lambda: self._remove(folder),
                    name="delete",
                    description="delete a run",
                    thread=True,
                    exit_on_error=False,
                )

        question = t("Delete run {id} with its logs? Checkpoints elsewhere stay.", id=one.id)
        self.app.push_screen(Question(question, t("delete"), t("keep it"), str(folder.path)), answered)

    def _remove(self, folder: RunFolder) -> None:
        from prl_tui.runs import store

        kept = store.remove(folder)
        said = kept.sentence if kept is not None else t("run {id} is deleted", id=folder.id)
        self.app.call_later(self.prl.tell, said)
        self.app.call_later(self._read)

    def action_sweep(self) -> None:
        """Look for processes that outlived their run; ask before they are ended."""
        from prl_tui.tui import sweeping

        sweeping.look(self.prl)

    def action_changes(self, _why: bool = False) -> None:
        """What changed since the last run of the same recipe."""
        one = self._this()
        if one is not None:
            from prl_tui.tui import changed

            changed.show(self.prl, one.folder)

    def action_open(self, _why: bool = False) -> None:
        """Its settings in the form."""
        one = self._this()
        if one is not None:
            from prl_tui.tui import settings_of_run

            settings_of_run.open_in_form(self.prl, one)

    def action_help(self) -> None:
        """What this screen is."""
        from prl_tui.tui.help import runs_help
        from prl_tui.tui.screens.dialogs import Help

        self.app.push_screen(Help(runs_help()))
