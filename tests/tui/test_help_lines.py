"""No line of a screen's help wraps on 80 columns: judged by the rows that the terminal would show."""

from __future__ import annotations

import pytest
from textual.widgets import Static

from prl_tui import i18n
from prl_tui.i18n import cells
from prl_tui.tui.help import configure_help, export_help, runs_help, watch_help
from prl_tui.tui.screens.dialogs import Help
from tests.tui.driving import configure, wait_for

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
