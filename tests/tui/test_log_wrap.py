"""Long lines of a log, wrapped: the end, the search and the keys work by rows, and only lines in sight are read."""

from __future__ import annotations

import random

import pytest
from rich.cells import cell_len
from textual.geometry import Region

from prl_tui.telemetry.line_index import LINE_LIMIT, LineIndex
from prl_tui.tui.widgets.log_view import LogView
from prl_tui.tui.widgets.log_wrap import WRAPPED_LIMIT, row_starts
from tests.tui.test_log_view import LogApp, append, shown, until

WIDTH, HEIGHT = 20, 10


def rows_of(lines):
    """The rows that these lines have at WIDTH cells."""
    found = []
    for line in lines:
        found += [line[at : at + WIDTH].rstrip() for at in range(0, max(1, len(line)), WIDTH)]
    return found


def text_of(n):
    return f"line {n} " + "abcdefghij" * (n % 7)


LINES = [text_of(n) for n in range(200)]


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "output.log"
    path.write_text("".join(f"{line}\n" for line in LINES))
    return path


def app_on(path):
    return LogApp(LogView(LineIndex(path)))


SIZE = (WIDTH + 1, HEIGHT)  # one column is the scroll bar's


@pytest.mark.parametrize(
    ("text", "width", "starts"),
    [
        ("", 5, [0]),
        ("abcde", 5, [0]),
        ("abcdef", 5, [0, 5]),
        ("损失损", 5, [0, 4]),
        ("a损失损", 5, [0, 5]),
        ("损", 1, [0]),
    ],
)
def test_rows_begin_where_the_one_before_is_full_and_halve_no_wide_character(text, width, starts):
    assert list(row_starts(text, width)) == starts


async def test_w_wraps_at_the_end_and_back(log):
    app = app_on(log)
    async with app.run_test(size=SIZE) as pilot:
        app.view.poll()
        await pilot.press("w")
        assert shown(app.view) == rows_of(LINES)[-HEIGHT:]
        assert app.view.following
        append(log, b"new " + b"0123456789" * 5 + b"\n")
        app.view.poll()
        assert shown(app.view)[-3:] == ["new 0123456789012345", "67890123456789012345", "67890123456789"]
        await pilot.press("w")
        assert shown(app.view)[-1] == "new 012345678901234…"
        assert shown(app.view)[-2] == LINES[-1][: WIDTH - 1] + "…"


async def test_every_row_is_passed_on_the_way_up_and_down(log):
    every = rows_of(LINES)
    app = app_on(log)
    async with app.run_test(size=SIZE) as pilot:
        app.view.poll()
        await pilot.press("w")
        at = len(every) - HEIGHT
        for by in [-1] * 40 + [-HEIGHT] * 5 + [3] * 20 + [1] * 20:
            app.view.move(by)
            at += by
            assert shown(app.view) == every[at : at + HEIGHT], f"{by} rows to {at}"
            assert not app.view.following
        await pilot.press("up", "down", "pageup")
        assert shown(app.view) == every[at - HEIGHT : at]
        await pilot.press("home")
        assert shown(app.view) == every[:HEIGHT]
        await pilot.press("up")
        assert shown(app.view) == every[:HEIGHT]
        await pilot.press("end")
        assert shown(app.view) == every[-HEIGHT:]
        assert app.view.following


async def test_scrolling_down_by_rows_follows_at_the_end_only(log):
    app = app_on(log)
    async with app.run_test(size=SIZE) as pilot:
        app.view.poll()
        await pilot.press("w", "up", "up")
        assert not app.view.following
        append(log, b"more\n")
        app.view.poll()
        assert app.view.new_lines == 1
        await pilot.press("down", "down")
        assert not app.view.following, "one row is still below"
        await pilot.press("down")
        assert app.view.following
        assert shown(app.view)[-1] == "more"


async def test_a_hit_in_a_late_row_of_a_long_line_is_in_sight_and_marked(tmp_path):
    path = tmp_path / "log"
    path.write_text("x\n" * 50 + "y" * 1000 + "needle\n" + "z\n" * 50)
    app = app_on(path)
    async with app.run_test(size=SIZE) as pilot:
        app.view.poll()
        await pilot.press("w")
        app.view.search("needle", backwards=True)
        await until(pilot, lambda: app.messages)
        row = next(n for n, text in enumerate(shown(app.view)) if "needle" in text)
        strip = app.view.render_lines(Region(0, row, WIDTH, 1))[0]
        found = next(segment for segment in strip if "needle" in segment.text)
        plain = next(
            segment for segment in app.view.render_lines(Region(0, row - 1, WIDTH, 1))[0] if "y" in segment.text
        )
        assert found.style.bgcolor != plain.style.bgcolor
        assert app.view.current_line == 50


async def test_a_line_higher_than_the_view_is_read_to_its_end(tmp_path):
    path = tmp_path / "log"
    path.write_text("".join(f"{n:04d}" for n in range(200)) + "\nlast\n")
    app = app_on(path)
    async with app.run_test(size=SIZE) as pilot:
        app.view.poll()
        await pilot.press("w")
        assert shown(app.view)[-2:] == ["01950196019701980199", "last"]
        await pilot.press("home")
        assert shown(app.view)[0] == "00000001000200030004"
        seen = set()
        for _ in range(60):
            seen |= set(shown(app.view))
            await pilot.press("down")
        assert len(seen) == 41


async def test_wide_characters_and_colours_are_whole_in_every_row(tmp_path):
    path = tmp_path / "log"
    line = "损失loss" * 9
    path.write_text(f"\x1b[31m{line}\x1b[0m\n")
    app = app_on(path)
    async with app.run_test(size=SIZE) as pilot:
        app.view.poll()
        await pilot.press("w")
        rows = shown(app.view)
        assert "".join(rows) == line
        strips = app.view.render_lines(Region(0, 0, WIDTH, HEIGHT))
        assert all(cell_len(strip.text) == WIDTH for strip in strips)


async def test_a_resized_view_wraps_anew_and_the_end_stays(log):
    app = app_on(log)
    async with app.run_test(size=SIZE) as pilot:
        app.view.poll()
        await pilot.press("w")
        await pilot.resize_terminal(41, 7)
        await pilot.pause()
        assert shown(app.view)[-1].endswith(LINES[-1][-5:])
        await pilot.press("up", "pageup", "down")
        assert len(shown(app.view)) == 7


async def test_a_huge_log_reads_only_what_is_in_sight(tmp_path):
    path = tmp_path / "huge.log"
    rng = random.Random(1)
    with path.open("w") as file:
        for n in range(300_000):
            file.write(f"{n} " + "x" * rng.randrange(120) + "\n")
    app = app_on(path)
    async with app.run_test(size=SIZE) as pilot:
        while app.view.poll(1 << 26):
            pass
        source, read = app.view.source, []
        every = source.read_lines
        source.read_lines = lambda first, count, *more: (read.append(count), every(first, count, *more))[1]
        await pilot.press("w")
        for key in ("pageup", "up", "pagedown", "home", "end"):
            await pilot.press(key)
        app.view.go_to_line(150_000, 0)
        await pilot.pause()
        assert any(text.startswith("150000 ") for text in shown(app.view))
        assert sum(read) < 2000, "lines asked for, with six screens drawn"


LONG = [f"word{n} " for n in range(1700)]


@pytest.mark.parametrize("colour", ["", "\x1b[31m"])
async def test_a_line_of_many_kilobytes_is_there_whole_where_it_is_wrapped(tmp_path, colour):
    path = tmp_path / "log"
    line = "".join(LONG)
    path.write_text(f"first\n{colour}{line}\n")
    app = LogApp(LogView(LineIndex(path)))
    view = app.view
    async with app.run_test(size=SIZE) as pilot:
        view.poll()
        await pilot.press("home")
        assert shown(view)[1] == f"…{line[-LINE_LIMIT + 1 :][: WIDTH - 2]}…", (
            "its last 8 KiB, and that there is more on both sides"
        )
        await pilot.press("w", "home")
        seen = shown(view)
        while not view.following:
            await pilot.press("pagedown")
            await pilot.pause()
            rows = shown(view)
            seen += rows if not view.following else rows[-(len(rows_of(["first", line])) - len(seen)) :]
        assert seen == rows_of(["first", line])
        await pilot.press("n")  # no error: nothing moves
        assert "…" not in "".join(seen)


async def test_what_is_left_out_before_a_wrapped_line_has_a_sign_too(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(
        b"x" * (WRAPPED_LIMIT + 1) + b"\n" + b"y" * WRAPPED_LIMIT + b"\n" + b"1%\r" * WRAPPED_LIMIT + b"\n"
    )
    app = app_on(path)
    async with app.run_test(size=SIZE) as pilot:
        app.view.poll()
        await pilot.press("w", "home")
        assert shown(app.view)[:2] == ["…" + "x" * (WIDTH - 1), "x" * WIDTH]
        app.view.go_to_line(1)
        app.view._stand((1, 0))
        assert shown(app.view)[0] == "y" * WIDTH
        await pilot.press("end")
        assert shown(app.view)[-1] == "1%", "the last state of a bar is whole"
