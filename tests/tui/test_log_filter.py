"""A log view that counts what is searched for and shows only some lines, on real files."""

from __future__ import annotations

import time

import pytest

from prl_tui.telemetry.line_index import LineIndex
from prl_tui.telemetry.line_tests import search_test
from prl_tui.telemetry.tail_first import FAR, TailFirst
from prl_tui.tui.widgets.log_filter import Shown
from prl_tui.tui.widgets.log_view import LogView
from tests.tui.test_log_view import LogApp, append, shown, until

LEVELS = [b"INFO up", b"loss 1", b"UserWarning: w", b"loss 2", b"ERROR bad", b"loss 3"]


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "output.log"
    path.write_bytes(b"".join(b"%s %d\n" % (b"loss" if n % 10 == 7 else b"line", n) for n in range(1000)))
    return path


async def polled(pilot, view, holds):
    """Look as the screen does until that holds."""

    def look():
        view.poll()
        return holds()

    await until(pilot, look)


async def test_a_search_says_how_many_lines_match_and_which_is_shown(log):
    app = LogApp(LogView(LineIndex(log)))
    view = app.view
    async with app.run_test(size=(80, 24)) as pilot:
        view.poll()
        assert view.hits == ""
        view.search("loss")
        await polled(pilot, view, lambda: view.hits == "98 of 100")  # the first of those in sight
        for key, place in (("n", 99), ("n", 100), ("n", 1), ("N", 100)):
            await pilot.press(key)
            await until(pilot, lambda place=place: view.hits == f"{place} of 100")
        append(log, b"loss more\nunfinished loss")
        await polled(pilot, view, lambda: view.hits == "100 of 102")
        await pilot.press("n")
        await until(pilot, lambda: view.hits == "101 of 102")
        await pilot.press("n")
        await until(pilot, lambda: view.hits == "102 of 102")
        view.search("loss more")
        await polled(pilot, view, lambda: view.hits == "1 of 1")
        view.search("nowhere")
        await polled(pilot, view, lambda: view.hits == "0 matches")
        view.search("re:^l.*[0-4]7$")
        await polled(pilot, view, lambda: view.hits.endswith(" of 49"))
        view.search("")
        assert view.hits == ""


async def test_while_older_lines_are_not_counted_yet_the_number_is_a_lower_bound(log, monkeypatch):
    app = LogApp(LogView(LineIndex(log)))
    view = app.view
    async with app.run_test(size=(80, 24)):
        view.poll()
        view.search("loss")
        view._count.stop()
        view._count.join()
        view._count.first = 1  # as before its last block came
        assert view.hits.startswith("≥ ")


async def test_a_replaced_log_is_counted_anew(log):
    app = LogApp(LogView(LineIndex(log)))
    view = app.view
    async with app.run_test(size=(80, 24)) as pilot:
        view.poll()
        view.search("loss")
        await polled(pilot, view, lambda: view.hits.endswith("of 100"))
        log.write_bytes(b"loss\n")
        await polled(pilot, view, lambda: view.hits == "1 match")


async def test_a_goes_to_the_next_warning_and_e_to_the_next_error(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"".join(line + b"\n" for line in LEVELS * 100))
    app = LogApp(LogView(LineIndex(path)))
    view = app.view
    async with app.run_test(size=(80, 24)) as pilot:
        view.poll()
        await pilot.press("home")
        for key, line in (("a", 2), ("a", 8), ("e", 10), ("A", 8), ("A", 2), ("E", 598)):
            await pilot.press(key)
            await until(pilot, lambda line=line: view.current_line == line)


async def test_a_jump_to_an_error_says_which_of_how_many_it_is_until_the_end_is_followed(tmp_path):
    """100 errors and 100 warnings, counted on a thread as those of a search are."""
    path = tmp_path / "log"
    path.write_bytes(b"".join(line + b"\n" for line in LEVELS * 100))
    app = LogApp(LogView(LineIndex(path)))
    view = app.view
    async with app.run_test(size=(80, 24)) as pilot:
        view.poll()
        assert view.hits == ""
        await pilot.press("home")
        steps = [("e", "error 1 of 100"), ("e", "error 2 of 100"), ("a", "warning 3 of 100"), ("E", "error 2 of 100")]
        for key, said in steps:
            await pilot.press(key)
            await polled(pilot, view, lambda said=said: view.hits == said)
        append(path, b"ERROR later\n")
        await polled(pilot, view, lambda: view.hits == "error 2 of 101")
        view.go_to_line(3)
        assert view.hits == "101 errors"
        view.search("loss 1")
        await polled(pilot, view, lambda: view.hits.endswith(" of 100") and "error" not in view.hits)
        await pilot.press("e")
        await polled(pilot, view, lambda: view.hits.startswith("error ") and view.hits.endswith(" of 101"))
        await pilot.press("n")
        await polled(pilot, view, lambda: "error" not in view.hits and view.hits.endswith(" of 100"))
        await pilot.press("e")
        view._level_count.stop()
        view._level_count.join()
        view._level_count.first = 1  # as before its last block came
        view.follow()
        assert view.hits == "100 matches", "at the end it is no matter which error one was at"
        view.go_to_line(3)
        assert view.hits.startswith("≥ ")
        assert view.hits.endswith(" errors")
        scan = view._level_count
    scan.join(5)
    assert not scan._thread.is_alive()


async def test_only_lines_that_match_are_shown_with_their_numbers_and_new_ones_come(log):
    app = LogApp(LogView(LineIndex(log)))
    view = app.view
    async with app.run_test(size=(80, 10)) as pilot:
        view.poll()
        view.narrow(Shown(only=search_test("loss")))
        await polled(pilot, view, lambda: view.lines == 100)
        await pilot.pause()
        assert view.following
        assert shown(view)[-2:] == [" 988 loss 987", " 998 loss 997"]
        append(log, b"line\nloss new\n" * 5000)
        await polled(pilot, view, lambda: view.lines == 5100)
        assert shown(view)[-1] == "11000 loss new", "numbers of five digits have room"
        await pilot.press("home")
        await polled(pilot, view, lambda: shown(view)[0] == "    8 loss 7")
        append(log, b"loss\n")
        await polled(pilot, view, lambda: view.new_lines == 1)
        assert shown(view)[0] == "    8 loss 7"
        view.narrow(Shown(without=search_test("l")))
        await polled(pilot, view, lambda: view.filtered.scan.counted)
        await pilot.pause()
        assert shown(view)[0] == "No line matches."


async def test_all_lines_are_back_near_the_place_where_one_was(log):
    app = LogApp(LogView(LineIndex(log)))
    view = app.view
    async with app.run_test(size=(80, 10)) as pilot:
        view.poll()
        view.narrow(Shown(only=search_test("loss")))
        await polled(pilot, view, lambda: view.lines == 100)
        view.go_to_line(50)
        view.narrow(Shown())
        await pilot.pause()
        assert view.current_line == 507
        assert "loss 507" in "\n".join(shown(view))
        assert shown(view)[0] == "line 504"


async def test_l_goes_through_the_levels(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"".join(line + b"\n" for line in LEVELS))
    app = LogApp(LogView(LineIndex(path)))
    view = app.view
    async with app.run_test(size=(80, 10)) as pilot:
        view.poll()
        for wanted in (["ERROR bad"], ["UserWarning: w", "ERROR bad"], ["INFO up", "UserWarning: w", "ERROR bad"]):
            view.action_level()
            await polled(pilot, view, lambda wanted=wanted: view.lines == len(wanted) and view.filtered.scan.counted)
            await pilot.pause()
            assert [row[5:] for row in shown(view) if row.strip()] == wanted
        view.action_level()
        assert view.filtered is None
        assert len([row for row in shown(view) if row]) == len(LEVELS)


@pytest.mark.parametrize("wrapped", [False, True])
async def test_search_counts_and_goes_within_what_is_shown(log, wrapped):
    append(log, b"x" * 200 + b" loss end\n")
    app = LogApp(LogView(LineIndex(log)))
    view = app.view
    async with app.run_test(size=(80, 10)) as pilot:
        view.poll()
        view.wrap(wrapped)
        view.narrow(Shown(only=search_test("loss")))
        await polled(pilot, view, lambda: view.lines == 101)
        await pilot.pause()
        rows = shown(view)
        if wrapped:
            assert rows[-3] == "1001 " + "x" * 74
            assert rows[-1] == "     " + "x" * 52 + " loss end"
        view.search("7")
        await polled(pilot, view, lambda: view.hits.endswith("of 100"))
        view.search("loss 77")
        await polled(pilot, view, lambda: view.hits == "1 of 2")
        assert view.number_of(view.current_line) == 77
        await pilot.press("n")
        await until(pilot, lambda: view.hits == "2 of 2")
        assert view.number_of(view.current_line) == 777
        await pilot.press("e")
        await until(pilot, lambda: ("searched", "", None, False) in app.messages)


async def test_another_log_is_filtered_and_counted_alike_and_threads_end(log, tmp_path):
    other = tmp_path / "other.log"
    other.write_bytes(b"a\nloss here\nb\n")
    app = LogApp(LogView(LineIndex(log)))
    view = app.view
    async with app.run_test(size=(80, 10)) as pilot:
        view.poll()
        view.narrow(Shown(only=search_test("loss")))
        view.search("loss")
        scans = [view._count, view.filtered.scan]
        view.show(LineIndex(other))
        await polled(pilot, view, lambda: view.lines == 1 and view.hits in ("1 of 1", "1 match"))
        assert shown(view)[0] == "   2 loss here"
        scans += [view._count, view.filtered.scan]
    for scan in scans:
        scan.join(5)
        assert not scan._thread.is_alive()


@pytest.mark.slow
async def test_a_large_log_can_be_filtered_while_its_end_is_all_that_is_counted(tmp_path):
    path = tmp_path / "log"
    count = FAR // 64 + 100_000
    path.write_bytes(b"".join((b"%s %d " % (b"loss" if n % 1000 == 0 else b"line", n)).ljust(63, b".") + b"\n"
                              for n in range(count)))  # fmt: skip
    app = LogApp(LogView(TailFirst.of(path)))
    view = app.view
    async with app.run_test(size=(80, 10)) as pilot:
        view.poll()
        view.narrow(Shown(only=search_test("loss")))
        await polled(pilot, view, lambda: view.lines)
        await pilot.pause()
        last = (count - 1) // 1000 * 1000
        assert f"{last + 1} loss {last} " in shown(view)[view.lines - 1 if view.lines < 10 else -1]
        await pilot.press("up")
        await polled(pilot, view, lambda: view.filtered.scan.done)
        assert view.lines == count // 1000 + 1
        view.narrow(Shown())
        await pilot.pause()
        assert view.log_source.whole


class SlowApp(LogApp):
    def __init__(self, view):
        super().__init__(view)
        self.reasons = []

    def on_log_view_gave_up(self, event):
        self.reasons.append(event.reason)


@pytest.mark.parametrize("pattern", [".*a.*a.*a.*q", "(a+)+$", "(a|a)*$"])
@pytest.mark.parametrize("where", ["search", "only", "without"])
async def test_an_expression_that_is_too_slow_is_taken_away_while_keys_answer(tmp_path, pattern, where):
    path = tmp_path / "output.log"
    path.write_bytes(b"start\n" * 100 + (b"a" * 8000 + b"!\n") * 200 + b"end\n" * 100)
    app = SlowApp(LogView(LineIndex(path)))
    view = app.view
    async with app.run_test(size=(80, 24)) as pilot:
        view.poll()
        if where == "search":
            view.search(f"re:{pattern}")
        else:
            view.narrow(Shown(**{where: search_test(f"re:{pattern}")}))
        slowest = 0.0

        def look():
            nonlocal slowest
            began = time.monotonic()
            view.poll()
            slowest = max(slowest, time.monotonic() - began)
            return bool(app.reasons)

        await until(pilot, look)
        await pilot.press("home")
        await until(pilot, lambda: view.scroll_offset.y == 0)
        assert slowest < 1.5
        assert app.reasons[0].startswith(f"{pattern}: takes too long")
        assert (view.needle, bool(view.shown), view.filtered, view.hits) == ("", False, None, "")


@pytest.mark.parametrize("shows", [Shown(), Shown(without=search_test("nothing like it"))], ids=["all", "filtered"])
@pytest.mark.parametrize("end", [b"", b"unfinished"])
async def test_lines_that_were_there_before_a_follow_was_let_go_are_not_new(tmp_path, shows, end):
    """A finished log of three blocks of the filter, taken in a few kilobytes at a time; what came later is new."""
    path = tmp_path / "output.log"
    path.write_bytes(b"line\n" * 20_000 + end)
    app = LogApp(LogView())
    view = app.view
    async with app.run_test(size=(80, 10)) as pilot:
        view.narrow(shows)
        view.show(TailFirst.of(path))
        await pilot.press("home")
        assert not view.following
        total = 20_000 + bool(end)

        def looked(lines):
            view.poll(4096)
            return view.lines == lines and not view.source.catching_up

        await until(pilot, lambda: looked(total))
        await pilot.pause()
        assert [said for said in app.messages if said[0] == "new"] == []
        append(path, b" is over\nnew\n" if end else b"new\n")
        await until(pilot, lambda: looked(total + 1))
        await until(pilot, lambda: view.new_lines == 1)


@pytest.mark.parametrize("away", ["", "down"])
async def test_the_first_line_that_was_asked_for_stays_in_sight_when_older_ones_come_above_it(tmp_path, away):
    """Of a log that is shown from its end; who has moved on since stays at the line where he is."""
    path = tmp_path / "output.log"
    count = FAR // 64 + 20_000
    path.write_bytes(b"".join((b"line %d " % n).ljust(63, b".") + b"\n" for n in range(count)))
    app = LogApp(LogView(TailFirst.of(path)))
    view = app.view
    async with app.run_test(size=(80, 10)) as pilot:
        view.poll()
        assert not view.source.whole
        await pilot.press("home", *([away] if away else []))
        await pilot.pause()
        before = shown(view)[0]
        await polled(pilot, view, lambda: view.source.whole)
        await pilot.pause()
        assert view.lines == count
        assert shown(view)[0] == (before if away else "line 0 ".ljust(63, "."))
