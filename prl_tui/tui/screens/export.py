"""Export: every format of the plan, what would be written, and what that format cannot carry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from prl_tui.core import words
from prl_tui.export.formats import FORMATS
from prl_tui.i18n import nt, t
from prl_tui.tui.cells import fit, safe, wrap
from prl_tui.tui.screens.dialogs import Dialog
from prl_tui.tui.screens.place import HEIGHTS, WIDTHS
from prl_tui.tui.widgets.key_line import KeyLine
from prl_tui.tui.widgets.preview import TextRows
from prl_tui.tui.widgets.rows import Piece, Rows, StillRows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prl_tui.core.findings import Finding
    from prl_tui.export.model import Export
    from prl_tui.tui.app import PrlApp
    from prl_tui.tui.session import Session

FIRST = "bash"
"""The format that the cursor begins on: what most platforms take."""

ENDING = 17
"""Cells of a file's ending, where there is room for it."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A format, and why this plan cannot be written in it."""

    name: str
    suffix: str
    refusal: str


class FormatList(Rows):
    """The formats by name; one that the plan does not fit is muted, and says why beside it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "screen.save", t("save"))]

    @dataclass
    class Moved(Message):
        """Another format is under the cursor."""

        choice: Choice

    def __init__(self, choices: list[Choice]) -> None:
        super().__init__(id="formats")
        self.choices = choices
        self.cursor = next((y for y, one in enumerate(choices) if one.name == FIRST), 0)

    def on_mount(self) -> None:
        """The frame's title."""
        self.border_title = t("Formats")

    @property
    def choice(self) -> Choice:
        """The format under the cursor."""
        return self.choices[self.cursor]

    def count(self) -> int:
        """One row a format."""
        return len(self.choices)

    def moved(self) -> None:
        """Tell the screen."""
        self.post_message(self.Moved(self.choice))

    def row(self, y: int, width: int) -> list[Piece]:
        """The name, and the ending of its files."""
        one = self.choices[y]
        here = y == self.cursor
        role = "muted" if one.refusal else "accent" if here else ""
        ending = ENDING if width >= ENDING + 14 else 0
        return [
            ("▸ " if here else "· " if one.refusal else "  ", "mark" if here else "muted"),
            (fit(one.name, max(4, width - 2 - ending)), role),
            (fit(one.suffix, ending, right=True) if ending else "", "muted"),
        ]


class LossRows(StillRows):
    """What a format cannot carry, as lines of the pane's width; as high as they are, up to `most` rows."""

    def __init__(self) -> None:
        super().__init__(id="export-losses")
        self.most = 5
        self._told: list[tuple[str, str, str]] = []
        self._lines: list[tuple[str, str]] = []

    def on_mount(self) -> None:
        """The frame's title."""
        self.border_title = t("What it cannot carry, what differs there")

    def show(self, told: list[tuple[str, str, str]]) -> None:
        """Draw sentences, each with its glyph and role."""
        self._told = told
        self.rows_changed()
        self.scroll_to(0, 0, animate=False)

    def rows_changed(self) -> None:
        """The lines depend on the width."""
        self._lines = [
            (f"{glyph if n == 0 else ' '} {line}", role)
            for glyph, sentence, role in self._told
            for n, line in enumerate(wrap(sentence, max(20, self.room - 2)))
        ]
        self.styles.height = 2 + max(1, min(self.most, len(self._lines)))
        super().rows_changed()

    def count(self) -> int:
        """Lines."""
        return len(self._lines)

    def row(self, y: int, width: int) -> list[Piece]:
        """A line."""
        return [(fit(self._lines[y][0], width), self._lines[y][1])]


class ExportScreen(Dialog[str]):
    """Over the configure screen; esc goes back to it, with the key of the field for which nothing was exported, or ""."""

    PALETTE = True
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    AUTO_FOCUS = "#formats"
    CSS = """
    ExportScreen {
        align: left top; background: $background;
        #export-head { height: 1; background: $panel; }
        #export-middle { height: 1fr; }
        #formats { width: 38; }
        #export-text { width: 1fr; }
        #formats, #export-text, #export-losses { border: round $panel-lighten-2; border-title-color: $text; padding: 0 1; }
        &.-narrow #formats { width: 20; }
        #formats:focus, #export-text:focus, #export-losses:focus { border: round $primary; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "save", t("save"), show=False),
        Binding("y", "copy", t("copy"), tooltip=t("To the terminal's clipboard")),
        Binding("tab", "app.focus_next", t("next pane")),
        Binding("escape,q,e", "close", t("back")),
        Binding("question_mark", "help", t("help")),
        Binding("colon,ctrl+p", "app.actions", show=False),  # a dialog keeps the app's own keys from the app
    ]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._config, self._verdict = (
            session.config,
            session.verdict,
        )  # as they are now: all of this screen is of one plan
        self._plan = self._verdict.plan
        self._made: dict[str, Export] = {}
        self._refused = ""

    def compose(self) -> ComposeResult:
        """Formats beside the text, what is lost under both."""
        yield Static(self._head(), id="export-head")
        with Horizontal(id="export-middle"):
            yield FormatList([Choice(name, one.suffix, one.refused(self._plan)) for name, one in FORMATS.items()])
            yield TextRows(id="export-text")
        yield LossRows()
        yield KeyLine()

    def on_mount(self) -> None:
        """The first format's text."""
        self._show(self.query_one(FormatList).choice)

    def on_format_list_moved(self, event: FormatList.Moved) -> None:
        """Another format's text."""
        self._show(event.choice)

    def _head(self) -> Content:
        config, report = self._config, self._verdict.report
        name = f"{config.recipe.name}/{config.preset}" if config.preset else config.recipe.name
        role = "$text-success" if report.ok else "$text-error"
        return Content.assemble(
            (f" {t('Export')}  ", "bold $text-accent"), (safe(name), "bold"), "   ", (words.verdict(report), role)
        )

    def _export(self, choice: Choice) -> Export:
        if choice.name not in self._made:
            self._made[choice.name] = FORMATS[choice.name](self._plan)
        return self._made[choice.name]

    def _show(self, choice: Choice) -> None:
        text, lost = self.query_one("#export-text", TextRows), self.query_one(LossRows)
        lost.most = max(4, self.app.size.height // 4)
        if choice.refusal:
            text.border_title = choice.name
            text.show("")
            lost.show([("✗", choice.refusal, "error")])
        else:
            made = self._export(choice)
            lines = made.text.count("\n")
            text.border_title = Content(f"{choice.name} · {nt('{n} line', '{n} lines', lines)}")
            text.show(made.text)
            lost.show([("!", loss, "") for loss in made.losses] or [("✓", t("everything is carried"), "good")])
        text.scroll_to(
            0, 0 if choice.refusal else self._export(choice).begins, animate=False, force=True, immediate=True
        )

    def action_copy(self) -> None:
        """Put the text on the terminal's clipboard (OSC 52)."""
        choice = self.query_one(FormatList).choice
        if self._may(choice):
            self.app.copy_to_clipboard(self._export(choice).text)
            self._prl.tell(
                t("copied as {format}; a terminal without OSC 52 keeps its old clipboard", format=choice.name)
            )

    def action_save(self) -> None:
        """Ask for the file's name and write it."""
        from prl_tui.tui import exporting

        choice = self.query_one(FormatList).choice
        if self._may(choice):
            exporting.save(self._prl, self._config, choice.name, self._export(choice))

    def _may(self, choice: Choice) -> bool:
        """Whether this plan may be written in a format; else the reason is told."""
        error = next((one for one in self._verdict.report.findings if one.severity == "error"), None)
        if choice.refusal:
            self._prl.tell(choice.refusal, "error")
        elif error is not None:
            self._prl.tell("\n".join(self._refusal(error)), "error")
            self._refused = error.field
        else:
            return True
        return False

    def _refusal(self, error: Finding) -> Iterator[str]:
        """Why nothing is exported, the keys that lead to the field and mend it, and who exports all the same."""
        field, fix = self._config.recipe.by_key.get(error.field), self._verdict.first_fix
        yield t("Not exported: {reason}", reason=error.message)
        if field is None:
            yield t("esc leads back to the settings.")
        else:
            yield t("esc leads back to the field “{field}”.", field=field.label)
        if fix is not None:
            yield t("There f applies {fix}.", fix=fix.label)
        yield t("The command line's --allow-errors exports all the same.")

    def action_help(self) -> None:
        """What this screen is."""
        from prl_tui.tui.help import export_help
        from prl_tui.tui.screens.dialogs import Help

        self.app.push_screen(Help(export_help()))

    def action_close(self) -> None:
        """Back to the form."""
        self.answer(self._refused)

    @property
    def _prl(self) -> PrlApp:
        return cast("PrlApp", self.app)
