"""What will run: the command, the bash script, the TOML, as they would be written; the frame says what a launch changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from prl_tui.core import launch_port
from prl_tui.core.plan import LaunchPlan
from prl_tui.export.formats import FORMATS
from prl_tui.i18n import t
from prl_tui.tui.cells import fit, safe
from prl_tui.tui.widgets.rows import Piece, StillRows

TABS = ("command", "bash", "toml")


def tab_word(name: str) -> str:
    """A format's name on its tab."""
    return {"command": t("command"), "bash": "bash", "toml": "TOML"}.get(name, name)


class TextRows(StillRows):
    """Lines of text; moves without a cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "shift(-8)", show=False),
        Binding("right,l", "shift(8)", show=False),
    ]

    def __init__(self, **keywords: str | None) -> None:
        super().__init__(**keywords)
        self._lines: list[str] = []
        self._left = 0

    def show(self, text: str) -> None:
        """Draw a text."""
        self._lines = [safe(line) for line in text.splitlines()]
        self.rows_changed()

    def look(self, y: int, width: int) -> object:  # noqa: ARG002
        """The line itself: cutting it is for those in sight."""
        return self._lines[y]

    def count(self) -> int:
        """Lines."""
        return len(self._lines)

    def action_shift(self, by: int) -> None:
        """Scroll sideways."""
        longest = max(map(cell_len, self._lines), default=0)
        self._left = max(0, min(self._left + by, longest + 3 - self.content_size.width))
        self.refresh()

    def row(self, y: int, width: int) -> list[Piece]:
        """A line; comments are muted."""
        text, role = self._lines[y], "muted" if self._lines[y].startswith("#") else ""
        shown = text[self._left :]
        before = [("‹", "mark")] if self._left and text else []
        room = width - len(before)
        if cell_len(shown) <= room:
            return [*before, (fit(shown, room), role)]
        return [*before, (fit(shown, room - 1), role), ("›", "mark")]


class Tabs(Widget):
    """The names of the formats; a click chooses one."""

    DEFAULT_CSS = "Tabs { height: 1; }"

    @dataclass
    class Chosen(Message):
        """Another format is wanted."""

        name: str

    def __init__(self) -> None:
        super().__init__()
        self.active = TABS[0]

    def render(self) -> Content:
        """The active one is marked by a sign too."""
        parts: list[str | tuple[str, str]] = [(f" {t('What will run')}  ", "bold")]
        for name in TABS:
            marked = name == self.active
            parts.append(
                (f" {'▸' if marked else ' '}{tab_word(name)} ", "$text-accent bold" if marked else "$secondary")
            )
        return Content.assemble(*parts)

    def on_click(self, event: events.Click) -> None:
        """Choose the tab under the pointer."""
        at = cell_len(f" {t('What will run')}  ")
        for name in TABS:
            end = at + cell_len(f"  {tab_word(name)} ")
            if at <= event.x < end:
                self.post_message(self.Chosen(name))
            at = end


class Preview(Vertical):
    """The plan in one format at a time; only the visible one is made."""

    HELP = "preview"

    def __init__(self, **keywords: str | None) -> None:
        super().__init__(id=keywords.get("id"), classes=keywords.get("classes"))
        self._plan: LaunchPlan | None = None
        self._drawn = self._said = ""

    def compose(self) -> ComposeResult:
        """Tabs over text."""
        yield Tabs()
        yield TextRows(id="preview-text")

    def on_mount(self) -> None:
        """The frame says how the formats are turned."""
        self.border_subtitle = Content(t("v ]  next format   [  the one before"))

    def on_tabs_chosen(self, event: Tabs.Chosen) -> None:
        """A click on a tab."""
        self.choose(event.name)

    def show(self, plan: LaunchPlan) -> None:
        """Draw a plan."""
        self._plan = plan
        self._draw()

    def choose(self, name: str) -> None:
        """Show another format."""
        tabs = self.query_one(Tabs)
        tabs.active = name
        tabs.refresh()
        self._draw()

    def turn(self, by: int) -> None:
        """The format after this one, or before it."""
        self.choose(TABS[(TABS.index(self.query_one(Tabs).active) + by) % len(TABS)])

    def _draw(self) -> None:
        if self._plan is None or not self.display:
            return
        text, active = self.query_one(TextRows), self.query_one(Tabs).active
        said = launch_port.words(self._plan) if active == "command" else ""
        if self._said != said:
            self._said, self.border_title = said, Content(safe(said))
        made = FORMATS[active](self._plan)
        text.show(made.text)
        if active != self._drawn:  # at its own part; from then on where a person has put it
            self._drawn = active
            text.scroll_to(0, made.begins, animate=False, force=True, immediate=True)
