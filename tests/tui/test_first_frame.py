"""What a start does before the first frame, and what waits until it is on the terminal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from textual.widgets._toast import ToastRack

import prl_tui
from prl_tui.core import heads
from prl_tui.machine import paths
from prl_tui.tui.app import PrlApp
from prl_tui.tui.screens.configure import ConfigureScreen
from prl_tui.tui.screens.place import HEIGHTS, WIDTHS
from tests.tui.driving import configure, screen, wait_for

LATE = ("checks", "plan", "engine", "advice", "flags", "batch", "findings")
"""Modules of core that only the verdict needs."""


def rows(place):
    """All that the list of presets shows."""
    return [place.presets.row(y, 50) for y in range(place.presets.count())]


def test_the_first_frame_imports_no_rules(own_home):
    """With the list of presets in the cache; without it their numbers are worked out."""
    program = (
        "import sys\n"
        f"sys.path.insert(0, {str(Path(prl_tui.__file__).parents[1])!r})\n"  # the list is of these very files
        "from prl_tui.core import catalog, heads\n"
        "from prl_tui.machine import paths\n"
        "from prl_tui.tui.app import PrlApp\n"
        "from prl_tui.tui.screens import configure, configure_words\n"
        "from prl_tui.tui.widgets import preset_table\n"
        "app = PrlApp()\n"
        "configure.ConfigureScreen(app.session)\n"
        "assert configure_words.about(app.session) and app.catalog.heads\n"
        "for line in preset_table.lines(app.catalog):\n"
        "    line.preset and preset_table.of_preset(app.catalog, line)\n"
        f"print('LATE', *[one for one in {LATE} if f'prl_tui.core.{{one}}' in sys.modules])\n"
    )
    cache = paths.cache_dir() / "recipes"
    heads.keep(heads.load([], cache), cache)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout.split(), done.stderr) == (["LATE"], "")


async def test_the_next_start_knows_the_list():
    async with PrlApp().run_test(size=(160, 45)) as pilot:
        place = await configure(pilot)
        assert not pilot.app.catalog.heads
        kept = paths.cache_dir() / "recipes" / heads.NAME
        await wait_for(pilot, kept.exists, "the list in the cache")
        first = rows(place)
    async with PrlApp().run_test(size=(160, 45)) as pilot:
        place = await configure(pilot)
        assert pilot.app.catalog.heads
        assert rows(place) == first


@pytest.mark.parametrize("size", [(160, 45), (80, 24)])
async def test_styles_are_given_once_before_the_first_frame(app, monkeypatch, size):
    looks, real = [], ConfigureScreen.update_node_styles

    def noted(self, animate=True):
        looks.append(len(self.query("*")))
        real(self, animate)

    monkeypatch.setattr(ConfigureScreen, "update_node_styles", noted)
    async with app().run_test(size=size) as pilot:
        place = await configure(pilot)
        fits = {[name for start, name in points if start <= cells][-1]
                for points, cells in zip((WIDTHS, HEIGHTS), size, strict=True)}  # fmt: skip
        assert fits <= place.classes
        assert not [look for look in looks if look], looks  # none goes through the parts again


async def test_nothing_is_prepared_for_the_screen_under_the_places(app):
    async with app().run_test(size=(160, 45), notifications=True) as pilot:
        place = await configure(pilot)
        assert not pilot.app.screen_stack[0].children
        pilot.app.tell("said over the place")
        await wait_for(pilot, lambda: "said over the place" in screen(pilot.app), "the toast")
        assert place.query(ToastRack)
