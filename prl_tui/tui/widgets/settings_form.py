"""The fields of a recipe as a form: typed in place, marked where they differ from the preset."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar
from unicodedata import category

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message

from prl_tui.core.config import RunConfig
from prl_tui.core.recipe import Field, Group
from prl_tui.i18n import t
from prl_tui.tui.cells import fit, safe
from prl_tui.tui.widgets import form_row
from prl_tui.tui.widgets.form_row import Entry, Standing
from prl_tui.tui.widgets.form_words import clicked, group_word, idle, label_width
from prl_tui.tui.widgets.line_editor import LineEditor
from prl_tui.tui.widgets.rows import Piece, Rows

CHOSEN = {"choice", "bool"}
SCREEN_KEYS = frozenset("flLtTspvdqrRwxuU") | {"question_mark", "slash", "colon"}
"""What the last line and the help offer, as far as no number has such a letter."""
NO_NUMBER = {"int": SCREEN_KEYS | frozenset("ea"), "float": SCREEN_KEYS}
"""What is the screen's in a field of that type that a digit has opened."""
MEANWHILE = frozenset({"f", "question_mark"})
"""What is the screen's in a number field opened by enter, a click or a paste, too; a way out that applies closes it."""


class SettingsForm(Rows):
    """Moves between fields; digits start typing, enter opens a field, blank or ← → change a choice."""

    HELP = "form"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "cycle(-1)", show=False),
        Binding("right,space", "cycle(1)", show=False),
        Binding("x", "reset", t("preset's value"), show=False),
        Binding("a", "toggle_all", t("all settings"), show=False),
    ]

    @dataclass
    class Changed(Message):
        """A person typed: the text of a field is another one."""

        key: str
        text: str

    @dataclass
    class Reset(Message):
        """A person wants the preset's value again."""

        key: str

    @dataclass
    class Moved(Message):
        """Another field has the cursor, or typing began or ended."""

        key: str
        typing: bool

    @dataclass
    class Reverted(Message):
        """Escape: what was typed since the field was opened is not wanted."""

        key: str

    @dataclass
    class TypingEnded(Message):
        """The field is left; its next change is a step of its own."""

        key: str

    def __init__(self, **keywords: str | None) -> None:
        super().__init__(**keywords)
        self._config: RunConfig | None = None
        self._base: RunConfig | None = None
        self._entries: list[Entry] = []
        self._editor: LineEditor | None = None
        self._asked = False
        """The field was opened by enter, a click or a paste: letters are text, and start nothing."""
        self._told = ("", False)
        self._all = False
        self._needle = ""
        self._findings: dict[str, str] = {}
        self._idle: frozenset[str] = frozenset()
        """Fields without effect now, by where the program's file comes from: shown only when somebody looks for them."""

    def on_mount(self) -> None:
        """The frame's title."""
        self._title()

    # --- what the screen says -------------------------------------------------------------------------------------

    def show(self, config: RunConfig, findings: dict[str, str]) -> None:
        """Draw a config; `findings` has the worst severity by field key."""
        fresh = self._config is None or self._config.recipe is not config.recipe
        if self._base is None or (self._base.recipe, self._base.preset) != (config.recipe, config.preset):
            self._base = config.baseline()
        self._config, self._findings = config, findings
        self._collect()
        if fresh:
            self.put_cursor(self._nearest(0))
        self._title()
        self._tell_place()

    def find(self, needle: str) -> None:
        """Show only the settings whose name, label or variable has this text; "" shows the usual ones.

        The cursor goes to the one that has just this name, else to the first.
        """
        self._needle = needle.strip().lower()
        self._collect()
        named = (y for y, entry in enumerate(self._entries) if entry.key and self._is_named(entry.key))
        self.put_cursor(next(named, self._nearest(0)))
        self._tell_place()

    @property
    def key(self) -> str:
        """The field under the cursor."""
        return self._entries[self.cursor].key if self.cursor < len(self._entries) else ""

    @property
    def field(self) -> Field | None:
        """The same, as its recipe declares it."""
        return self._config.recipe.by_key.get(self.key) if self._config is not None else None

    @property
    def typing(self) -> bool:
        """A field is open."""
        return self._editor is not None

    def stop_typing(self) -> None:
        """Close an open field; what was typed stays."""
        if self._editor is not None:
            self._close()

    def go_to(self, key: str) -> None:
        """Put the cursor on a field, showing every setting if need be."""
        if self._config is None or key not in self._config.recipe.by_key:
            return
        if not any(entry.key == key for entry in self._entries):
            self._all, self._needle = True, ""
            self._collect()
        at = self._row_of(key)
        if at is not None:
            self.put_cursor(at)

    @property
    def standing(self) -> Standing:
        """What of the form is in sight, to come back to it."""
        return Standing(self.key, self.cursor - self.scroll_offset.y, self._all)

    def stand(self, before: Standing) -> None:
        """Show again what was in sight; a field that is gone meanwhile leaves the cursor where it is."""
        self._all = before.all
        self._collect()
        at = self._row_of(before.key)
        if at is not None:
            self.cursor = at
            self.scroll_to(y=at - before.above, animate=False)
        self.refresh()
        self._tell_place()

    # --- rows -----------------------------------------------------------------------------------------------------

    def _collect(self) -> None:
        key, before = self.key, self.cursor
        seen = 0 <= before - self.scroll_offset.y < self.size.height
        self._idle = idle(self._config)
        self._entries = list(self._listed())
        at = self._row_of(key)
        if at is not None:
            self.cursor = at
        self.rows_changed()
        if seen and self.cursor != before:
            self.show_cursor()  # rows that come or go above it push it out of sight

    def _row_of(self, key: str) -> int | None:
        return next((y for y, entry in enumerate(self._entries) if entry.key == key and key), None)

    def _listed(self) -> Iterator[Entry]:
        if self._config is None:
            return
        group: Group | None = None
        for field in self._config.recipe.fields:
            if self._hidden(field):
                continue
            if field.group != group:
                group = field.group
                yield Entry(group)
            yield Entry(field.group, field.key)

    def _is_named(self, key: str) -> bool:
        field = self._config.recipe.by_key[key] if self._config is not None else None
        return field is not None and bool(self._needle) and self._needle in [name.lower() for name in _names(field)]

    def _hidden(self, field: Field) -> bool:
        if self._needle:
            return self._needle not in " ".join(_names(field)).lower()
        if self._all or not (field.advanced or field.key in self._idle) or field.key in self._findings:
            return False
        if self._editor is not None and field.key == self.key:
            return False  # it stays while somebody types in it
        return not self._differs(field.key)

    def _differs(self, key: str) -> bool:
        assert self._config is not None
        assert self._base is not None
        return self._config.differs(key, self._base)

    def count(self) -> int:
        """Headings and fields."""
        return len(self._entries) or int(bool(self._needle))

    def selectable(self, y: int) -> bool:
        """Fields only."""
        return y < len(self._entries) and bool(self._entries[y].key)

    def row(self, y: int, width: int) -> list[Piece]:
        """A heading; or label, value, unit and what it was."""
        if y >= len(self._entries):
            return [(fit(t("No setting has this in its name: {text}", text=self._needle), width), "muted")]
        entry = self._entries[y]
        if not entry.key:
            return [(fit(group_word(entry.group), width), "strong")]
        assert self._config is not None
        assert self._base is not None
        if self._editor is not None and y == self.cursor:
            return form_row.opened(self._config.recipe.by_key[entry.key], self._editor, width)
        return form_row.closed(self._config, self._base, entry.key, self._findings.get(entry.key, ""), width)

    def _text(self, key: str) -> str:
        assert self._config is not None
        return self._config.text(key)

    def _title(self) -> None:
        if self._config is None:
            return
        name = f"{self._config.recipe.name}/{self._config.preset}" if self._config.preset else self._config.recipe.name
        changed = sum(self._differs(key) for key in self._config.settings)
        self.border_title = t("Settings")
        self.border_subtitle = Content(safe(f"{name} · {t('{n} changed', n=changed)}" if changed else name))

    # --- typing ---------------------------------------------------------------------------------------------------

    async def on_key(self, event: events.Key) -> None:
        """Typing in an open field; a digit or a minus opens a number."""
        if self._editor is None:
            if self._opens(event):
                self._open("")
            else:
                return
        if self._type(event):
            event.stop()
            event.prevent_default()

    def _opens(self, event: events.Key) -> bool:
        field = self.field
        char = event.character or ""
        if field is None or not char:
            return False
        return (char.isdigit() and field.type in form_row.NUMERIC | {"gpus"}) or (
            char in "-." and field.type in form_row.NUMERIC
        )

    def _type(self, event: events.Key) -> bool:
        editor = self._editor
        assert editor is not None
        field = self.field
        if event.key == "enter":
            self._close()
        elif event.key == "escape":
            self._revert()
        elif event.key in {"up", "down", "tab", "shift+tab"}:
            self._close()
            return False
        elif editor.press(event.key):
            self._typed()
            return True
        elif field is not None and event.key in self._commands(field):
            if event.key not in MEANWHILE:
                self._close()
            return False  # never part of a number: the screen's own keys go through
        elif event.character and (event.is_printable or category(event.character) == "Cf"):  # joiners and marks
            editor.insert(event.character)
            self._typed()
            return True
        else:
            return False
        self.refresh_line(self.cursor)
        return True

    def _commands(self, field: Field) -> frozenset[str]:
        """The keys that are the screen's while the field is open."""
        keys = NO_NUMBER.get(field.type, frozenset())
        return keys & MEANWHILE if self._asked else keys

    def on_click(self, event: events.Click) -> None:
        """A click opens a field with its text selected, so that typing replaces it; in an open one it puts the cursor."""
        y = event.y + self.scroll_offset.y - self.gutter.top
        editor, label = self._editor, label_width(self.room) + 2
        if editor is not None and y == self.cursor:
            self._asked = True
            editor.place(clicked(editor, self.room - label, max(0, event.x - self.gutter.left - label)))
            self.refresh_line(self.cursor)
            event.prevent_default()
            return
        super().on_click(event)
        event.prevent_default()  # the list's own handler has just been called
        if self._editor is not None and self._editor is not editor:
            self._editor.selected = bool(self._editor.text)
            self.refresh_line(self.cursor)

    def on_paste(self, event: events.Paste) -> None:
        """Pasted text goes into the field under the cursor."""
        field = self.field
        if field is None or field.type in CHOSEN:
            return
        if self._editor is None:
            self._open("", asked=True)
        assert self._editor is not None
        self._editor.insert(event.text.strip("\r\n"))
        self._typed()
        event.stop()

    def _open(self, text: str, asked: bool = False) -> None:
        self._editor, self._asked = LineEditor(text), asked
        self._tell_place()
        self.refresh_line(self.cursor)

    def _close(self) -> None:
        self._editor = None
        self.post_message(self.TypingEnded(self.key))
        self._tell_place()
        self.refresh_line(self.cursor)

    def _revert(self) -> None:
        self._editor = None
        self.post_message(self.Reverted(self.key))
        self._tell_place()
        self.refresh_line(self.cursor)

    def _tell_place(self) -> None:
        """Tell once which field has the cursor, and whether it is open."""
        place = (self.key, self.typing)
        if place != self._told:
            self._told = place
            self.post_message(self.Moved(*place))

    def _typed(self) -> None:
        assert self._editor is not None
        # Not drawn here: the field is painted with its verdict. A paint of its own would come first, and the verdict
        # would wait a whole frame more.
        self.post_message(self.Changed(self.key, self._editor.text))

    # --- actions --------------------------------------------------------------------------------------------------

    def chosen(self, y: int) -> None:  # noqa: ARG002
        """Enter or a click: a choice moves on, another field opens with its text."""
        field = self.field
        if field is None:
            return
        if field.type in CHOSEN:
            self.action_cycle(1)
        elif self._editor is None:
            self._open(self._text(field.key), asked=True)

    def action_cycle(self, by: int) -> None:
        """The next choice."""
        field = self.field
        if field is None or field.type not in CHOSEN:
            return
        choices = list(field.choices if field.type == "choice" else field.words)
        now = self._text(field.key)
        at = choices.index(now) + by if now in choices else 0
        self.post_message(self.Changed(field.key, choices[at % len(choices)]))
        self.post_message(self.TypingEnded(field.key))

    def action_reset(self) -> None:
        """The preset's value."""
        if self.key:
            self.post_message(self.Reset(self.key))

    def action_toggle_all(self) -> None:
        """Show the settings that few people change, or hide them."""
        self._all = not self._all
        self._collect()
        self.show_cursor()

    def moved(self) -> None:
        """Another field: an open one is closed."""
        self.stop_typing()
        self._tell_place()

    def on_blur(self) -> None:
        """Leaving the form closes an open field; what was typed stays."""
        self.stop_typing()


def _names(field: Field) -> tuple[str, ...]:
    """What a setting is looked for by."""
    return (field.key, str(field.label), field.label.en, field.flag, field.override)
