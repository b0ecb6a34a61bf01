"""A large log from its end: what is shown first, what its lines are called once all is counted, what runs away."""

from __future__ import annotations

import pytest

from prl_tui.telemetry import tail_first
from prl_tui.telemetry.followed_tail import SHORT_END, SHORT_HEAD
from prl_tui.telemetry.line_index import BLOCK, FROM_END, LineIndex
from prl_tui.telemetry.merged_index import MergedIndex
from prl_tui.telemetry.run_view import RunReader
from prl_tui.telemetry.tail_first import FAR, TailFirst


def line(number):
    return f"line {number:09d} ".encode().ljust(64, b".")


def write(path, first, count):
    with path.open("ab") as file:
        file.write(b"".join(line(number) + b"\n" for number in range(first, first + count)))


MANY = FAR // 64 + 100_000
"""Lines that are more than FAR."""


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "output.log"
    write(path, 0, MANY)
    return path


@pytest.fixture
def slowly(monkeypatch):
    """One step of a block's size an update: the end stands in sight for many of them."""
    monkeypatch.setattr(tail_first, "_SLICE", 0.0)

    def patch(source):
        whole, real = source._whole, source._whole.update
        monkeypatch.setattr(whole, "update", lambda budget: real(min(budget, 4 * BLOCK)))
        return source

    return patch


def test_the_end_is_there_after_one_update_and_the_rest_comes_above_it(log, slowly):
    source = slowly(TailFirst.of(log))
    source.update()
    shown = source.lines
    assert shown <= FROM_END // 64 + BLOCK // 64 + 1
    assert source.read_lines(shown - 1, 1) == [line(MANY - 1)]
    assert not source.whole
    before = source.generation
    looks = 0
    while source.update():
        looks += 1
        if source.moved:
            break
        assert source.read_lines(source.lines - 1, 1) == [line(MANY - 1)]
    assert looks > 10
    assert source.whole
    assert (source.lines, source.moved, source.generation) == (MANY, MANY - shown, before)
    assert source.read_lines(0, 2) == [line(0), line(1)]
    assert source.read_lines(source.moved + 7, 1) == [line(source.moved + 7)], "what stood at 7 stands there now"


def test_lines_that_come_meanwhile_are_counted_once(log, slowly):
    source = slowly(TailFirst.of(log))
    source.update()
    seventh = source.read_lines(7, 1)
    added = MANY
    while not source.whole:
        write(log, added, 10)
        added += 10
        source.update()
        if source.whole:
            break
        assert source.read_lines(source.lines - 1, 1) == [line(added - 1)]
    source.update()
    assert source.lines == added
    assert source.read_lines(source.moved + 7, 1) == seventh


def test_a_log_that_ran_away_is_at_its_end_at_once_where_somebody_looks_there(tmp_path):
    path = tmp_path / "output.log"
    write(path, 0, 1000)
    source = TailFirst.of(path)
    source.update()
    before = source.generation
    write(path, 1000, MANY)
    source.at_end = False
    source.update(BLOCK)
    assert (source.generation, source.whole) == (before, False), "who reads further up is not moved"
    source.at_end = True
    source.update()
    source.update()
    assert source.generation > before
    assert source.read_lines(source.lines - 1, 1) == [line(1000 + MANY - 1)]
    while source.update():
        pass
    assert (source.lines, source.whole) == (1000 + MANY, True)


@pytest.mark.parametrize("how", ["truncated", "replaced"])
def test_a_file_that_begins_anew_meanwhile_begins_anew(log, slowly, how):
    source = slowly(TailFirst.of(log))
    source.update()
    before = source.generation
    if how == "replaced":
        log.rename(log.with_suffix(".1"))
    else:
        log.write_bytes(b"")
    write(log, 5, 3)
    for _ in range(3):
        source.update()
    assert source.generation != before
    assert source.read_lines(0, 9) == [line(5), line(6), line(7)]
    assert (source.moved, source.whole) == (0, True)


def test_a_short_log_and_none_are_what_they_were(tmp_path):
    path = tmp_path / "output.log"
    source = TailFirst.of(path)
    assert (source.update(), source.lines, source.whole) == (0, 0, True)
    write(path, 0, 10)
    source.update()
    assert (source.lines, source.moved, source.whole) == (10, 0, True)


def test_the_two_files_of_a_rank_are_merged_as_without_it(log, tmp_path):
    errors = tmp_path / "stderr.log"
    write(errors, 0, 500)
    source = TailFirst.of(log, errors)
    source.update()
    assert source.read_lines(source.lines - 1, 1) == [line(499)]
    assert source.line_of(errors, 3) == MANY + 3
    merged = MergedIndex((log, errors))
    while merged.update():
        pass
    assert source.lines == merged.lines
    for first in (0, MANY - 2, MANY + 490):
        assert source.read_lines(first, 4) == merged.read_lines(first, 4)


def test_an_index_from_the_end_has_the_files_own_last_lines(log):
    whole, tail = LineIndex(log), LineIndex(log, from_end=True)
    while whole.update() or tail.update():
        pass
    above = whole.lines_above(tail)
    assert above + tail.lines == whole.lines
    for number in (1, 2, tail.lines // 2, tail.lines - 1):
        assert tail.read_lines(number, 1) == whole.read_lines(above + number, 1)


# --- a short look at a huge log ---------------------------------------------------------------------------------------


def test_a_short_look_reads_the_start_and_the_end_and_makes_up_no_line_number(tmp_path):
    path = tmp_path / "output.log"
    filler = SHORT_HEAD + SHORT_HEAD + SHORT_END
    count = filler // 65
    write(path, 0, 10)
    with path.open("ab") as file:
        file.write(b"{'loss': 3.0, 'global_step/max_steps': '1/9'}\n")
    write(path, 11, count)
    with path.open("ab") as file:
        file.write(b"{'loss': 2.0, 'global_step/max_steps': '5/9'}\n")
    write(path, 12 + count, count)
    with path.open("ab") as file:
        file.write(b"{'loss': 1.0, 'global_step/max_steps': '9/9'}\nRuntimeError: it broke\n")
    last = 10 + 1 + count + 1 + count + 1
    for short, rows in ((False, 3), (True, 2)):
        reader = RunReader(path, short=short)
        view = reader.poll()
        while view.behind:
            view = reader.poll()
        view = reader.poll(ended=True)
        assert (view.rows, view.progress.step, view.progress.total) == (rows, 9, 9)
        (mark,) = view.errors
        assert (mark.line, mark.text) == (-1 if short else last, "RuntimeError: it broke")
        reader.close()


def test_a_short_look_at_a_log_that_grows_goes_on_where_it_was(tmp_path):
    path = tmp_path / "output.log"
    write(path, 0, (SHORT_HEAD * 2 + SHORT_END) // 65 + 1000)
    reader = RunReader(path, short=True)
    while reader.poll().behind:
        pass
    with path.open("ab") as file:
        file.write(b"{'loss': 1.0, 'global_step/max_steps': '3/9'}\nand more\n")
    reader.poll()
    assert reader.poll(ended=True).progress.step == 3
