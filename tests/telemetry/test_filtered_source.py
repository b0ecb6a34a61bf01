"""A filtered log and the thread that finds its lines, judged by the same filter on a plain list of lines."""

from __future__ import annotations

import time

import pytest

from prl_tui.telemetry.filtered_source import FilteredSource
from prl_tui.telemetry.line_index import LineIndex
from prl_tui.telemetry.line_set import BLOCK_LINES
from prl_tui.telemetry.line_tests import LineFilter, TextTest
from prl_tui.telemetry.merged_index import MergedIndex
from prl_tui.telemetry.tail_first import FAR, TailFirst

ONLY = LineFilter(only=(TextTest("loss"),))


def append(path, text):
    with path.open("ab") as file:
        file.write(text)


def until(source, holds, what):
    """Look at the source as a view does, until that holds; every look keeps what is in sight in its place."""
    end = time.monotonic() + 20
    while not holds():
        moved, generation = source.moved, source.generation
        before = source.read_lines(0, min(3, source.complete_lines))
        source.update()
        if source.generation == generation and before:
            assert source.read_lines(source.moved - moved, len(before)) == before, "what moved is as far as it says"
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.005)


def everything(source):
    return list(zip(source.numbers(0, source.lines), source.read_lines(0, source.lines), strict=True))


@pytest.fixture
def opened():
    sources = []

    def open_(base, wanted=ONLY):
        sources.append(FilteredSource(base, wanted))
        return sources[-1]

    yield open_
    for source in sources:
        source.close()
        source.scan.join(5)
        assert not source.scan._thread.is_alive()


@pytest.mark.parametrize("count", [0, 1, 1000, BLOCK_LINES, 3 * BLOCK_LINES + 17])
def test_the_lines_that_pass_keep_their_numbers_and_new_ones_come(tmp_path, opened, count):
    log = tmp_path / "log"
    lines = [b"loss %d" % n if n % 7 == 3 else b"other %d" % n for n in range(count)]
    log.write_bytes(b"".join(line + b"\n" for line in lines))
    base = LineIndex(log)
    base.update()
    source = opened(base)
    until(source, lambda: source.scan.done, "all of it")
    assert everything(source) == [(n, line) for n, line in enumerate(lines) if b"loss" in line]
    append(log, b"more\na loss\n" * 9000)
    lines += [b"more", b"a loss"] * 9000
    until(source, lambda: source.lines and source.scan.done and source.base.lines == len(lines), "the new ones")
    until(source, lambda: source.lines == sum(b"loss" in line for line in lines), "those that pass")
    assert everything(source) == [(n, line) for n, line in enumerate(lines) if b"loss" in line]
    assert source.place_of(count) == sum(b"loss" in line for line in lines[:count])


def test_an_unfinished_line_passes_as_it_is_now(tmp_path, opened):
    log = tmp_path / "log"
    log.write_bytes(b"loss 1\nother\nloss 2 \rno")
    source = opened(LineIndex(log))
    until(source, lambda: source.lines == 1, "the complete one")
    append(log, b"\rloss 50%")
    until(source, lambda: source.lines == 2, "the bar")
    assert source.numbers(0, 5) == [0, 2]
    append(log, b"\rover")
    until(source, lambda: source.lines == 1, "the bar gone")
    append(log, b" loss\n")
    until(source, lambda: source.complete_lines == 2, "the finished line")
    assert [raw.split(b"\r")[-1] for raw in source.read_lines(0, 9)] == [b"loss 1", b"over loss"]


def test_a_replaced_log_is_filtered_anew(tmp_path, opened):
    log = tmp_path / "log"
    log.write_bytes(b"loss old\n" * 30000)
    source = opened(LineIndex(log))
    until(source, lambda: source.lines == 30000, "the old ones")
    generation = source.generation
    log.write_bytes(b"x\nloss new\n")
    until(source, lambda: source.lines == 1 and source.generation > generation, "the new one")
    assert everything(source) == [(1, b"loss new")]
    append(log, b"loss again\n")
    until(source, lambda: source.lines == 2, "what comes then")


def test_files_that_are_merged_keep_their_order(tmp_path, opened):
    out, err = tmp_path / "out", tmp_path / "err"
    base = MergedIndex((out, err))
    source = opened(base)
    for n in range(50):
        append(out, b"loss o%d\nother\n" % n)
        source.update()
        append(err, b"loss e%d\n" % n)
        source.update()
    until(source, lambda: source.lines == 100, "all that pass")
    assert source.read_lines(0, 100) == [line for n in range(50) for line in (b"loss o%d" % n, b"loss e%d" % n)]


def test_a_large_log_is_counted_by_the_thread_and_its_end_comes_first(tmp_path, opened):
    log = tmp_path / "log"
    count = FAR // 64 + 100_000
    log.write_bytes(b"".join((b"%s %d " % (b"loss" if n % 100 == 0 else b"line", n)).ljust(63, b".") + b"\n"
                             for n in range(count)))  # fmt: skip
    base = TailFirst.of(log)
    base.update()
    assert not base.whole
    source = opened(base)
    until(source, lambda: source.lines, "the first ones")
    assert source.numbers(source.lines - 1, 1) == [(count - 1) // 100 * 100], "the last one that passes"
    until(source, lambda: source.scan.done, "all of it")
    assert source.numbers(0, source.lines) == list(range(0, count, 100))
    assert base.whole


def test_lines_of_megabytes_take_small_batches(tmp_path, opened):
    log = tmp_path / "log"
    log.write_bytes((b"x" * 3_000_000 + b" loss\n") * 20 + b"loss\n")
    source = opened(LineIndex(log))
    until(source, lambda: source.lines == 21, "all of them")
    assert source.read_lines(0, 1)[0].endswith(b"x loss")
