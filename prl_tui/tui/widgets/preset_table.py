"""The presets of every recipe with their batch columns."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from prl_tui.core import heads
from prl_tui.core.catalog import Catalog
from prl_tui.core.config import resolve
from prl_tui.i18n import t
from prl_tui.machine import paths
from prl_tui.tui.cells import fit
from prl_tui.tui.widgets.rows import Piece, Rows

if TYPE_CHECKING:
    from prl_tui.tui.app import PrlApp

Numbers = tuple[str, ...]
"""Cells of a preset's number columns."""

NUMBERS = 6
"""Cells of one number column."""

KEPT = "jkq"
"""Letters that begin no name here: down and up as in every list, and the way out of the app."""
BEGINS = ",".join(char for char in string.ascii_letters + string.digits if char not in KEPT)
"""Keys of the others, as a binding names them."""


class Line(NamedTuple):
    """A recipe's heading, or one of its presets."""

    recipe: str
    preset: str
    title: str


class PresetTable(Rows):
    """Choose where to start from."""

    HELP = "presets"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", t("start from it")),
        Binding("slash", "find", t("find"), tooltip=t("Find a preset; a letter of its name does too")),
        Binding("escape", "screen.back", t("back")),
        # The screen's keys of these letters would act on the form, which may not be in sight: `long` once launched.
        Binding(BEGINS, "find", show=False),
    ]

    class Chosen(Message):
        """A preset was chosen."""

        def __init__(self, recipe: str, preset: str) -> None:
            super().__init__()
            self.recipe = recipe
            self.preset = preset

    def __init__(self, catalog: Catalog, **keywords: str | None) -> None:
        super().__init__(**keywords)
        self._catalog = catalog
        self._lines = lines(catalog)
        self._numbers: dict[Line, Numbers] = {}  # each is worked out when its row is first drawn
        self._now = ("", "")

    def on_mount(self) -> None:
        """The frame's title."""
        self.border_title = t("Presets")

    def on_focus(self) -> None:
        """What typing does here."""
        self.border_subtitle = t("type a name to find it")

    def on_blur(self) -> None:
        """The keys go elsewhere."""
        self.border_subtitle = ""

    def on_key(self, event: events.Key) -> None:  # type: ignore[override]  # the base's own one comes behind it
        """A letter or digit begins the name of a preset."""
        char = event.character or ""
        if event.is_printable and char.isalnum() and char not in KEPT:
            event.stop()
            event.prevent_default()
            self.action_find(char)

    def action_find(self, typed: str = "") -> None:
        """Look for a preset by its name."""
        cast("PrlApp", self.app).find_preset(typed)

    def keep_list(self) -> None:
        """Have the next start know the list, on a thread; for a start that did not."""
        if self._catalog.stamp:
            cache = paths.cache_dir() / "recipes"
            cast("PrlApp", self.app).beside.do("list of presets", lambda: heads.keep(self._catalog, cache))

    def look_at_files(self) -> None:
        """Read the person's config files, on a thread: their disk may be slow, and the first paint waits for none."""
        cast("PrlApp", self.app).beside.do(f"config files {id(self)}", self._read_files, self._take)

    def _read_files(self) -> Mapping[Line, Numbers]:
        read = {line: with_files(self._catalog, line, paths.here()) for line in self._lines if line.preset}
        return {line: numbers for line, numbers in read.items() if numbers is not None}

    def _take(self, found: Mapping[Line, Numbers]) -> None:
        if not found or not self.is_attached:
            return
        self._numbers.update(found)
        self.refresh()

    def numbers(self, line: Line) -> Numbers:
        """A preset's cells under `COLUMNS`."""
        if line not in self._numbers:
            self._numbers[line] = of_preset(self._catalog, line)
        return self._numbers[line]

    def mark(self, recipe: str, preset: str) -> None:
        """Which preset the form started from."""
        self._now = (recipe, preset)
        at = next((y for y, line in enumerate(self._lines) if (line.recipe, line.preset) == self._now), None)
        if at is not None:
            self.put_cursor(at)
            self.refresh()

    @property
    def pointed(self) -> str:
        """`recipe/preset` under the cursor while the keys go here, where the form has another one; else ""."""
        line = self._lines[self.cursor]
        if not (self.has_focus and line.preset) or (line.recipe, line.preset) == self._now:
            return ""
        return f"{line.recipe}/{line.preset}"

    def on_resize(self) -> None:
        """The chosen preset stays in sight, in the middle where the list is longer than the pane."""
        self.rows_changed()
        self.scroll_to(y=max(0, self.cursor - self.size.height // 2), animate=False, immediate=True)

    def next_recipe(self) -> None:
        """Choose the first preset of the next recipe."""
        recipes = list(dict.fromkeys(line.recipe for line in self._lines))
        after = recipes[(recipes.index(self._now[0]) + 1) % len(recipes)] if self._now[0] in recipes else recipes[0]
        self.choose(after, next(line.preset for line in self._lines if line.recipe == after and line.preset))

    def choose(self, recipe: str, preset: str) -> None:
        """Choose a preset by its name, as a click on it would."""
        at = next(y for y, line in enumerate(self._lines) if (line.recipe, line.preset) == (recipe, preset))
        self.put_cursor(at)
        self.chosen(at)

    def count(self) -> int:
        """Headings and presets."""
        return len(self._lines)

    def selectable(self, y: int) -> bool:
        """Presets only."""
        return bool(self._lines[y].preset)

    def chosen(self, y: int) -> None:
        """Tell the screen."""
        line = self._lines[y]
        self.post_message(self.Chosen(line.recipe, line.preset))

    def row(self, y: int, width: int) -> list[Piece]:
        """A heading with the column titles, or a preset with its numbers."""
        line = self._lines[y]
        numbers = NUMBERS * len(COLUMNS)
        name_width = max(8, width - numbers - 2)
        if not line.preset:
            titles = "".join(fit(title(), NUMBERS, right=True) for title in COLUMNS)
            return [(fit(line.title, name_width + 2), "strong"), (titles, "muted")]
        here = (line.recipe, line.preset) == self._now
        cells = "".join(fit(number, NUMBERS, right=True) for number in self.numbers(line))
        return [("▸ " if here else "  ", "mark"), (fit(line.preset, name_width), "accent" if here else ""), (cells, "")]


COLUMNS: tuple[Callable[[], str], ...] = (lambda: t("GPU"), lambda: t("batch"), lambda: t("gen"), lambda: t("all"))


def lines(catalog: Catalog) -> list[Line]:
    """Every recipe's heading and presets."""
    return [
        line
        for name, head in heads.of(catalog).items()
        for line in (Line(name, "", str(head.title)), *(Line(name, preset, "") for preset in head.presets))
    ]


def of_preset(catalog: Catalog, line: Line) -> Numbers:
    """What a preset says by itself."""
    known = catalog.heads[line.recipe].presets[line.preset] if catalog.heads else None
    return _numbers(known or heads.figures(resolve(catalog.recipes[line.recipe], line.preset)))


def with_files(catalog: Catalog, line: Line, here: Path) -> Numbers | None:
    """What a preset and its own config files here say; None where they say nothing of the batch."""
    recipe = catalog.recipes[line.recipe]
    if not recipe.data.write:
        return None
    from prl_tui.machine import given_files

    config = resolve(recipe, line.preset)
    batch = given_files.batch(config, here)
    return None if batch is None else _numbers(heads.figures(config, batch))


def _numbers(values: heads.Figures) -> Numbers:
    return tuple("–" if value is None else str(value) for value in values)
