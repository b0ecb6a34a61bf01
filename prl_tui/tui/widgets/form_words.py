"""The form's words for groups of settings and for where a value came from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content

from prl_tui.core import wordlist
from prl_tui.core.config import RunConfig
from prl_tui.core.recipe import Field, Group
from prl_tui.i18n import t
from prl_tui.tui.cells import fit, safe, wrap

if TYPE_CHECKING:
    from prl_tui.tui.widgets.line_editor import LineEditor


def about_field(field: Field, width: int, height: int) -> Content:
    """A field's help and what carries it, in so many lines; where they are too few, an ellipsis and the key for all."""
    lines = wrap(wordlist.about(field), width)
    if len(lines) > height > 0:
        lines = [*lines[: height - 1], fit(lines[height - 1] + " …", width - 3).rstrip().rstrip("… ") + " … ?"]
        return Content("\n".join(lines))
    names = [safe(name) for name in (field.flag or field.env, field.override) if name]
    beside, below = _carriers(names, width - cell_len(lines[-1]) - 2, width, height - len(lines))
    return Content.assemble(
        "\n".join(lines),
        (f"  {beside}" if beside else "", "$secondary"),
        *((f"\n{one}", "$secondary") for one in below),
    )


def _carriers(names: list[str], room: int, width: int, free: int) -> tuple[str, list[str]]:
    """What stands behind the help's last line, with `room` cells, and in the `free` lines below it: whole names first."""
    together = "  ".join(names)
    if cell_len(together) <= room:
        return together, []
    if free and cell_len(together) <= width:
        return "", [together]
    if free >= len(names):
        return "", [fit(name, width).rstrip() for name in names]
    for name in reversed(names):  # the variable overrides a script's value, and stands nowhere else
        if cell_len(name) <= room:
            return name, []
        if free and cell_len(name) <= width:
            return "", [name]
    return (fit(together, room).rstrip() if room > 0 else ""), []


def hidden_cells(editor: LineEditor, width: int) -> int:
    """Characters at the left that give way to the cursor."""
    hidden = 0
    while hidden < editor.at and cell_len(editor.text[hidden : editor.at]) + 2 > width:
        hidden += 1
    return hidden


def clicked(editor: LineEditor, width: int, cell: int) -> int:
    """Before which character of an edited text a click on one of its cells puts the cursor."""
    at = hidden_cells(editor, width)
    while at < len(editor.text) and cell >= (cells := cell_len(safe(editor.text[at]))):
        cell -= cells
        at += 1
    return at


def label_width(width: int) -> int:
    """Cells of a setting's name in a form of that width, with the blank between it and its value."""
    return 21 if width < 60 else 23


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


def idle(config: RunConfig | None) -> frozenset[str]:
    """Fields that have no effect in a config: their value comes from a file, or goes into none."""
    if config is None or not config.recipe.data.write:
        return frozenset()
    from prl_tui.core import files

    return files.idle(config) | files.replaced(config)
