"""The list of runs, those that a text fits, and the lines about the one under the cursor."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, ClassVar, cast

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Input

from prl_tui.i18n import t
from prl_tui.runs import overview
from prl_tui.runs.changes import Changes
from prl_tui.runs.overview import Overview
from prl_tui.runs.state import State
from prl_tui.tui.cells import fit, safe
from prl_tui.tui.widgets import run_columns
from prl_tui.tui.widgets.rows import Piece, Rows, StillRows
from prl_tui.tui.widgets.run_columns import Longest, start_words

if TYPE_CHECKING:
    from prl_tui.tui.app import PrlApp

ROLE: dict[State, str] = {
    "finished": "good",
    "failed": "error",
    "finished-with-exit-error": "warning",
    "lost": "warning",
    "running": "accent",
    "starting": "accent",
    "elsewhere": "accent",
}


def role(one: Overview) -> str:
    """The colour of a run's state; of a smoke test that of its verdict."""
    if one.warns:
        return "warning"
    if one.passed is not None:
        return "good" if one.passed else "error"
    return ROLE.get(one.status.state, "muted")


class RunList(Rows):
    """One row a run."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", t("watch")),
        Binding("enter", "say_none", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(id="runs")
        self.every: Sequence[Overview] = ()
        """All that were read."""
        self.runs: Sequence[Overview] = ()
        """Those that the text fits."""
        self.text = ""
        self._total = 0
        self._titled = ""
        self._texts: list[tuple[str, str]] = []
        self.changes: Mapping[str, Changes] = {}
        self.waiting = True
        self._longest = Longest()
        self._today = ""
        self.wanted = ""
        """The run that the cursor starts on."""

    def on_mount(self) -> None:
        """The frame's title."""
        self._entitle()

    def show(self, runs: Sequence[Overview], total: int = 0) -> None:
        """Draw runs, of `total` that there are; the cursor stays on its run."""
        self.every, self._total, self.waiting = runs, max(total, len(runs)), False
        self._texts = [search_texts(one) for one in runs]
        self._today = time.strftime(run_columns.DAY)
        self._longest = Longest.of(runs, self._today)
        self._fill()

    def narrow(self, text: str) -> None:
        """Show the runs in whose recipe, preset, state, id or folder a text stands; all of them for none."""
        self.text = cast("PrlApp", self.app).runs_text = text.strip().lower()
        self._fill()
        self.moved()

    def _fill(self) -> None:
        now = self.runs[self.cursor].id if self.cursor < len(self.runs) else self.wanted
        before, pairs, where = self.cursor, zip(self.every, self._texts, strict=True), int("/" in self.text)
        self.runs = [one for one, texts in pairs if self.text in texts[where]] if self.text else self.every
        last = max(0, len(self.runs) - 1)
        self.cursor = next((y for y, one in enumerate(self.runs) if one.id == now), min(self.cursor, last))
        if self.runs:
            self.wanted = now  # comes under the cursor again once it is shown
        self._entitle()
        self.rows_changed()
        if self.cursor != before:
            self.show_cursor()

    def _entitle(self) -> None:
        if self._title() != self._titled:
            self._titled = self._title()
            self.border_title = Content(safe(self._titled))  # a typed bracket is no markup

    def _title(self) -> str:
        """How many runs are shown where that is not all of them, and why."""
        n, total = f"{len(self.runs):,}", f"{self._total:,}"
        if self.text:
            words = t("Runs · {n} of {total} with “{text}”", n=n, total=total, text=self.text)
            return words if len(self.every) == self._total else words + " …"
        return t("Runs") if len(self.runs) == self._total else t("Runs · the newest {n} of {total}", n=n, total=total)

    def look(self, y: int, width: int) -> object:  # noqa: ARG002
        """What a row is made of: to make a thousand of them is too much for a key."""
        return (
            (self.runs[y], self.changes.get(self.runs[y].id), self._longest, self._today)
            if self.runs
            else self.none_words()
        )

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
        """State, when it began, what, how far, how long, what stands beside it; little room: when, behind how far."""
        if not self.runs:
            return [(fit(self.none_words(), width), "muted")]
        one = self.runs[y]
        silent = one.quiet is not None
        detailed = width > 130
        columns = run_columns.columns(self._longest, width)
        start = start_words(
            one.created, self._today if columns.start else "", short=columns.start <= self._longest.short + 1
        )
        pieces: list[Piece] = [
            (fit(one.id, 7) + " ", "strong"),
            (fit(overview.status_word(one), columns.state) + " ", role(one)),
            (fit(start, 12) + " " if width > run_columns.ROOMY else "", "muted"),
            (fit(one.what, columns.what) + " ", ""),
        ]
        far: Piece = (fit(run_columns.far_words(one, columns.far), columns.far), "")
        if silent and not detailed:
            text, rest = overview.reason(one), columns.start + columns.took
            if cell_len(text) >= columns.far:
                return [*pieces, (fit(text, columns.far + rest), "warning")]
            far = (fit(text, columns.far), "warning")
        pieces += [
            far,
            (fit(start, columns.start), "muted"),
            (fit(overview.took(one), columns.took, right=True), "muted"),
        ]
        if detailed:
            text = overview.reason(one) or self._changed(one)
            pieces.append(("   " + fit(text, max(4, width - 117)), "warning" if silent else "muted"))
        return pieces

    def none_words(self) -> str:
        """What the list says where it has no run."""
        if self.text and self.every:
            return t("No run has “{text}” in its recipe, preset, state, id or folder; esc shows all.", text=self.text)
        return t("reading the runs …") if self.waiting else t("There are no runs yet: choose a preset and press l.")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There is nothing to watch in an empty list."""
        if action == "choose" and not self.runs:
            return False
        return super().check_action(action, parameters)

    def action_say_none(self) -> None:
        """Why there is nothing to watch."""
        cast("PrlApp", self.app).tell(self.none_words())

    def _changed(self, one: Overview) -> str:
        found = self.changes.get(one.id)
        return found.brief() if found is not None else ""

    def chosen(self, y: int) -> None:
        """Watch it."""
        cast("PrlApp", self.app).open_run(self.runs[y].folder)


class RunNote(StillRows, can_focus=False):
    """Two lines about one run: why it ended as it did; when it began and what changed since its recipe's run before."""

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
    """The cause of a failure, or what a smoke test missed; else its state, how far it came and its code."""
    text, word = overview.reason(one), overview.status_word(one).partition(" ")[2]
    if one.passed is False:
        return t("{place}: {words}", place=word, words=text), "error"
    if text and text != one.status.unwritten:
        return text, "warning" if one.quiet is not None else "error" if one.status.state == "failed" else "muted"
    code = one.status.exit_code
    told = [one.what, word, overview.progress_words(one)]
    told.append(t("exit code {code}", code=code) if code is not None else "")
    if one.smoke is not None and one.passed:
        told = [one.smoke.words()]
    told.append(one.status.unwritten)
    return " · ".join(part for part in told if part), "muted"


def _since(one: Overview, changes: Changes | None) -> str:
    first = t("Run {id} is the first of its recipe.", id=one.id) if one.recipe else ""
    began = t("began {time}", time=start_words(one.created, "")) if one.created else ""
    return " · ".join(part for part in (began, changes.short() if changes is not None else first) if part)


def search_texts(one: Overview) -> tuple[str, str]:
    """What a text is looked for in: id, recipe, preset, state, the name of the folder that it was started in.

    One with a slash also in whole paths: all runs have most of theirs in common, and any letter would be in it.
    The state also as `runs --json` says it, in every language; of a smoke test its verdict, which is what is shown.
    """
    state = one.status.state if one.passed is None else "smoke passed" if one.passed else "smoke failed"
    words = (one.id, one.what, state, overview.status_word(one), PurePath(one.cwd).name)
    return "\n".join(words).lower(), "\n".join((*words, one.cwd, str(one.folder.path))).lower()


class RunFinder(Input):
    """Over the list for as long as somebody types which runs to show."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", t("to these runs")),
        Binding("escape", "screen.back", t("all runs")),
        Binding("up", "move(-1)", show=False),
        Binding("down", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
    ]

    class Done(Message):
        """What fits is kept, and the field is not needed any more."""

    def __init__(self, rows: RunList) -> None:
        super().__init__(rows.text, placeholder=t("recipe, preset, state, id or folder"), id="finder")
        self._rows = rows

    def on_input_changed(self, event: Input.Changed) -> None:
        """The list shows what fits so far."""
        event.stop()
        self._rows.narrow(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter keeps what fits, and goes into the list."""
        event.stop()
        self.post_message(self.Done())

    def action_move(self, by: int) -> None:
        """Move the list's cursor."""
        self._rows.action_move(by)

    def action_page(self, by: int) -> None:
        """By a page."""
        self._rows.action_page(by)
