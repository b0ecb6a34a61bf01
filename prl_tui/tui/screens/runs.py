"""Runs: newest first, what each is, how far it came, how it ended."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from prl_tui.i18n import t
from prl_tui.runs import overview
from prl_tui.runs.changes import Changes, Memory
from prl_tui.runs.overview import Overview
from prl_tui.runs.state import ALIVE
from prl_tui.tui import stopping
from prl_tui.tui.screens.place import Place, told
from prl_tui.tui.widgets.key_line import KeyLine
from prl_tui.tui.widgets.run_list import RunFinder, RunList, RunNote
from prl_tui.tui.widgets.top_bar import TopBar

if TYPE_CHECKING:
    from prl_tui.runs import store

MOST = 300
"""Runs that are read for the list, until somebody looks for one: then all are."""


class RunsScreen(Place):
    """The second place."""

    PARTS = ("RunList", "RunNote")
    _listed = False
    _offered: Sequence[str] = ()

    CSS = """
    RunsScreen RunList { border: round $panel-lighten-2; padding: 0 0 0 1; }
    RunsScreen RunList:focus { border: round $primary; }
    RunsScreen #finder { height: 3; }
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
        Binding("slash", "find", t("find"), tooltip=t("Only runs with a text: recipe, preset, state, id or folder")),
        told("slash", "find"),
        Binding("c", "app.go('configure')", t("configure")),
        Binding("escape", "back", show=False),
        Binding("question_mark", "help", t("help")),
        Binding("q", "app.ask_leave", t("quit")),
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

        root = self.prl.runs_root
        if root != paths.runs_dir():
            self.query_one(TopBar).say(str(root))
        self._memory = Memory()
        self._overviews = overview.Overviews(root)
        self.rows.text = self.prl.runs_text
        self._most = 0 if self.rows.text else MOST
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
        self.prl.beside.do(f"runs {id(self)}", self._work)

    def _work(self) -> None:
        if not self._looking.acquire(blocking=False):
            return  # the look before this one is not over yet
        try:
            found = self._overviews.look(self._most)
        finally:
            self._looking.release()
        self.later(self._show, found, self._overviews.total)
        self.later(self._tell, self._memory.of(found))

    def takes_keys(self) -> bool:
        """The list has been read once: a key before that would be for a row that is not there."""
        return super().takes_keys() and self._listed

    def _show(self, found: list[Overview], total: int = 0) -> None:
        self._listed = True
        self.rows.show(found, total)
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

        offered = [action for action in ("choose", "stop", "delete", "open", "changes", "find") if self.offers(action)]
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
            case "find":
                return bool(self.rows.every) and not self.query("#finder")  # a slash is its own then
            case "changes":
                return one is not None and one.id in self.rows.changes
        return super().offers(action)

    def action_stop(self, _why: bool = False) -> None:
        """Ask, then stop it; say why where it is over."""
        one = self._this()
        if one is not None:
            stopping.ask(self.prl, one.folder)

    def action_delete(self, _why: bool = False) -> None:
        """Ask, then delete an ended run; of any other say why it stays."""
        from prl_tui.runs import store
        from prl_tui.tui.screens.dialogs import Question

        one = self._this()
        if one is None:
            return
        folder = one.folder

        def then(kept: store.Kept | None) -> None:
            if not self.is_current:
                return  # somebody went elsewhere meanwhile
            if kept is not None:
                self.prl.tell(kept.sentence)
                return
            question = t("Delete run {id} with its logs? Checkpoints elsewhere stay.", id=folder.id)
            self.app.push_screen(Question(question, t("delete"), t("keep it"), str(folder.path)), answered)

        def answered(yes: bool | None) -> None:
            if yes:  # a supervisor that waits for room takes a moment to leave
                self.prl.beside.do(f"delete {folder.id}", lambda: store.remove(folder), told, finishes=True)

        def told(kept: store.Kept | None) -> None:
            self.prl.tell(kept.sentence if kept is not None else t("run {id} is deleted", id=folder.id))
            if kept is None:
                self.prl.session.forget(folder.path)
            if self.is_attached:
                self._read()

        awaited = t("Looking at run {id} …", id=folder.id)
        self.prl.beside.do(
            f"may delete {folder.id}", lambda: store.why_kept(folder), then, awaited=awaited, holds_keys=True
        )

    async def action_find(self, _why: bool = False) -> None:
        """Show only runs with a text. The keys that follow wait until the field is there, and are its."""
        if not self.rows.every:
            self.prl.tell(self.rows.none_words())
            return
        self._most = 0
        self._read()
        if not self.query("#finder"):
            await self.mount(RunFinder(self.rows), before=self.rows)
        self.set_focus(self.query_one_optional("#finder"))

    async def on_run_finder_done(self) -> None:
        """Into the list."""
        await self._close_finder()

    async def _close_finder(self) -> None:
        """Once it is gone, `/` opens it again: the keys that are told say so at once."""
        await self.query("#finder").remove()
        self.set_focus(self.rows)
        self.refresh_bindings()

    async def action_back(self) -> None:
        """All runs again, else go to the form."""
        if not self.query("#finder") and not self.rows.text:
            self.prl.action_go("configure")
            return
        self.rows.narrow("")
        await self._close_finder()

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
