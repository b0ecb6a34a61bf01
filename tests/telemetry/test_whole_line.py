"""A long line is printed as `plain` has it, though it is read in pieces: judged by `plain` of all its bytes."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from prl_tui.telemetry import whole_line
from prl_tui.telemetry.escapes import plain
from prl_tui.telemetry.line_index import LINE_LIMIT, LineIndex, last_of
from prl_tui.telemetry.whole_line import WholeLine, is_all

ODD = st.sampled_from(
    [b"a", b"\r", b"\r", b" ", b"\t", "中".encode(), "é".encode(), b"\x1b[31m", b"\x1b]0;title\x07", b"\x1b", b"\x80", b"\xe4",
     b"\x1b]8;;x\x1b\\", "😀".encode(), b"   \r"]
)  # fmt: skip


def line_of(path, raw):
    path.write_bytes(b"before\n" + raw + b"\nafter\n")
    index = LineIndex(path)
    index.update(1 << 30)
    return index, WholeLine(index, 1)


@settings(max_examples=200)
@example(b"\x1b \x1b[31m", 1)
@example(b"\x1b]0;t\x1b[31m \x1b \x1b \x1b", 2)
@given(st.lists(ODD, max_size=40).map(b"".join), st.integers(1, 9))
def test_pieces_of_any_size_give_what_the_whole_gives(tmp_path_factory, raw, piece):
    patch = pytest.MonkeyPatch()
    patch.setattr(whole_line, "PIECE", piece)
    if b"\x1b" not in raw:  # one that is cut there is taken for text, so that nothing is lost
        patch.setattr(whole_line, "LOOKED_BACK", piece)
    try:
        index, line = line_of(tmp_path_factory.mktemp("w") / "log", raw)
        assert "".join(line.parts()) == plain(raw) == line.judged()
        index.close()
    finally:
        patch.undo()


@pytest.mark.parametrize(
    "raw",
    [b"x" * LINE_LIMIT, b"CONFIG {" + b"x" * 9000 + b"}", b"\r".join(b"%d" % n * 5000 for n in range(9)), b" " * 9000,
     b"said" + b"\r \r" * 9000, b"said\r" + b"s" * 9000 + b"\r" * 9000],
)  # fmt: skip
def test_a_row_that_counts_as_all_is_and_another_is_looked_up(tmp_path, raw):
    index, line = line_of(tmp_path / "log", raw)
    [row] = index.read_lines(1, 1)
    assert (plain(row) if is_all(row) else "".join(line.parts())) == plain(raw)


def test_of_a_line_over_the_limit_it_says_what_is_left_out_and_no_letter_is_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(whole_line, "LONGEST", 1000)
    index, line = line_of(tmp_path / "log", "中".encode() * 1000)
    shown = "".join(line.parts())
    assert shown == "中" * 166 + " [… left out of this line: 2000 bytes …] " + "中" * 167
    index.close()


def test_memory_does_not_grow_with_the_line(tmp_path):
    index, line = line_of(tmp_path / "log", b"loss 1.5 " * (30 << 20 >> 3))
    tracemalloc.start()
    length = sum(map(len, line.parts()))
    assert len(line.judged()) == 2 * whole_line.JUDGED + 1
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert length == 9 * (30 << 20 >> 3)
    assert most < 16 << 20
    index.close()


@pytest.mark.parametrize("letter", ["a", "é", "中", "😀"])
@pytest.mark.parametrize("count", [2730, 8190, 300_000])
@pytest.mark.parametrize("behind", range(4))
def test_no_row_of_an_index_begins_within_a_letter(tmp_path, letter, count, behind):
    raw = letter.encode() * count + b"." * behind
    index, _ = line_of(tmp_path / "log", raw)
    [row] = index.read_lines(1, 1)
    assert raw.endswith(row)
    assert min(len(raw), LINE_LIMIT) <= len(row) < LINE_LIMIT + 4
    assert set(row.decode()) <= {letter, "."}
    index.close()


def test_bytes_that_are_no_letters_are_cut_where_they_were_wanted():
    assert last_of(b"\x80" * 20, 7) == b"\x80" * 7
    assert last_of(b"", 7) == b""
