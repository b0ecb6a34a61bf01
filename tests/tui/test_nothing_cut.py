"""What has no room says so with an ellipsis, and what was said lately covers no verdict."""

from __future__ import annotations

import pytest
from rich.cells import cell_len, set_cell_size
from textual.widgets._toast import Toast

from prl_tui.core import wordlist
from prl_tui.core.config import resolve
from prl_tui.i18n import set_language
from prl_tui.tui.cells import wrap
from prl_tui.tui.screens.dialogs import Help
from prl_tui.tui.screens.export import ExportScreen
from prl_tui.tui.widgets.form_row import closed, opened
from prl_tui.tui.widgets.form_words import about_field, label_width
from prl_tui.tui.widgets.line_editor import LineEditor
from tests.tui.driving import configure, screen, text_of, wait_for

SIZES = [(80, 24), (99, 30), (110, 24), (120, 40), (150, 30), (160, 45)]
PATH = "wrote /home/somebody/a/long/path/of/a/project/that/has/many/folders/prl-grpo-standard-4gpu.sh"


@pytest.mark.parametrize("size", SIZES)
async def test_what_was_said_lately_leaves_the_verdict_in_sight_and_is_whole(app, size):
    async with app().run_test(size=size, notifications=True) as pilot:
        place = await configure(pilot)
        place.prl.tell(PATH)
        toast = await wait_for(pilot, lambda: next((t for t in place.query(Toast) if t.region.area), None), "the toast")
        assert not toast.region.intersection(place.verdict.region).area
        assert place.region.contains_region(toast.region)
        assert "".join(PATH.split()) in "".join(text_of(toast).replace("▌", "").replace("█", "").split())


@pytest.mark.parametrize("width", [40, 54, 76])
def test_every_help_is_whole_or_ends_in_an_ellipsis_and_the_key_for_all(recipes, width):
    for recipe in recipes.recipes.values():
        for field in recipe.fields:
            shown = about_field(field, width, 3).plain
            rows = shown.split("\n")
            assert len(rows) <= 3
            assert max(map(cell_len, rows)) <= width
            whole = "".join(str(field.help).split()) in "".join(shown.split())
            assert whole or shown.endswith("… ?"), (recipe.name, field.key, shown)
            if len(wrap(wordlist.about(field), width)) < 3 and cell_len(field.override) <= width:
                assert field.override in shown, shown  # the variable is told nowhere else on this screen


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [46, 50, 54, 59, 60, 62, 76])
def test_no_label_touches_its_value(recipes, width, language):
    """One of 20 letters, “helpful reward model”, did in a form of 54 cells."""
    set_language(language)
    try:
        for recipe in recipes.recipes.values():
            config = resolve(recipe, next(iter(recipe.presets)))
            for field in recipe.fields:
                row = "".join(text for text, _ in closed(config, config, field.key, "", width))
                assert cell_len(row) <= width
                before = set_cell_size(row, label_width(width) + 2)
                assert before.endswith(" ")
                assert before.strip() == str(field.label) or cell_len(str(field.label)) >= label_width(width)
                typed = "".join(text for text, _ in opened(field, LineEditor("x" * 90), width))
                assert cell_len(typed[: typed.index("x" * 9)].rstrip()) < label_width(width) + 2
    finally:
        set_language("en")


async def test_help_begins_with_all_of_the_settings_own(app):
    async with app().run_test(size=(80, 24)) as pilot:
        place = await configure(pilot)
        place.form.go_to("num_infer_workers")
        await pilot.press("question_mark")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Help), "the help")
        words = str(place.session.config.recipe.by_key["num_infer_workers"].help).split()
        await wait_for(pilot, lambda: words[-1] in screen(pilot.app), "its last word")


async def test_the_line_of_the_gpus_ends_in_an_ellipsis_where_it_is_cut(app):
    async with app().run_test(size=(80, 24)) as pilot:
        place = await configure(pilot)
        line = text_of(place.query_one("#gpu-line"))
        assert line.rstrip().endswith("…")


async def test_export_says_into_which_folder(app):
    async with app("demo", "two-ranks").run_test(size=(80, 24)) as pilot:
        await configure(pilot)
        await pilot.press("e")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, ExportScreen), "the formats")
        await pilot.press("s")
        await wait_for(
            pilot,
            lambda: "A name alone is put into" in " ".join(screen(pilot.app).replace("│", "").split()),
            "its folder",
        )
