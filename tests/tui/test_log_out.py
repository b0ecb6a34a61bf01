"""Copying, saving and opening a log from the watch screen, on a real log; the terminal's part is judged by its bytes."""

from __future__ import annotations

import pytest

from prl_tui.machine import paths
from prl_tui.runs import bare
from prl_tui.telemetry.tail_first import TailFirst
from prl_tui.tui.screens.dialogs import AskText, Question
from prl_tui.tui.screens.watch import WatchScreen
from prl_tui.tui.widgets.log_view import LogView
from tests.tui.driving import configure, screen, text_of, wait_for

SMALL = (80, 24)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "night.log"
    path.write_bytes(
        b"".join(b"\x1b[32mloss\x1b[0m %d [/INST]\n" % n if n % 10 == 7 else b"line %d\n" % n for n in range(300))
    )
    return path


async def opened(pilot, log):
    await configure(pilot)
    pilot.app.open_run(bare.find(str(log), log.parent))
    await wait_for(pilot, lambda: isinstance(pilot.app.screen, WatchScreen), "the watch screen")
    view = await wait_for(pilot, lambda: pilot.app.screen.query_one_optional(LogView), "its log view")
    await wait_for(pilot, lambda: "line 299" in text_of(view), "its log")
    return view


async def test_y_copies_the_lines_in_sight_and_shift_y_the_one_found(app, log):
    async with app().run_test(size=SMALL, notifications=True) as pilot:
        view = await opened(pilot, log)
        await pilot.press("y")
        height = view.size.height
        lines = [f"loss {n} [/INST]" if n % 10 == 7 else f"line {n}" for n in range(300 - height, 300)]
        assert pilot.app.clipboard == "\n".join(lines) + "\n"
        await wait_for(pilot, lambda: f"copied {height} lines" in screen(pilot.app), "how many")
        await pilot.press("slash", *"loss", "enter")
        await wait_for(pilot, lambda: view.current_line is not None, "the hit")
        await pilot.press("Y")
        assert pilot.app.clipboard == f"loss {view.current_line} [/INST]\n"
        await pilot.press("f", *"nowhere", "enter")
        await wait_for(pilot, lambda: "No line matches." in text_of(view), "nothing")
        await pilot.press("y")
        await wait_for(pilot, lambda: "There is no line to copy." in screen(pilot.app), "that")


async def test_wrapped_lines_are_copied_whole(app, tmp_path):
    log = tmp_path / "night.log"
    log.write_bytes(b"first\n" + b"x" * 5000 + b"\nline 299\n")
    async with app().run_test(size=SMALL) as pilot:
        await opened(pilot, log)
        await pilot.press("w", "y")
        assert pilot.app.clipboard == "x" * 5000 + "\nline 299\n"


async def test_a_line_of_which_only_the_end_is_shown_is_copied_whole_or_not_at_all(app, tmp_path):
    log = tmp_path / "night.log"
    log.write_bytes(b"".join(b"%d " % n for n in range(9000)) + b"\nline 299\n")
    async with app().run_test(size=SMALL, notifications=True) as pilot:
        view = await opened(pilot, log)
        assert text_of(view).startswith("…")
        await pilot.press("y")
        assert pilot.app.clipboard == "".join(f"{n} " for n in range(9000)) + "\nline 299\n"
        log.write_bytes(b"x" * 70_000 + b"\nline 299\n")
        await wait_for(pilot, lambda: "…xxx" in text_of(view), "the other line")
        await pilot.press("y")
        await wait_for(pilot, lambda: "Nothing is copied" in screen(pilot.app), "why not")


async def test_s_saves_what_is_shown_and_asks_before_it_replaces(app, log):
    async with app().run_test(size=SMALL, notifications=True) as pilot:
        view = await opened(pilot, log)
        await pilot.press("f", *"loss", "enter")
        await wait_for(pilot, lambda: view.lines == 30, "the filter")
        await pilot.press("s")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, AskText), "the question")
        assert pilot.app.screen._value == "night-log.txt"
        await pilot.press("enter")
        wanted = "".join(f"loss {n} [/INST]\n" for n in range(7, 300, 10))
        saved = paths.here() / "night-log.txt"
        await wait_for(pilot, saved.exists, "the file")
        assert saved.read_text() == wanted
        await wait_for(pilot, lambda: "wrote" in screen(pilot.app), "that it is there")
        saved.write_text("mine")
        await pilot.press("s", "enter")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Question), "whether to replace it")
        await pilot.press("n")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, WatchScreen), "the screen")
        assert saved.read_text() == "mine"
        await pilot.press("escape", "s", "enter")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, Question), "whether to replace it")
        await pilot.press("y")
        await wait_for(pilot, lambda: saved.read_text() != "mine", "the whole log")
        assert saved.read_text().count("\n") == 300
        assert list(paths.here().iterdir()) == [saved], "nothing is left beside it"


async def test_the_log_itself_and_folders_are_refused(app, log):
    async with app().run_test(size=SMALL, notifications=True) as pilot:
        view = await opened(pilot, log)
        (paths.here() / "same").symlink_to(log)
        before = log.read_bytes()
        for name, why in (
            ("same", "is the log itself"),
            ("..", "no file that can be replaced"),
            ("no/x", "cannot be written"),
        ):
            await pilot.press("s")
            await wait_for(pilot, lambda: isinstance(pilot.app.screen, AskText), "the question")
            pilot.app.screen.query_one("#text").value = name
            await pilot.press("enter")
            await wait_for(pilot, lambda why=why: why in " ".join(screen(pilot.app).split()), why)
            if isinstance(pilot.app.screen, AskText):
                await pilot.press("escape")
            await wait_for(pilot, lambda: isinstance(pilot.app.screen, WatchScreen), "the screen")
        assert log.read_bytes() == before
        assert view.following


async def test_where_a_terminal_cannot_be_given_away_o_and_v_say_so(app, log):
    async with app().run_test(size=SMALL, notifications=True) as pilot:
        await opened(pilot, log)
        for key in ("o", "v"):
            await pilot.press(key)
            await wait_for(pilot, lambda: "cannot be given to another program" in screen(pilot.app), "why not")


async def test_o_and_v_open_the_file_of_the_marked_line_else_of_the_last_one_in_sight(app, log, monkeypatch):
    """Of a rank's two files: the one with the traceback on which one arrives, though stdout's lines stand above it."""
    out, err, asked = log.with_name("stdout.log"), log.with_name("stderr.log"), []
    out.write_text("".join(f"step {n}\n" for n in range(100)))
    err.write_text("Traceback (most recent call last):\n  File 'train.py', line 3\nValueError: no\n")

    def command(kind, path, line, environment):
        asked.append((kind, path, line))
        return ["true"]

    monkeypatch.setattr("prl_tui.machine.viewer.command", command)
    async with app().run_test(size=SMALL) as pilot:
        view = await opened(pilot, log)
        view.show(TailFirst.of(out, err))
        await wait_for(pilot, lambda: view.log_source.whole and "ValueError: no" in text_of(view), "the rank's log")
        assert view.following
        assert "step 99" in text_of(view)
        await pilot.press("v", "o")
        assert asked == [("editor", err, 3), ("pager", err, 3)]
        view.go_to_line(98)
        await pilot.press("v")
        assert asked[2:] == [("editor", out, 99)], "the marked one"
        await pilot.press("home", "o")
        await wait_for(pilot, lambda: len(asked) == 4, "the pager")
        assert asked[3:] == [("pager", out, view.size.height)], "the mark is out of sight"


async def test_every_key_of_the_log_is_an_action_by_name(app, log):
    async with app().run_test(size=SMALL) as pilot:
        await opened(pilot, log)
        titles = {command.title for command in pilot.app.get_system_commands(pilot.app.screen)}
        assert {"copy the lines in sight", "copy the line found", "open in $PAGER", "open in $EDITOR", "save the log",
                "only lines with …", "no lines with …", "lines by level", "next warning", "previous error",
                } <= titles  # fmt: skip
        assert "next group of ranks" not in titles, "there is one log only"
