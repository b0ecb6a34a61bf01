"""One field's row in the form: its label and value, its unit, what the preset has and who changed it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len

from prl_tui.core.config import RunConfig, Source
from prl_tui.core.recipe import Field, Group
from prl_tui.i18n import t
from prl_tui.tui.cells import fit, safe
from prl_tui.tui.widgets.form_words import hidden_cells, label_width

if TYPE_CHECKING:
    from prl_tui.tui.widgets.line_editor import LineEditor
    from prl_tui.tui.widgets.rows import Piece

NUMERIC = {"int", "float"}
"""Types whose values are numbers: set to the right, opened by a digit."""
OLD = 12
"""Cells of the preset's value beside a changed one."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A group's heading or a field."""

    group: Group
    key: str = ""


@dataclass(frozen=True, slots=True)
class Standing:
    """What of a form is in sight."""

    key: str
    """The field under the cursor."""
    above: int
    """Rows in sight above it: other rows may come and go meanwhile. Negative where it is out of sight itself."""
    all: bool
    """Whether the settings that few people change are shown."""


def opened(field: Field, editor: LineEditor, width: int) -> list[Piece]:
    """The row of a field that somebody types in."""
    cells = label_width(width)
    return [*_label(field, cells), *edited(editor, width - cells - 2)]


def closed(config: RunConfig, base: RunConfig, key: str, severity: str, width: int) -> list[Piece]:
    """The row of a field: what `config` has of it beside what `base`, the preset, has; `severity` of its worst finding."""
    field, cells = config.recipe.by_key[key], label_width(width)
    value_width = max(9, min(21, width - cells - 24)) if width < 62 else max(17, min(29, width - 45))
    text, mark = config.text(key), _mark(config, base, key)
    if cell_len(text) > value_width:  # a long text takes what the mark leaves
        room = width - cells - 3 - sum(cell_len(piece) for piece, _ in mark)
        value_width = max(value_width, min(cell_len(text), room))
    shown = fit(text or "–", value_width, field.type in NUMERIC)
    role = {"error": "error", "warning": "warning"}.get(severity, "" if text else "muted")
    unit = f" {fit(field.unit.counted(text), 11)}" if str(field.unit) else ""
    room = width - cells - 2 - cell_len(shown) - cell_len(unit)
    return [*_label(field, cells), (shown, role), (unit, "muted"), *cut(mark, room)]


def _label(field: Field, cells: int) -> list[Piece]:
    return [("  ", ""), (fit(str(field.label), cells - 1) + " ", "")]


def _mark(config: RunConfig, base: RunConfig, key: str) -> list[Piece]:
    """`← 2  fix`: the preset's value, and who changed it."""
    setting = config.settings[key]
    word = safe(source_word(setting.source, setting.origin))
    if not config.differs(key, base):
        return [(f" {word}", "muted")] if word else []
    old = safe(base.text(key)) or "–"
    return [
        (f" ← {old if cell_len(old) <= OLD else fit(old, OLD)}", "mark"),
        (f"  {word}" if word else "", "muted"),
    ]


def edited(editor: LineEditor, width: int) -> list[Piece]:
    """The text with its cursor, the part around the cursor where it is too long."""
    hidden = hidden_cells(editor, width)
    if editor.selected:
        return [(safe(editor.text[hidden:]), "selected"), (" ", "edit")]
    before, under, after = (
        editor.text[hidden : editor.at],
        editor.text[editor.at : editor.at + 1],
        editor.text[editor.at + 1 :],
    )
    return [
        (safe(before), "edit"),
        (safe(under) or " ", "mark"),
        (safe(after[: max(0, width)]), "edit"),
        (" ", "edit"),
    ]


def cut(pieces: list[Piece], room: int) -> list[Piece]:
    """Pieces in at most `room` cells, the one that no longer fits cut with an ellipsis."""
    found: list[Piece] = []
    for text, role in pieces:
        found.append((text if cell_len(text) <= room else fit(text, max(0, room)), role))
        room -= cell_len(text)
    return found


def source_word(source: Source, origin: str) -> str:
    """Where a value came from, as the form shows it."""
    if source is Source.ENVIRONMENT:
        return origin
    return {
        Source.FILE: t("file"),
        Source.RUN: t("run {id}", id=origin) if origin else t("another run"),
        Source.SET: t("--set"),
        Source.FORM: "",
        Source.FIX: t("fix"),
    }.get(source, "")
