"""Text from outside is shown literally, wherever it shows: nothing is markup, nothing is obeyed, nothing crashes."""

from __future__ import annotations

import sys

import pytest
from rich.cells import cell_len
from textual import events

from prl_tui.core import catalog
from prl_tui.core.config import Source
from prl_tui.core.findings import Facts, GpuUse
from prl_tui.i18n import visible
from prl_tui.machine import paths
from prl_tui.runs import launcher
from prl_tui.tui.screens.dialogs import AskText, Question
from prl_tui.tui.screens.export import ExportScreen
from prl_tui.tui.screens.runs import RunList, RunsScreen
from prl_tui.tui.screens.watch import WatchScreen
from prl_tui.tui.session import Session
from tests.tui.driving import App, configure, lines, screen, sees, shows, text_of, wait_for

pytestmark = pytest.mark.slow

WIDE = (160, 45)
MARKUP = ["[/INST]", "[bold]x", '["example.com"]', "[/usr/lib/x]", "[link=x]", "\\[a]", "[@click=app.quit]go"]
CONTROLS = {
    "a\x1b[2Jb": "a�[2Jb",
    "a\x1b]0;t\x07b": "a�]0;t�b",
    "a\x9b31mb": "a�31mb",
    "👩\u200d👩\u200d👧": "👩👩👧",
    "\u202eevil": "evil",
    "\u2067x\u2069": "x",
    "tab\tx": "tab x",
}
HOSTILE = [(text, text) for text in MARKUP] + list(CONTROLS.items())


def assert_clean(app):
    """Nothing on the screen that a terminal would obey, and every row as wide as the terminal."""
    for line in lines(app):
        assert not [char for char in line if not char.isprintable()], repr(line)
        assert cell_len(line) == app.size.width


@pytest.mark.parametrize(("text", "shown"), HOSTILE)
async def test_in_the_form_the_verdict_the_preview_and_the_top(app, text, shown):
    async with app().run_test(size=WIDE) as pilot:
        place = await configure(pilot)
        place.form.go_to("model")
        await pilot.press("enter", "ctrl+u")
        place.form.post_message(events.Paste(text))
        await wait_for(pilot, lambda: shown in text_of(place.form), "the value while it is typed")
        assert_clean(pilot.app)
        await pilot.press("enter")
        assert place.session.config.value("model") == text, "kept as it came"
        change = {"num_generations": text, "workdir": text}
        place.session.load(place.session.config.with_values(change, Source.ENVIRONMENT, dict.fromkeys(change, text)))
        use = GpuUse(0, "GPU-0", None, text)
        place.session.facts = Facts(8, (use,), port_owner=text)
        place.look_at_gpus = lambda: None
        place.update()
        told = visible(text) if visible(text) != text else shown  # a sentence says which control characters it has
        await wait_for(pilot, lambda: told.split(" ")[0] in text_of(place.verdict), "the finding")
        assert_clean(pilot.app)


@pytest.mark.parametrize(
    ("text", "shown"), [pair for pair in HOSTILE if "\x1b" not in pair[0] and "\x07" not in pair[0]]
)
async def test_as_the_name_and_title_of_a_preset_and_a_recipe(tmp_path, text, shown):
    import tomli_w

    folder = tmp_path / "own"
    folder.mkdir()
    table = {
        "schema": 1,
        "name": "mine",
        "title": {"en": text},
        "program": {"torchrun": {"module": "x"}},
        "field": [
            {"key": "k", "type": "str", "group": "model", "label": {"en": text}, "help": {"en": text},
             "unit": {"en": text}, "default": text}
        ],
        "presets": {text: {"values": {"k": "v"}}},
    }  # fmt: skip
    (folder / "mine.toml").write_text(tomli_w.dumps(table), "utf-8")
    found = catalog.load([folder])
    assert found.problems == ()
    async with App(found, session=Session.begin(found, "mine", text)).run_test(size=WIDE) as pilot:
        place = await configure(pilot)
        await wait_for(pilot, lambda: shown in text_of(place.presets), "the name in the list")
        await shows(pilot, place.form, shown)
        await shows(pilot, place.query_one("TopBar"), shown)
        await wait_for(pilot, lambda: shown in text_of(place.query_one("#about")), "the help")
        assert_clean(pilot.app)
        await pilot.press("e")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, ExportScreen), "the export screen")
        await pilot.pause()
        assert_clean(pilot.app)
        await pilot.press("enter")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, AskText), "the question for a file")
        await pilot.pause()
        assert_clean(pilot.app)
        await pilot.press("escape")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, ExportScreen), "the export screen again")
        await pilot.press("escape")
        await configure(pilot)
        await pilot.resize_terminal(80, 24)
        await wait_for(pilot, lambda: shown in text_of(place.query_one("#preset-line")), "the line of the preset")
        assert_clean(pilot.app)


@pytest.mark.parametrize(("text", "shown"), HOSTILE)
async def test_in_notifications_and_questions(app, text, shown):
    async with app().run_test(size=WIDE, notifications=True) as pilot:
        await configure(pilot)
        pilot.app.tell(f"note {text}", "error")
        await wait_for(pilot, lambda: f"note {shown}" in screen(pilot.app), "the notification")
        assert_clean(pilot.app)
        pilot.app.push_screen(Question(f"ask {text}", f"yes {text}", f"no {text}", f"one\nmore {text}"))
        await wait_for(pilot, lambda: f"more {shown}" in screen(pilot.app), "the details")
        for wanted in (f"ask {shown}", f"yes {shown}", f"no {shown}"):
            await sees(pilot, wanted)
        assert_clean(pilot.app)


async def test_in_the_list_of_runs_the_watch_head_the_log_and_the_health_line(app):
    async with app().run_test(size=WIDE) as pilot:
        await configure(pilot)
        for text, shown in HOSTILE:
            code = f"print({text!r} + ' out'); raise ValueError({text!r})"
            job = launcher.Job((sys.executable, "-c", code), info={"recipe": text, "preset": text})
            folder = launcher.start(paths.runs_dir(), job)
            await wait_for(pilot, (folder.path / "exit.json").exists, "its end")
            pilot.app.open_run(folder)
            await wait_for(pilot, lambda: isinstance(pilot.app.screen, WatchScreen), "the watch screen")
            place = pilot.app.screen
            await wait_for(pilot, lambda: place.query("#health"), "its widgets")
            await wait_for(pilot, lambda: "✗ failed" in text_of(place.query_one("#head")), "how it ended")
            await shows(pilot, place.query_one("#head"), f"{shown}/{shown}")
            await wait_for(pilot, lambda: "✗" in text_of(place.query_one("#health")), "the health line")
            assert_clean(pilot.app)
            pilot.app.action_go("runs")
            await wait_for(pilot, lambda: isinstance(pilot.app.screen, RunsScreen), "the runs")
            rows = (await wait_for(pilot, lambda: pilot.app.screen.query(RunList), "the list")).first()
            await wait_for(pilot, lambda r=rows, f=folder: [one for one in r.runs if one.id == f.id], "the run")
            await wait_for(pilot, lambda s=shown, r=rows: s in text_of(r), "its name in the list")
            assert_clean(pilot.app)


async def test_a_folder_that_is_no_id_of_ours(app):
    import json

    folder = paths.runs_dir() / "[bold]\x1b[2J"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"schema": 1, "id": "x", "recipe": None, "created": 1.0}))
    async with app().run_test(size=WIDE) as pilot:
        await configure(pilot)
        await pilot.press("R")
        await wait_for(pilot, lambda: "[bold]" in screen(pilot.app), "the folder in the list")
        assert_clean(pilot.app)
        await pilot.press("enter")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, WatchScreen), "the watch screen")
        await wait_for(pilot, lambda: pilot.app.screen.query("#health"), "its widgets")
        await wait_for(pilot, lambda: "[bold]�[2J" in text_of(pilot.app.screen.query_one("#head")), "its name")
        assert_clean(pilot.app)
        await pilot.press("x", "R", "D")
        await pilot.pause()
        assert_clean(pilot.app)
