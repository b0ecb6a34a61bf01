import pytest

from prl_tui.telemetry.line_index import LineIndex
from prl_tui.telemetry.line_search import find_line
from prl_tui.telemetry.line_tests import ErrorTest, TextTest


def index_of(tmp_path, text):
    path = tmp_path / "log"
    path.write_bytes(text)
    index = LineIndex(path)
    while index.update():
        pass
    return index


def found(index, test, start, backwards=False):
    results = list(find_line(index, test, start, backwards))
    assert all(result is None for result in results[:-1])
    return results[-1] if results else None


def test_forwards_backwards_and_around_the_end(tmp_path):
    lines = [b"nothing %d" % n for n in range(5000)]
    lines[10] = lines[3000] = b"needle"
    index = index_of(tmp_path, b"\n".join(lines))
    test = TextTest("needle")
    assert found(index, test, 0) == 10
    assert found(index, test, 10) == 10
    assert found(index, test, 11) == 3000
    assert found(index, test, 3001) == 10
    assert found(index, test, 2999, backwards=True) == 10
    assert found(index, test, 4999, backwards=True) == 3000
    assert found(index, test, 9, backwards=True) == 3000
    assert found(index, TextTest("absent"), 77) is None


@pytest.mark.parametrize(
    ("needle", "line", "hit"),
    [
        ("loss", "LOSS is", True),
        ("Loss", "LOSS is", False),
        ("Loss", "a Loss", True),
        ("损失", "训练损失: 2", True),
        ("é", "É", True),
        ("[/INST]", "x [/INST] y", True),
        ("100%", "\x1b[1m10\x1b[0m0% done", True),
        ("31m", "\x1b[31mred", False),
        ("see link", "see \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", True),
    ],
)
def test_case_counts_only_with_capitals_and_escapes_are_not_seen(tmp_path, needle, line, hit):
    index = index_of(tmp_path, f"first\n{line}\nlast".encode())
    assert found(index, TextTest(needle), 0) == (1 if hit else None)


def test_only_the_state_of_a_line_that_is_shown_is_searched(tmp_path):
    index = index_of(tmp_path, b"Train: 10%\rTrain: 20%\n")
    assert found(index, TextTest("10%"), 0) is None
    assert found(index, TextTest("20%"), 0) == 0


def test_errors_of_real_programs_are_found_and_their_look_alikes_are_not(tmp_path):
    lines = [
        "log_level=ERROR,",
        "listing failed (NetworkError), retry in 1s",
        "raise_on_error=True",
        "[rank1]: Traceback (most recent call last):",  # torch 2.13
        '[rank1]:   File "x.py", line 3',
        "[default1]:[rank1]: RuntimeError: simulated",
        "E1127 21:47:06.460000 15270 torch/distributed/elastic/x.py:1002] failed",
        "ERROR 11-27 21:00:01 [core.py:400] EngineCore failed",  # vLLM
        "2026-11-27 21:34:48 | ERROR | a | b",
        "torch.OutOfMemoryError: CUDA out of memory.",
        "AssertionError",
    ]
    index = index_of(tmp_path, "\n".join(lines).encode())
    hits, position = [], 0
    while (hit := found(index, ErrorTest(), position)) is not None and hit >= position:
        hits.append(hit)
        position = hit + 1
        if position >= index.lines:
            break
    assert hits == [3, 5, 6, 7, 8, 9, 10]


def test_an_empty_log_and_one_that_is_replaced_meanwhile_end_the_search(tmp_path):
    index = index_of(tmp_path, b"")
    assert found(index, TextTest("x"), 0) is None
    index = index_of(tmp_path, b"line\n" * 5000)
    search = find_line(index, TextTest("x"), 0)
    assert next(search) is None
    index.path.write_bytes(b"x\n")
    index.update()
    assert list(search) == []
