import random
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from prl_tui.telemetry.merged_index import MergedIndex


def append(path, text):
    with path.open("ab") as file:
        file.write(text)


def all_lines(merged):
    return merged.read_lines(0, merged.lines)


def test_what_was_there_before_is_stdout_then_stderr_so_that_errors_are_at_the_end(tmp_path):
    out, err = tmp_path / "stdout.log", tmp_path / "stderr.log"
    out.write_bytes(b"o1\no2\n")
    err.write_bytes(b"e1\nTraceback\n")
    merged = MergedIndex((out, err))
    merged.update()
    assert all_lines(merged) == [b"o1", b"o2", b"e1", b"Traceback"]


def test_lines_that_come_while_somebody_watches_are_in_the_order_of_arrival(tmp_path):
    out, err = tmp_path / "stdout.log", tmp_path / "stderr.log"
    merged = MergedIndex((out, err))
    for number in range(3):
        append(err, b"e%d\n" % number)
        merged.update()
        append(out, b"o%d\n" % number)
        merged.update()
    assert all_lines(merged) == [b"e0", b"o0", b"e1", b"o1", b"e2", b"o2"]
    assert merged.read_lines(2, 3) == [b"e1", b"o1", b"e2"]
    assert [merged.line_of(err, n) for n in range(3)] == [0, 2, 4]
    assert merged.line_of(out, 7) is None


def test_an_unfinished_bar_stays_at_the_bottom_until_its_line_ends(tmp_path):
    out, err = tmp_path / "stdout.log", tmp_path / "stderr.log"
    merged = MergedIndex((out, err))
    append(err, b"\rTrain: 10%")
    merged.update()
    append(out, b"{'loss': 1}\n")
    merged.update()
    assert all_lines(merged) == [b"{'loss': 1}", b"\rTrain: 10%"]
    assert merged.line_of(err, 0) == 1
    append(err, b"\rTrain: 20%\n")
    append(out, b"more\n")
    merged.update()
    assert all_lines(merged) == [b"{'loss': 1}", b"more", b"\rTrain: 10%\rTrain: 20%"]


def test_a_replaced_file_starts_the_whole_list_again(tmp_path):
    out, err = tmp_path / "stdout.log", tmp_path / "stderr.log"
    out.write_bytes(b"o1\no2\n")
    err.write_bytes(b"e1\n")
    merged = MergedIndex((out, err))
    merged.update()
    generation = merged.generation
    err.write_bytes(b"E\n")
    merged.update()
    merged.update()
    assert all_lines(merged) == [b"o1", b"o2", b"E"]
    assert merged.generation > generation


def test_a_large_first_file_is_read_before_the_second_is_begun(tmp_path):
    out, err = tmp_path / "stdout.log", tmp_path / "stderr.log"
    out.write_bytes(b"o\n" * 1000)
    err.write_bytes(b"e\n" * 1000)
    merged = MergedIndex((out, err))
    while merged.update(150):
        pass
    assert all_lines(merged) == [b"o"] * 1000 + [b"e"] * 1000


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 1 << 30))
def test_each_stream_keeps_its_order_and_no_line_is_lost_or_doubled(tmp_path_factory, seed):
    folder = Path(tmp_path_factory.mktemp("merged"))
    chance = random.Random(seed)
    paths = (folder / "a", folder / "b")
    merged = MergedIndex(paths)
    written = [0, 0]
    for _ in range(60):
        which = chance.randrange(2)
        text = b"".join(b"%d:%d\n" % (which, written[which] + n) for n in range(chance.randrange(5)))
        written[which] += text.count(b"\n")
        append(paths[which], text)
        if chance.random() < 0.5:
            merged.update(chance.choice([3, 50, 1 << 20]))
    while merged.update():
        pass
    lines = all_lines(merged)
    for which in range(2):
        mine = [line for line in lines if line.startswith(b"%d:" % which)]
        assert mine == [b"%d:%d" % (which, n) for n in range(written[which])]
        for number in range(written[which]):
            assert lines[merged.line_of(paths[which], number)] == mine[number]
    assert len(lines) == sum(written)
    for first in range(0, len(lines), 7):
        assert merged.read_lines(first, 11) == lines[first : first + 11]
    merged.close()
