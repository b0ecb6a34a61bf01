"""A log as text for a file, judged by the lines that were written into it."""

from __future__ import annotations

import pytest

from prl_tui.telemetry.line_index import LineIndex
from prl_tui.telemetry.line_tests import LineFilter, TextTest
from prl_tui.telemetry.log_text import LONGEST, AnotherLogError, parts
from prl_tui.telemetry.tail_first import FAR, TailFirst


def never():
    return False


def test_lines_are_written_as_they_are_shown(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"a\n\x1b[31mloss\x1b[0m 1\n 1%\r 2% loss\n\xff\nend loss")
    index = LineIndex(path)
    index.update()
    assert b"".join(parts(index, None, True, never)).decode() == "a\nloss 1\n 2% loss\n�\nend loss\n"
    only = LineFilter(only=(TextTest("loss"),))
    assert b"".join(parts(index, only, True, never)).decode() == "loss 1\n 2% loss\nend loss\n"


def test_a_line_that_is_too_long_to_be_written_whole_has_a_sign_where_it_is_cut(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"a\n" + b"x" * (LONGEST + 5) + b"end\nb\n")
    index = LineIndex(path)
    index.update()
    first, long, last = b"".join(parts(index, None, True, never)).decode().splitlines()
    assert (first, last) == ("a", "b")
    assert long.startswith("…x")
    assert long.endswith("xend")
    assert len(long) == LONGEST + 1


@pytest.mark.parametrize("shown", [True, False])
def test_a_large_log_is_counted_first_and_written_in_small_parts(tmp_path, shown):
    path = tmp_path / "log"
    count = FAR // 64 + 100_000
    with path.open("wb") as file:
        file.writelines(b"%063d\n" % n for n in range(count))
    source = TailFirst.of(path)
    source.update()
    assert not source.whole
    got = []
    made = parts(source, LineFilter(only=(TextTest("777"),)), shown, lambda: source.update() < 0)
    for part in made:
        assert len(part) <= 256 * 64
        got.append(part)
    assert b"".join(got).split() == [b"%063d" % n for n in range(count) if b"777" in b"%063d" % n]


def test_a_log_that_begins_anew_or_that_nobody_wants_ends_it(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"line\n" * 1000)
    index = LineIndex(path)
    index.update()
    made = parts(index, None, True, never)
    next(made)
    path.write_bytes(b"x\n")
    index.update()
    with pytest.raises(AnotherLogError):
        next(made)
    with pytest.raises(AnotherLogError):
        list(parts(index, None, True, lambda: True))
