"""presets RECIPE: its fields in columns. What a column has no room for is cut; `--json` has all of it."""

from __future__ import annotations

import shutil
import sys

from prl_tui.core.config import RunConfig
from prl_tui.core.recipe import Field
from prl_tui.core.values import number
from prl_tui.i18n import cells, column, cut, t, visible
from prl_tui.lists import listed

VALUE, RANGE = 28, 20
"""Cells of a value, and of what it may be, at most."""
LEAST = 14
"""Cells that both have in a narrow terminal, one where a whole row has no room."""
WHOLE = 140
"""Cells of a terminal that has room for a whole row of most recipes."""
GAP = "  "


def lines(config: RunConfig) -> list[str]:
    """One line a field: key, value, label, what it may be, and the variable that overrides it, where the
    terminal has room for that.
    """
    fields = config.recipe.fields
    keys, labels = column([field.key for field in fields]), column([str(field.label) for field in fields])
    values, ranges = [config.text(field.key) or "–" for field in fields], [_range(field) for field in fields]
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    narrow = 0 < width < WHOLE
    values, ranges = (
        column([cut(visible(text), LEAST if narrow else most) for text in texts])
        for texts, most in ((values, VALUE), (ranges, RANGE))
    )
    rows = list(zip(keys, values, labels, ranges, [field.override for field in fields], strict=True))
    lines = [GAP.join(row).rstrip() for row in rows]
    if narrow and max(map(cells, lines), default=0) > width:  # cut in the middle a variable says nothing
        lines = [cut(GAP.join(row[:-1]).rstrip(), width) for row in rows]
    return lines


def _range(field: Field) -> str:
    """`lora, full`, `1 to 4096`, or `≥ 1`."""
    if field.choices:
        return listed(field.choices)
    if field.min is not None and field.max is not None:
        return t("{low} to {high}", low=number(field.min), high=number(field.max))
    if field.min is not None:
        return f"≥ {number(field.min)}"
    return "" if field.max is None else f"≤ {number(field.max)}"
