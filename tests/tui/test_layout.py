"""At every size class, and during resizes between them: everything essential is in sight, nothing overlaps."""

from __future__ import annotations

import re
import sys

import pytest

from prl_tui.machine import paths
from prl_tui.runs import launcher
from prl_tui.tui.help import configure_help, export_help, runs_help, watch_help
from prl_tui.tui.screens.configure import ConfigureScreen
from prl_tui.tui.screens.export import ExportScreen
from prl_tui.tui.screens.runs import RunsScreen
from prl_tui.tui.screens.watch import WatchScreen
from prl_tui.tui.widgets.key_line import KeyLine
from tests.tui.driving import configure, lines, screen, sees, wait_for

SIZES = [(w, h) for w in (80, 99, 100, 149, 150) for h in (24, 30, 40)] + [(79, 24), (160, 45)]
LEAVES = {
    "configure": ("TopBar", "#gpu-line", "#gpus", "#preset-line", "#presets", "#settings", "#about", "#verdict",
                  "#preview", "KeyLine"),
    "watch": ("TopBar", "#head", "#gpus", "#curves", "#second", "#logs", "#health", "KeyLine"),
}  # fmt: skip


def in_sight(place, names):
    """Widgets that are drawn, by name."""
    found = {}
    for name in names:
        widget = place.query_one(name)
        if all(node.display for node in widget.ancestors_with_self if hasattr(node, "styles")) and widget.region.area:
            found[name] = widget.region
    return found


def faults(place, names):
    """What lies outside the screen, and which pairs overlap."""
    regions = in_sight(place, names)
    whole = place.region
    outside = [name for name, region in regions.items() if not whole.contains_region(region)]
    pairs = [
        (one, other)
        for one in regions
        for other in regions
        if one < other and regions[one].intersection(regions[other]).area
    ]
    return outside, pairs


def class_of(width, height):
    return (
        "-wide" if width >= 150 else "-medium" if width >= 100 else "-narrow",
        "-tall" if height >= 40 else "-middle" if height >= 30 else "-short",
    )


async def settled(pilot, place, names, size):
    wide, tall = class_of(*size)
    await wait_for(pilot, lambda: tuple(pilot.app.size) == size and place.has_class(wide) and place.has_class(tall),
                   f"the classes of {size}")  # fmt: skip
    await pilot.pause()
    await wait_for(pilot, lambda: faults(place, names) == ([], []), f"no fault at {size}: {faults(place, names)}", 5)


@pytest.mark.slow
async def test_configure_shows_the_essential_at_every_size_and_during_resizes(app):
    async with app().run_test(size=SIZES[0]) as pilot:
        place = await configure(pilot)
        place.form.go_to("num_generations")
        await pilot.press("3", "enter")
        for size in [*SIZES, *reversed(SIZES[::4])]:
            await pilot.resize_terminal(*size)
            await settled(pilot, place, LEAVES["configure"], size)
            seen = in_sight(place, LEAVES["configure"])
            assert {"TopBar", "#settings", "#verdict", "KeyLine"} <= set(seen), size
            assert ("#gpus" in seen) != ("#gpu-line" in seen), size
            assert ("#presets" in seen) != ("#preset-line" in seen), size
            text = screen(pilot.app)
            assert "not a multiple of" in text, size
            assert "generations 3 → 2" in text, size
            assert "generations  " in text, size
            assert max(len(line) for line in lines(pilot.app)) <= size[0]
            if size[0] >= 150 and size[1] >= 30:
                assert "#preview" in seen, size


@pytest.mark.parametrize("width", [80, 100, 150])
async def test_the_footer_of_each_screen_fits(app, width):
    async with app().run_test(size=(width, 30)) as pilot:
        await configure(pilot)
        await wait_for(pilot, lambda: "q quit" in screen(pilot.app).split("\n")[-1], "the whole footer")
        await pilot.press("R")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, RunsScreen), "the runs screen")
        await wait_for(pilot, lambda: "c configure  ? help  q quit" in screen(pilot.app).split("\n")[-1], "its footer")
        pilot.app.open_run(launcher.start(paths.runs_dir(), launcher.Job((sys.executable, "-c", "print(1)"))))
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, WatchScreen), "the watch screen")
        await wait_for(pilot, lambda: "q leave" in screen(pilot.app).split("\n")[-1], "the whole footer")
        keys = pilot.app.screen.query_one(KeyLine)
        assert keys.fitting() == keys._keys


@pytest.mark.slow
async def test_watch_shows_the_essential_at_every_size_and_during_resizes(app):
    async with app().run_test(size=SIZES[0]) as pilot:
        await configure(pilot)
        folder = launcher.start(paths.runs_dir(), launcher.Job((sys.executable, "-c", "print('hello log')")))
        pilot.app.open_run(folder)
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, WatchScreen), "the watch screen")
        place = pilot.app.screen
        await wait_for(pilot, lambda: "finished" in screen(pilot.app), "its end")
        for size in [*SIZES, *reversed(SIZES[::4])]:
            await pilot.resize_terminal(*size)
            await settled(pilot, place, LEAVES["watch"], size)
            seen = in_sight(place, LEAVES["watch"])
            assert {"TopBar", "#head", "#logs", "#health", "KeyLine"} <= set(seen), size
            if size[0] >= 100:
                assert {"#gpus", "#curves"} <= set(seen), size
            await sees(pilot, folder.id)
            await sees(pilot, "hello log")
            if size[0] >= 150:
                assert place.query_one("#gpus").outer_size.width == 36, "no GPU: a sentence takes no room of the curves"


async def test_a_resize_under_a_dialog_counts_once_the_place_is_back(app):
    async with app().run_test(size=(160, 45)) as pilot:
        place = await configure(pilot)
        await pilot.press("question_mark")
        await wait_for(pilot, lambda: pilot.app.screen is not place, "the help")
        await pilot.resize_terminal(80, 24)
        await pilot.press("escape")
        await wait_for(pilot, lambda: pilot.app.screen is place, "the place again")
        await settled(pilot, place, LEAVES["configure"], (80, 24))
        assert "#gpu-line" in in_sight(place, LEAVES["configure"])


@pytest.mark.parametrize(
    ("screen", "words"),
    [
        (ConfigureScreen, configure_help()),
        (WatchScreen, watch_help()),
        (RunsScreen, runs_help()),
        (ExportScreen, export_help()),
    ],
)
def test_help_names_every_key_of_its_screen(screen, words) -> None:
    said = {
        "question_mark",
        "colon",
        "ctrl+p",
        "ctrl+z",
        "ctrl+y",
        "delete",
        "left_square_bracket",
        "right_square_bracket",
        "slash",
        "escape",
    }
    keys = {key for binding in screen.BINDINGS for key in binding.key.split(",")} - said
    assert [key for key in sorted(keys) if not re.search(rf"(?<!\S){key}\s", words)] == []
