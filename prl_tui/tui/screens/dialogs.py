"""Questions: only before something is destroyed, stopped, overwritten or saved; the safe answer comes first."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeVar

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from prl_tui.i18n import t
from prl_tui.tui.cells import safe, safe_lines
from prl_tui.tui.compositor import CarefulCompositor

Answer = TypeVar("Answer")


TAKEN = 11
"""Rows of a dialog beside its details: frame, question, buttons, the room between them."""

BESIDE = 6
"""Columns of a help beside its text: frame, room, scroll bar."""


class Dialog(ModalScreen[Answer]):
    """Answered once: a key typed before it has closed must not close what is below it."""

    DEFAULT_CSS = """
    Dialog {
        align: center middle;
        background: $background 60%;

        .dialog {
            width: 76; max-width: 94%; height: auto; max-height: 90%;
            border: round $primary; background: $surface; padding: 1 2;
        }
        .dialog-question { height: auto; }
        .dialog-details { height: auto; margin-top: 1; color: $text-muted; scrollbar-size-vertical: 1; }
        .dialog-buttons { height: 3; margin-top: 1; align-horizontal: left; }
        .dialog-buttons Button { margin-right: 2; }
        .dialog-problem { color: $text-error; height: auto; margin-top: 1; }
        .dialog-hint { color: $text-muted; height: auto; margin-top: 1; }
        .help { height: auto; }
    }
    """
    PALETTE: ClassVar[bool] = False
    """Whether it has actions that are found by name."""
    _answered = False

    def __init__(self) -> None:
        super().__init__()
        self._compositor = CarefulCompositor()

    def on_mount(self) -> None:
        """The buttons and the hint stay in sight: only the details are as high as there is room."""
        self._fit()
        for box in self.query(".dialog"):
            box.border_subtitle = self.way_out()

    def way_out(self) -> str:
        """For the frame: the key that closes it. Such a dialog may cover every other line that would name one."""
        return t("esc  back")

    def on_resize(self) -> None:
        """Another terminal, another room."""
        self._fit()

    def _fit(self) -> None:
        for details in self.query(".dialog-details"):
            details.styles.max_height = max(3, self.app.size.height * 9 // 10 - TAKEN)

    def answer(self, answer: Answer) -> None:
        """Close with an answer."""
        if not self._answered and self in self.app.screen_stack:  # a place that was gone to took it away
            self._answered = True
            self.dismiss(answer)


class Question(Dialog[bool]):
    """Yes or no; escape is no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,n,q", "answer(False)", t("no")),
        Binding("y", "answer(True)", t("yes")),
        Binding("left,right,tab", "app.focus_next", show=False),
        Binding("up", "scroll(-1)", show=False),
        Binding("down", "scroll(1)", show=False),
        Binding("pageup", "scroll(-8)", show=False),
        Binding("pagedown", "scroll(8)", show=False),
    ]

    def __init__(self, question: str, yes: str, no: str, details: str = "") -> None:
        super().__init__()
        self._question, self._yes, self._no, self._details = question, yes, no, details

    def way_out(self) -> str:
        """None on the frame: the answers stand on the buttons."""
        return ""

    def compose(self) -> ComposeResult:
        """The question, its details, the safe answer first."""
        with Vertical(classes="dialog"):
            yield Static(Content(safe(self._question)), classes="dialog-question")
            if self._details:
                with VerticalScroll(classes="dialog-details", can_focus=False):
                    yield Static(Content(safe_lines(self._details)))
            with Horizontal(classes="dialog-buttons"):
                yield Button(Content(safe(self._no)), id="no", variant="primary")
                yield Button(Content(safe(self._yes)), id="yes")

    def on_mount(self) -> None:
        """The safe answer has the focus."""
        self.query_one("#no", Button).focus()

    def action_scroll(self, by: int) -> None:
        """Move in the details."""
        for details in self.query(".dialog-details"):
            details.scroll_relative(y=by, animate=False)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """A click or enter answers."""
        self.answer(event.button.id == "yes")

    def action_answer(self, answer: bool) -> None:
        """A key answers."""
        self.answer(answer)


class TypingDialog(Dialog[Answer]):
    """A dialog with a field: typing starts at once, and keys that come before the field is there are its first."""

    AUTO_FOCUS = ""
    GOES_ON: ClassVar[bool] = False
    """Whether the first key goes on with the text that is there; else it replaces it."""

    def on_mount(self) -> None:
        """The text that is there is chosen, or the cursor is behind it."""
        field = self.query_one(Input)
        field.select_on_focus = False  # that would come after early keys, and have the next one replace them
        if self.GOES_ON:
            field.cursor_position = len(field.value)
        else:
            field.select_all()
        field.focus()

    def on_key(self, event: events.Key) -> None:
        """A character that comes here was typed before the field had the focus, which keeps all others for itself."""
        field = self.query_one(Input)
        if event.key == "ctrl+u":
            field.action_delete_left_all()
        elif event.is_printable and event.character is not None:
            field.replace(event.character, *field.selection)
        else:
            return
        event.stop()
        event.prevent_default()


class AskText(TypingDialog[str]):
    """One line of text; escape gives none. Text that is refused stays, with the reason below it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", t("back"))]

    def __init__(
        self, question: str, value: str, hint: str = "", accept: Callable[[str], str] | None = None, problem: str = ""
    ) -> None:
        """`accept` gets the text, stripped, and returns why it is refused, or ""; `problem`: it was refused before."""
        super().__init__()
        self._question, self._value, self._hint = question, value, hint
        self._accept, self._problem = accept, problem
        self._refused = value if problem else None

    def compose(self) -> ComposeResult:
        """The question over an input."""
        with Vertical(classes="dialog"):
            yield Static(Content(safe(self._question)), classes="dialog-question")
            yield Input(self._value, id="text")
            problem = Static(Content(safe(self._problem)), classes="dialog-problem")
            problem.display = bool(self._problem)
            yield problem
            yield Static(Content(safe(self._hint)), classes="dialog-hint")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter answers with what stands there by now: characters that came early may have been on their way."""
        text = event.input.value
        if self._answered:
            return
        problem = self._judged(text.strip())
        if problem:
            self._refused = text
            self._show(problem)
        else:
            self.answer(text)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Another text: what was said of the one before does not hold any more."""
        if event.value != self._refused:
            self._show("")

    def _judged(self, text: str) -> str:
        if self._accept is None:
            return ""
        return self._accept(text) if text else t("Nothing is typed yet; escape goes back.")

    def _show(self, problem: str) -> None:
        place = self.query_one(".dialog-problem", Static)
        place.update(Content(safe(problem)))
        place.display = bool(problem)

    def action_cancel(self) -> None:
        """Nothing."""
        self.answer("")


class Help(Dialog[None]):
    """What this screen shows and which keys it has."""

    CSS = "Help .help { width: 80; max-width: 100%; max-height: 100%; padding: 0 1; }"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark,enter", "close", t("back"))]

    def __init__(self, text: str, *, wide: bool = False) -> None:
        """`wide`: as wide as its longest line, which may be a path, where the terminal is; help is read at 80."""
        super().__init__()
        self._text, self._wide = safe_lines(text), wide

    def compose(self) -> ComposeResult:
        """The text, scrollable."""
        with VerticalScroll(classes="dialog help") as box:
            if self._wide:
                longest = max(map(cell_len, self._text.split("\n")))
                box.styles.width = max(80, longest + BESIDE)
            yield Static(Content(self._text))

    def on_click(self, event: events.Click) -> None:
        """A click beside it closes."""
        if event.widget is self:
            self.answer(None)

    def action_close(self) -> None:
        """Back."""
        self.answer(None)
