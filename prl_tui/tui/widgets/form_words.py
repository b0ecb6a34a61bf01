"""The form's words for groups of settings and for where a value came from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content

from prl_tui.core import wordlist
from prl_tui.core.config import Source
from prl_tui.core.recipe import Field, Group
from prl_tui.i18n import t
from prl_tui.tui.cells import fit, safe, wrap

if TYPE_CHECKING:
    from prl_tui.tui.widgets.line_editor import LineEditor
    from prl_tui.tui.widgets.rows import Piece


def about_field(field: Field, width: int, height: int) -> Content:
    """A field's help and what carries it, in so many lines; where they are too few, an ellipsis and the key for all."""
    carriers = safe("  ".join(part for part in (field.flag or field.env, field.override) if part))
    lines = wrap(wordlist.about(field), width)
    if len(lines) > height > 0:
        lines = [*lines[: height - 1], fit(lines[height - 1] + " …", width - 3).rstrip().rstrip("… ") + " … ?"]
        return Content("\n".join(lines))
    room = width - cell_len(lines[-1]) - 2
    if cell_len(carriers) > room and len(lines) < height:
        return Content.assemble("\n".join(lines), ("\n" + fit(carriers, width), "$secondary"))
    return Content.assemble("\n".join(lines), (f"  {fit(carriers, room)}" if room > 0 else "", "$secondary"))


def edited(editor: LineEditor, width: int) -> list[Piece]:
    """The text with its cursor, the part around the cursor where it is too long."""
    before, under, after = (
        editor.text[: editor.at],
        editor.text[editor.at : editor.at + 1],
        editor.text[editor.at + 1 :],
    )
    while before and cell_len(before) + 2 > width:
        before = before[1:]
    return [
        (safe(before), "edit"),
        (safe(under) or " ", "mark"),
        (safe(after[: max(0, width)]), "edit"),
        (" ", "edit"),
    ]


def group_word(group: Group) -> str:
    """A group's heading."""
    return {
        "batch": t("Batch"),
        "generation": t("Generation"),
        "model": t("Model"),
        "data": t("Data"),
        "schedule": t("Schedule"),
        "faults": t("Faults on purpose"),
        "launch": t("Launch"),
        "environment": t("Environment"),
    }[group]


def source_word(source: Source, origin: str) -> str:
    """Where a value came from, as the form shows it."""
    if source is Source.ENVIRONMENT:
        return origin
    return {
        Source.FILE: t("file"),
        Source.SET: t("--set"),
        Source.FORM: "",
        Source.FIX: t("fix"),
    }.get(source, "")
