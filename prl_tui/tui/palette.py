"""Every action by name. Not Textual's own palette (8.2): that one ends the app when keys or clicks outrun its list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input

from prl_tui.i18n import t
from prl_tui.tui.cells import fit
from prl_tui.tui.screens.dialogs import TypingDialog
from prl_tui.tui.widgets.rows import Piece, Rows

TITLE = 30
"""Cells of an action's name."""


class ActionList(Rows, can_focus=False):
    """The actions that the text fits; the cursor is moved from the input above."""

    def __init__(self, actions: Sequence[SystemCommand], further: Mapping[str, str]) -> None:
        super().__init__(id="actions")
        self._every = self.actions = actions
        self._further = further

    def narrow(self, text: str) -> None:
        """Only those in whose name, explanation or further words all words stand, those that need no further ones first."""
        words = text.lower().split()

        def fits(said: str) -> bool:
            return all(word in said.lower() for word in words)

        named = [one for one in self._every if fits(f"{one.title} {one.help}")]
        others = [one for one in self._every if one not in named and fits(f"{one.title} {one.help} {self._of(one)}")]
        self.actions = [*named, *others]
        self.cursor = 0
        self.rows_changed()
        self.refresh()

    def _of(self, one: SystemCommand) -> str:
        return self._further.get(one.title, "")

    def count(self) -> int:
        """Actions, or the one line that says that none fits."""
        return max(1, len(self.actions))

    def selectable(self, y: int) -> bool:
        """Actions only."""
        return y < len(self.actions)

    def row(self, y: int, width: int) -> list[Piece]:
        """Name and explanation."""
        if not self.selectable(y):
            return [(fit(t("nothing here has that name"), width), "muted")]
        one = self.actions[y]
        if not one.help:
            return [(fit(one.title, width), "")]
        return [(fit(one.title, TITLE), ""), (fit("  " + one.help, max(0, width - TITLE)), "muted")]

    def chosen(self, y: int) -> None:
        """Tell the palette."""
        if isinstance(self.screen, Palette):
            self.screen.answer(self.actions[y])


class Palette(TypingDialog["SystemCommand | None"]):
    """Type a part of the name, enter does it; escape does nothing. The answer is the action."""

    DEFAULT_CSS = """
    Palette {
        align: center top;
        .dialog { height: 70%; margin-top: 2; padding: 0 1; }
        Input { margin-bottom: 1; }
        #actions { height: 1fr; }
    }
    """
    GOES_ON = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+p", "answer(None)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("pageup", "page(-1)", show=False, priority=True),
        Binding("pagedown", "page(1)", show=False, priority=True),
    ]

    def __init__(
        self, actions: Sequence[SystemCommand], further: Mapping[str, str], hint: str = "", typed: str = ""
    ) -> None:
        """`further`: title → words that find it and are not shown; `hint`: what is looked for, where it is not any action.

        `typed`: the name's first letters.
        """
        super().__init__()
        self._actions, self._further, self._hint, self._typed = actions, further, hint, typed

    def compose(self) -> ComposeResult:
        """An input over the list."""
        with Vertical(classes="dialog"):
            yield Input(self._typed, placeholder=self._hint or t("an action by name …"))
            yield ActionList(self._actions, self._further)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Each keystroke narrows the list."""
        self.query_one(ActionList).narrow(event.value)

    def on_input_submitted(self) -> None:
        """Enter does what the cursor is on."""
        self.query_one(ActionList).action_choose()

    def action_move(self, by: int) -> None:
        """Up and down, while the input keeps the keys."""
        self.query_one(ActionList).action_move(by)

    def action_page(self, by: int) -> None:
        """A page of actions."""
        self.query_one(ActionList).action_page(by)

    def action_answer(self, answer: SystemCommand | None) -> None:
        """Leave it."""
        self.answer(answer)
