import asyncio
import contextlib
from pathlib import Path

import pytest
from textual.app import App
from textual.geometry import Region

from prl_tui.telemetry.line_index import LineIndex
from prl_tui.telemetry.merged_index import MergedIndex
from prl_tui.tui.widgets.log_pane import screen_is_behind
from prl_tui.tui.widgets.log_view import LogView

HOSTILE = Path(__file__).parents[1] / "fixtures" / "telemetry" / "L22.log"


class LogApp(App):
    def __init__(self, view):
        super().__init__()
        self.view = view
        self.messages = []

    def compose(self):
        yield self.view

    def on_mount(self):
        self.view.focus()

    def on_log_pane_follow_changed(self, message):
        self.messages.append(("follow", message.following))

    def on_log_pane_new_lines(self, message):
        self.messages.append(("new", message.count))

    def on_log_view_searched(self, message):
        self.messages.append(("searched", message.needle, message.line, message.wrapped))


def app_on(path, **options):
    return LogApp(LogView(LineIndex(path), **options))


def append(path, text):
    with path.open("ab") as file:
        file.write(text)


def shown(view):
    """The rows as drawn."""
    strips = view.render_lines(Region(0, 0, view.size.width, view.size.height))
    return [strip.text.rstrip() for strip in strips]


def style_of(view, row, text):
    """Style of the segment of a drawn row that has `text` in it."""
    strip = view.render_lines(Region(0, row, view.size.width, 1))[0]
    return next(segment.style for segment in strip if text in segment.text)


async def until(pilot, condition):
    for _ in range(200):
        if condition():
            return
        await pilot.pause(0.01)
    raise AssertionError("the condition never came true")


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "output.log"
    path.write_bytes(b"".join(b"line %d\n" % number for number in range(1000)))
    return path


async def test_the_end_is_followed(log):
    app = app_on(log)
    async with app.run_test(size=(80, 24)) as pilot:
        app.view.poll()
        await pilot.pause()
        assert shown(app.view) == [f"line {number}" for number in range(976, 1000)]
        append(log, b"next\n")
        app.view.poll()
        assert shown(app.view)[-1] == "next"
        assert app.messages == []


async def test_scrolling_up_lets_go_counts_new_lines_and_end_follows_again(log):
    app = app_on(log)
    view = app.view
    async with app.run_test(size=(80, 24)) as pilot:
        view.poll()
        await pilot.press("up")
        assert not view.following
        before = shown(view)
        assert before[0] == "line 975"
        append(log, b"a\nb\nc\n")
        view.poll()
        await pilot.pause()
        assert shown(view) == before
        assert view.new_lines == 3
        append(log, b"d\n")
        view.poll()
        await pilot.press("end")
        assert view.following
        assert shown(view)[-1] == "d"
        assert view.new_lines == 0
        await pilot.press("home")
        assert shown(view)[0] == "line 0"
        await pilot.press("G")
        await pilot.pause()
        assert app.messages == [
            ("follow", False),
            ("new", 3),
            ("new", 4),
            ("follow", True),
            ("follow", False),
            ("follow", True),
        ]


async def test_scrolling_down_to_the_end_follows_again(log):
    app = app_on(log)
    async with app.run_test(size=(80, 24)) as pilot:
        app.view.poll()
        await pilot.press("pageup")
        assert not app.view.following
        await pilot.press("pagedown")
        assert app.view.following


async def test_the_mouse_wheel_lets_go_too(log):
    app = app_on(log)
    async with app.run_test(size=(80, 24)) as pilot:
        app.view.poll()
        await pilot.pause()
        app.view._scroll_up_for_pointer(animate=False)
        await pilot.pause()
        assert not app.view.following


async def test_a_search_that_is_ended_jumps_nowhere_any_more(log):
    app = app_on(log)
    async with app.run_test(size=(60, 10)) as pilot:
        app.view.poll()
        app.view.search("line 3", backwards=True)
        assert app.view.current_line is None, "it is still under way"
        app.view.search("")
        await pilot.pause(0.2)
        assert (app.view.current_line, app.view.following) == (None, True)


async def test_a_resized_view_that_follows_is_still_at_the_end(log):
    app = app_on(log)
    async with app.run_test(size=(80, 24)) as pilot:
        app.view.poll()
        await pilot.resize_terminal(60, 10)
        await pilot.pause()
        assert shown(app.view)[-1] == "line 999"
        await pilot.resize_terminal(60, 40)
        await pilot.pause()
        assert shown(app.view)[-1] == "line 999"
        assert app.view.following


async def test_a_log_that_is_not_there_yet_says_what_is_waited_for(tmp_path):
    path = tmp_path / "later.log"
    app = app_on(path, placeholder="waiting for rank 0 [/INST]")
    async with app.run_test(size=(80, 5)) as pilot:
        app.view.poll()
        await pilot.pause()
        assert shown(app.view) == ["waiting for rank 0 [/INST]", "", "", "", ""]
        path.write_bytes(b"here\n")
        app.view.poll()
        assert shown(app.view)[0] == "here"


async def test_a_truncated_log_is_shown_from_its_new_beginning(log):
    app = app_on(log)
    async with app.run_test(size=(80, 24)) as pilot:
        app.view.poll()
        await pilot.press("home")
        log.write_bytes(b"fresh\n")
        app.view.poll()
        await pilot.pause()
        assert shown(app.view)[:2] == ["fresh", ""]
        assert app.view.following


async def test_polling_never_lays_the_screen_out_again(log):
    app = app_on(log)
    async with app.run_test(size=(80, 24)) as pilot:
        app.view.poll()
        await pilot.pause()
        layouts = []
        original = app.screen._refresh_layout
        app.screen._refresh_layout = lambda *args, **kwargs: (layouts.append(1), original(*args, **kwargs))
        for number in range(20):
            append(log, b"more %d\n" % number * 50)
            app.view.poll()
            await pilot.pause()
        assert layouts == []
        assert shown(app.view)[-1] == "more 19"


async def test_a_hostile_log_is_shown_literally_and_reaches_no_terminal_control():
    # L22: what Rich and Textual would take for markup, cursor moves, an OSC title, a colour without reset.
    app = app_on(HOSTILE)
    async with app.run_test(size=(100, 24)) as pilot:
        app.view.poll()
        await pilot.pause()
        rows = shown(app.view)
        assert rows[0] == "[INFO:swift] Using data/train [/data/proj/run.py] with model [bold]"
        assert rows[1].startswith("[rank0]: prompt: [INST] <<SYS>> 你好 [/INST] answer [/red] [link=x]y[/]")
        assert rows[3] == "  3%|▎ | 3/100"
        assert "after-osc" in rows
        red = rows.index("red without reset")
        assert style_of(app.view, red, "red").color.triplet == (255, 0, 0)
        assert style_of(app.view, red + 1, "next").color.triplet != (255, 0, 0)
        app.view.search("[/INST]")
        await until(pilot, lambda: app.messages)
        assert app.messages[-1] == ("searched", "[/INST]", 1, False)
        everything = "".join(rows)
        assert not any(ord(letter) < 32 or 0x7F <= ord(letter) < 0xA0 for letter in everything)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("👩\u200d🔬 ⚠\ufe0f 损失 [bold]", "👩🔬 ⚠ 损失 [bold]"),
        ("\u202e\u2067שלום عالم", "שלום عالم"),
        ("\x1b]0;pwn\x1b[2J", ""),
        ("\x1b[31", ""),
        ("[@click=app.quit]x[/]", "[@click=app.quit]x[/]"),
        ("a" * 7000, "a" * 98 + "…"),
    ],
)
async def test_any_line_is_exactly_as_wide_as_the_view(tmp_path, raw, text):
    path = tmp_path / "log"
    path.write_bytes(f"{raw}\nplain\n".encode())
    app = app_on(path)
    async with app.run_test(size=(100, 5)) as pilot:
        app.view.poll()
        await pilot.pause()
        assert shown(app.view)[0] == text
        for strip in app.view.render_lines(Region(0, 0, app.view.size.width, 5)):
            assert strip.cell_length == 100 == sum(segment.cell_length for segment in strip)


@contextlib.asynccontextmanager
async def a_long_line(tmp_path):
    """A log of one line of 303 characters in 80 columns; one more is the scroll bar's."""
    path = tmp_path / "log"
    path.write_bytes(b"0123456789" * 30 + b"END\n")
    app = app_on(path)
    async with app.run_test(size=(81, 5)) as pilot:
        app.view.poll()
        await pilot.pause()
        yield app, pilot


async def test_long_lines_can_be_scrolled_sideways_and_show_where_they_go_on(tmp_path):
    async with a_long_line(tmp_path) as (app, pilot):
        start = "0123456789" * 7 + "012345678…"
        assert shown(app.view)[0] == start
        assert style_of(app.view, 0, "…").color != style_of(app.view, 0, "0123").color
        await pilot.press("right")
        assert shown(app.view)[0].startswith("…9012345")
        assert shown(app.view)[0].endswith("3456…")
        for _ in range(40):
            app.view.action_scroll_right()
        assert shown(app.view)[0].startswith("…")
        assert shown(app.view)[0].endswith("END")
        for _ in range(40):
            app.view.action_scroll_left()
        assert shown(app.view)[0] == start


@pytest.mark.parametrize(
    ("text", "row"), [("损" * 100, "损" * 39), ("a" + "损" * 100, "a" + "损" * 39), ("x" * 80, "x" * 80)]
)
async def test_the_sign_halves_no_wide_character_and_stands_only_where_there_is_more(tmp_path, text, row):
    path = tmp_path / "log"
    path.write_text(f"{text}\n")
    app = app_on(path)
    async with app.run_test(size=(81, 5)) as pilot:
        app.view.poll()
        await pilot.pause()
        assert shown(app.view)[0].rstrip("… ") == row
        assert shown(app.view)[0].endswith("…") == (len(text) > 80)
        assert all(strip.cell_length == 81 for strip in app.view.render_lines(Region(0, 0, 81, 5)))


async def test_a_log_that_is_shown_again_can_be_scrolled_sideways_too(tmp_path):
    async with a_long_line(tmp_path) as (app, pilot):
        app.view.show(app.view.source)
        app.view.poll()
        await pilot.pause()
        await pilot.press(*["right"] * 40)
        assert shown(app.view)[0].endswith("END"), "lines that were drawn before count too"


async def test_search_goes_through_the_whole_log_marks_and_wraps(log):
    append(log, b"here a NEEDLE and a needle\n" + b"x\n" * 2000 + b"needle again\n")
    app = app_on(log)
    view = app.view
    async with app.run_test(size=(80, 24)) as pilot:
        while view.poll():
            pass
        await pilot.press("home")
        view.search("needle")
        await until(pilot, lambda: ("searched", "needle", 1000, False) in app.messages)
        row = 1000 - view.scroll_offset.y
        assert shown(view)[row] == "here a NEEDLE and a needle"
        assert style_of(view, row, "NEEDLE") == style_of(view, row, "needle") != style_of(view, row, "here")
        assert not view.following
        await pilot.press("n")
        await until(pilot, lambda: ("searched", "needle", 3001, False) in app.messages)
        await pilot.press("n")
        await until(pilot, lambda: ("searched", "needle", 1000, True) in app.messages)
        await pilot.press("N")
        await until(pilot, lambda: ("searched", "needle", 3001, True) in app.messages)
        view.search("Needle")
        await until(pilot, lambda: ("searched", "Needle", None, False) in app.messages)
        view.search("")
        row = 3001 - view.scroll_offset.y
        assert style_of(view, row, "needle") == style_of(view, row, "again")


@pytest.mark.parametrize("wrapped", [False, True])
async def test_a_search_finds_what_is_in_sight_first_and_goes_on_from_there(log, wrapped):
    append(log, b"".join(b"eval_loss %d\n" % n if n in (3, 50, 59) else b"row %d\n" % n for n in range(60)))
    app = app_on(log)
    view = app.view
    async with app.run_test(size=(80, 24)) as pilot:
        while view.poll():
            pass
        view.wrap(wrapped)
        assert view.following
        assert "eval_loss 50" in "\n".join(shown(view))
        view.search("eval_loss", backwards=True)
        await until(pilot, lambda: app.messages[-1:] == [("searched", "eval_loss", 1050, False)])
        assert (view.current_line, view.following) == (1050, False)
        assert "eval_loss 50" in "\n".join(shown(view))
        for key, line, around in (("n", 1059, False), ("n", 1003, True), ("n", 1050, False), ("N", 1003, False)):
            await pilot.press(key)
            await until(pilot, lambda n=line, w=around: app.messages[-1:] == [("searched", "eval_loss", n, w)])
        view.follow()
        view.search("row 12", backwards=True)  # nowhere in sight: the nearest one above
        await until(pilot, lambda: app.messages[-1:] == [("searched", "row 12", 1012, False)])


async def test_the_error_before_the_end_may_be_in_sight(log):
    append(log, b"ValueError: early\n" + b"x\n" * 500 + b"ValueError: late\n" + b"y\n" * 5)
    app = app_on(log)
    async with app.run_test(size=(80, 24)) as pilot:
        while app.view.poll():
            pass
        await pilot.press("E")
        await until(pilot, lambda: ("searched", "", 1501, False) in app.messages)
        await pilot.press("E")
        await until(pilot, lambda: ("searched", "", 1000, False) in app.messages)


async def test_a_hit_far_to_the_right_is_brought_into_sight(tmp_path):
    path = tmp_path / "log"
    path.write_bytes("损".encode() * 200 + b"needle\n")
    app = app_on(path)
    async with app.run_test(size=(81, 5)) as pilot:
        app.view.poll()
        app.view.search("needle")
        await until(pilot, lambda: app.messages)
        await pilot.pause()
        assert "needle" in shown(app.view)[0]


async def test_errors_are_jumped_to_one_after_the_other(log):
    append(log, b"Traceback (most recent call last):\n" + b"x\n" * 500 + b"ValueError: bad\n" + b"y\n" * 100)
    app = app_on(log)
    async with app.run_test(size=(80, 24)) as pilot:
        while app.view.poll():
            pass
        await pilot.press("home", "e")
        await until(pilot, lambda: ("searched", "", 1000, False) in app.messages)
        await pilot.press("n")  # nothing is searched for: n is for errors
        await until(pilot, lambda: ("searched", "", 1501, False) in app.messages)
        await pilot.press("E")
        await until(pilot, lambda: app.messages.count(("searched", "", 1000, False)) == 2)
        assert app.view.current_line == 1000


async def test_a_search_gives_the_screen_its_turn(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"some line of a log that has no such word in it at all\n" * 300_000)
    app = app_on(path)
    async with app.run_test(size=(80, 24)):
        while app.view.poll(64 << 20):
            pass
        app.view.search("needle")
        turns = 0
        while not app.messages:
            await asyncio.sleep(0)
            turns += 1
        assert turns > 10
        assert app.messages == [("searched", "needle", None, False)]


async def test_another_source_can_be_shown(log, tmp_path):
    out, err = tmp_path / "stdout.log", tmp_path / "stderr.log"
    out.write_bytes(b"{'loss': 1}\n")
    err.write_bytes(b"\rTrain: 10%")
    app = app_on(log)
    async with app.run_test(size=(80, 5)) as pilot:
        app.view.poll()
        app.view.show(MergedIndex((out, err)))
        app.view.poll()
        await pilot.pause()
        assert shown(app.view)[:3] == ["{'loss': 1}", "Train: 10%", ""]
        app.view.show(None, placeholder="nothing")
        assert shown(app.view)[0] == "nothing"


async def test_no_colour_means_no_colour(tmp_path, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    path = tmp_path / "log"
    path.write_bytes(b"\x1b[31mred\x1b[0m\n")
    app = app_on(path)
    async with app.run_test(size=(80, 5)) as pilot:
        app.view.poll()
        await pilot.pause()
        colour = style_of(app.view, 0, "red").color.get_truecolor()
        assert colour.red == colour.green == colour.blue


async def test_a_screen_without_a_terminal_is_never_behind(log):
    app = app_on(log)
    async with app.run_test():
        assert not screen_is_behind(app)


async def test_a_very_long_log_costs_as_little_as_a_short_one(tmp_path):
    # M10: many lines at once, and one line of 5 MB.
    path = tmp_path / "log"
    path.write_bytes(b"x" * (5 << 20) + b"\n" + b"[rank0] step\n" * 200_000)
    app = app_on(path)
    async with app.run_test(size=(80, 24)) as pilot:
        while app.view.poll():
            pass
        assert app.view.lines == 200_001
        await pilot.press("home")
        assert shown(app.view)[:2] == ["…" + "x" * 77 + "…", "[rank0] step"]
