import random
import re
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from prl_tui.telemetry.followed_tail import FrameTail, LineTail


def append(path, text):
    with path.open("ab") as file:
        file.write(text)


def test_a_cut_last_line_waits_for_its_rest(tmp_path):
    path = tmp_path / "log"
    tail = LineTail(path)
    assert tail.poll(1000) == []
    append(path, b"one\ntw")
    assert tail.poll(1000) == [b"one"]
    assert tail.pending == b"tw"
    append(path, b"o\n\nthree\n")
    assert tail.poll(1000) == [b"two", b"", b"three"]


def test_a_line_without_end_keeps_memory_bounded(tmp_path):
    path = tmp_path / "log"
    append(path, b"x" * (3 << 20) + b"\nafter\n")
    tail = LineTail(path)
    lines = [line for _ in range(5) for line in tail.poll(1 << 20)]
    assert [len(line) for line in lines] == [1 << 20, 5]


def test_behind_says_whether_a_poll_left_something(tmp_path):
    path = tmp_path / "log"
    append(path, b"ab\n" * 10)
    tail = LineTail(path)
    tail.poll(10)
    assert tail.behind
    tail.poll(100)
    assert not tail.behind


def test_frames_know_the_line_of_the_file_they_stand_in(tmp_path):
    path = tmp_path / "log"
    append(path, b"nothing\nx\rbar 1\rbar 2\nplain\r\nbar 3\rrest")
    tail = FrameTail(path, re.compile(rb"bar"))
    frames = tail.poll(1000)
    assert [(frame.text, frame.line) for frame in frames] == [(b"bar 1", 1), (b"bar 2", 1), (b"bar 3", 3)]
    assert (tail.pending.text, tail.pending.line) == (b"rest", 3)


PARTS = st.lists(st.sampled_from([b"bar", b" ", b"a", b"\r", b"\n", b"\r\n", b"bar 9", b"longer text"]), max_size=200)


@settings(max_examples=60, deadline=None)
@given(parts=PARTS, seed=st.integers(0, 1 << 30))
def test_frames_are_the_same_however_the_file_grew(tmp_path_factory, parts, seed):
    text = b"".join(parts) + b"\n"
    path = Path(tmp_path_factory.mktemp("frames")) / "log"
    chance = random.Random(seed)
    tail = FrameTail(path, re.compile(rb"bar"))
    found, position = [], 0
    while position < len(text):
        size = chance.choice([1, 2, 7, 50])
        append(path, text[position : position + size])
        position += size
        found += tail.poll(chance.choice([1, 5, 1000]))
    while tail.behind:
        found += tail.poll(1000)
    wanted = [
        (frame, number)
        for number, line in enumerate(text.split(b"\n"))
        for frame in line.split(b"\r")
        if b"bar" in frame
    ]
    assert [(frame.text, frame.line) for frame in found] == wanted
    tail.close()
