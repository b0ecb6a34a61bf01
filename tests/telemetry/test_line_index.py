import os
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prl_tui.telemetry.line_index import BLOCK, LineIndex


def all_lines(index, limit=8192):
    return index.read_lines(0, index.lines, limit)


def expected(text):
    lines = text.split(b"\n")
    return lines[:-1] if lines[-1] == b"" else lines


def test_a_file_that_does_not_exist_yet_is_an_empty_index_that_appears_later(tmp_path):
    path = tmp_path / "later" / "output.log"
    index = LineIndex(path)
    assert index.update() == 0
    assert (index.lines, index.read_lines(0, 10), index.problem) == (0, [], None)
    path.parent.mkdir()
    path.write_bytes(b"one\ntwo")
    assert index.update() == 7
    assert all_lines(index) == [b"one", b"two"]
    assert index.complete_lines == 1


def test_update_reads_no_more_than_its_budget_and_goes_on_next_time(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"0123456789\n" * 20_000)
    index = LineIndex(path)
    assert index.update(100_000) == 100_000
    assert index.lines == 100_000 // 11 + 1
    assert index.update(1 << 20) == 120_000
    assert index.lines == 20_000
    assert index.update() == 0


def test_truncation_starts_a_new_generation(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"a\nb\nc\n")
    index = LineIndex(path)
    index.update()
    generation = index.generation
    path.write_bytes(b"x\n")
    index.update()
    assert all_lines(index) == [b"x"]
    assert index.generation > generation


def test_truncated_and_grown_past_the_old_size_between_two_looks(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"old\n" * 10)
    index = LineIndex(path)
    index.update()
    path.write_bytes(b"new line\n" * 100)
    index.update()
    assert all_lines(index) == [b"new line"] * 100


def test_rewritten_to_the_same_size_is_noticed(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"first\nrun\n")
    index = LineIndex(path)
    index.update()
    with path.open("r+b") as file:
        file.write(b"other\nrun\n")
    index.update()
    assert all_lines(index) == [b"other", b"run"]


def test_rotation_shows_the_old_file_until_the_new_one_is_there(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"old\n")
    index = LineIndex(path)
    index.update()
    path.rename(tmp_path / "log.1")
    with (tmp_path / "log.1").open("ab") as file:
        file.write(b"last words\n")
    index.update()
    assert all_lines(index) == [b"old", b"last words"]
    path.write_bytes(b"new\n")
    index.update()
    assert all_lines(index) == [b"new"]


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_regular_file_is_a_problem_and_does_not_block(tmp_path, make):
    make(tmp_path / "log")
    index = LineIndex(tmp_path / "log")
    assert index.update() == 0
    assert isinstance(index.problem, OSError)
    assert index.lines == 0


def test_a_window_in_a_line_of_many_megabytes_hands_out_its_end_only(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"before\n" + b"\r".join(b"Train: %d" % n for n in range(500_000)) + b"\nafter\nopen")
    index = LineIndex(path)
    while index.update():
        pass
    first, giant, after, tail = index.read_lines(0, 10, 100)
    assert (first, after, tail) == (b"before", b"after", b"open")
    assert giant.endswith(b"\rTrain: 499999")
    assert len(giant) == 100
    assert index.read_lines(1, 1, 20)[0].endswith(b"Train: 499999")
    assert index.read_lines(2, 1) == [b"after"]


def test_lines_out_of_range_are_none(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"a\nb\n")
    index = LineIndex(path)
    index.update()
    assert index.read_lines(2, 5) == index.read_lines(-1, 5) == index.read_lines(0, 0) == []
    assert index.read_lines(1, 5) == [b"b"]


LINES = st.lists(
    st.one_of(
        st.binary(max_size=40).map(lambda line: line.replace(b"\n", b" ")),
        st.integers(0, 3 * BLOCK).map(lambda size: b"x" * size),
    ),
    max_size=60,
)


@settings(max_examples=60, deadline=None)
@given(lines=LINES, final_newline=st.booleans(), seed=st.integers(0, 1 << 30))
def test_any_window_equals_str_split_however_the_file_grew(tmp_path_factory, lines, final_newline, seed):
    text = b"\n".join(lines) + (b"\n" if final_newline and lines else b"")
    path = Path(tmp_path_factory.mktemp("index")) / "log"
    chance = random.Random(seed)
    index = LineIndex(path)
    position = 0
    with path.open("wb", buffering=0) as file:
        while position < len(text):
            size = chance.choice([1, 7, 100, 4096, BLOCK - 1, BLOCK, 3 * BLOCK])
            file.write(text[position : position + size])
            position += size
            if chance.random() < 0.6:
                index.update(chance.choice([1, 1000, 1 << 20]))
    while index.update():
        pass
    wanted = expected(text)
    assert index.lines == len(wanted)
    for _ in range(8):
        first, count = chance.randrange(len(wanted) + 2), chance.randrange(1, 60)
        assert index.read_lines(first, count, 4 * BLOCK) == wanted[first : first + count]
        cut = index.read_lines(first, count, 10)
        assert [row[-10:] for row in cut] == [line[-10:] for line in wanted[first : first + count]]
        assert all(len(row) < 14 for row in cut)
    index.close()


@settings(max_examples=40, deadline=None)
@given(
    contents=st.lists(st.binary(min_size=1, max_size=400), min_size=1, max_size=6),
    replaces=st.lists(st.booleans(), min_size=6, max_size=6),
)
def test_after_any_replacement_the_index_is_that_of_the_file_as_it_is(tmp_path_factory, contents, replaces):
    path = Path(tmp_path_factory.mktemp("index")) / "log"
    index = LineIndex(path)
    for text, replace in zip(contents, replaces, strict=False):
        if replace:
            path.unlink(missing_ok=True)
        path.write_bytes(text)
        index.update()
        assert all_lines(index) == expected(text)
    index.close()


def test_short_and_long_lines_in_turn_are_counted_alike(tmp_path):
    """Two ways of counting, each for the lines that it is faster for: `bytes.splitlines` is the judge."""
    chance = random.Random(7)
    path = tmp_path / "log"
    parts = [b"\n" * chance.randrange(1, 9) * 20_000, (b"x" * 300 + b"\n") * 900, b"y" * (3 * BLOCK), b"z\n" * 90_000]
    whole = b"".join(part for _ in range(3) for part in chance.sample(parts, len(parts))) + b"\n"
    path.write_bytes(whole)
    index = LineIndex(path)
    while index.update(chance.randrange(1, 5 * BLOCK)):
        pass
    lines = whole.split(b"\n")[:-1]
    assert index.lines == index.complete_lines == len(lines)
    for first in (0, 1, *(chance.randrange(len(lines)) for _ in range(60)), len(lines) - 1):
        assert index.read_lines(first, 1) == [lines[first][-8192:]]
