"""How sentences are broken into lines of a terminal."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from prl_tui.tui.cells import wrap


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two three", 7, ["one two", "three"]),
        ("每个提示生成的回答数。每设备 batch × 进程数必须是它的整数倍", 30,
         ["每个提示生成的回答数。每设备", "batch × 进程数必须是它的整数倍"]),
        ("每个提示生成的回答数，至少两个", 20, ["每个提示生成的回答", "数，至少两个"]),  # no comma begins a line
        ("在 ms-swift 3.3（PRL 分支）中不计入", 10, ["在 ms-", "swift 3.3", "（PRL 分", "支）中不计", "入"]),
        ("/a/very/long/path/to/somewhere", 12, ["/a/very/", "long/path/", "to/somewhere"]),
        ("x" * 20, 8, ["x" * 8, "x" * 8, "xxxx"]),
        ("", 8, [""]),
    ],
)  # fmt: skip
def test_lines_end_at_blanks_and_between_wide_characters(text, width, lines):
    assert wrap(text, width) == lines
    assert all(cell_len(line) <= width for line in lines)
