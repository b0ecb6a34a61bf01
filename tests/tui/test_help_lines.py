"""No line of a screen's help wraps on 80 columns: judged by the rows that the terminal would show."""

from __future__ import annotations

import pytest
from textual.widgets import Static

from prl_tui import i18n
from prl_tui.i18n import cells
from prl_tui.tui.help import configure_help, export_help, runs_help, watch_help
from prl_tui.tui.palette import Palette
from prl_tui.tui.screens.dialogs import AskText, Help
from tests.tui.driving import configure, sees, wait_for

TEXTS = {"configure": configure_help, "export": export_help, "watch": watch_help, "runs": runs_help}


@pytest.fixture
def spoken(request):
    i18n.set_language(request.param)
    yield request.param
    i18n.set_language("en")


@pytest.mark.parametrize("spoken", ["en", "zh"], indirect=True)
@pytest.mark.parametrize("name", TEXTS)
async def test_no_line_of_a_help_wraps_on_80_columns(app, spoken, name):
    text = TEXTS[name]()
    async with app().run_test(size=(80, 24)) as pilot:
        await configure(pilot)
        pilot.app.push_screen(Help(text))
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Help), "the help")
        shown = await wait_for(pilot, lambda: pilot.app.screen.query_one_optional(Static), "its text")
        await wait_for(pilot, lambda: shown.size.height, "its text drawn")
        width = shown.content_size.width
        assert [line for line in text.split("\n") if cells(line) > width] == []
        assert shown.size.height == len(text.split("\n"))


@pytest.mark.parametrize(("size", "whole"), [((160, 45), True), ((80, 24), False)])
async def test_a_dialog_of_paths_is_as_wide_as_they_are_up_to_the_terminal(app, size, whole):
    """The path of the stacks' file broke over two lines at 80 columns of 160."""
    path = "/home/someone/" + "本地状态/" * 8 + "runs/0a1b2c/stacks-2026-11-29.txt"
    many = "\n".join([path, *map(str, range(60))])  # a scroll bar beside it
    for text in (path, many):
        async with app().run_test(size=size) as pilot:
            await configure(pilot)
            pilot.app.push_screen(Help(text, wide=True))
            await wait_for(pilot, lambda: isinstance(pilot.app.screen, Help), "the dialog")
            shown = await wait_for(pilot, lambda: pilot.app.screen.query_one_optional(Static), "its text")
            await wait_for(pilot, lambda shown=shown: shown.size.height, "its text drawn")
            assert (shown.size.height == len(text.split("\n"))) is whole
            assert pilot.app.screen.query_one(".help").region.right <= size[0]


@pytest.mark.parametrize(("spoken", "words"), [("en", "esc  back"), ("zh", "esc  返回")], indirect=["spoken"])
@pytest.mark.parametrize("name", ["Help", "Palette", "AskText"])
async def test_what_covers_the_screen_says_what_closes_it(app, spoken, words, name):
    """The stacks of many ranks at 80x24 left no line of the place below that named a key."""
    long = "\n".join(f"rank {rank}  main.py:{rank}" for rank in range(60))
    dialogs = {
        "Help": lambda: Help(long, wide=True),
        "Palette": lambda: Palette([], {}),
        "AskText": lambda: AskText("?", ""),
    }
    async with app().run_test(size=(80, 24)) as pilot:
        place = await configure(pilot)
        pilot.app.push_screen(dialogs[name]())
        await wait_for(pilot, lambda: pilot.app.screen is not place, "the dialog")
        await sees(pilot, f"{words} ─╯")
        await pilot.press("escape")
        await wait_for(pilot, lambda: pilot.app.screen is place, "the place again")
