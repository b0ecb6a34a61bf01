"""All ranks in one log, as torchrun 2.13 wrote it with PET_TEE."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from prl_tui.telemetry.escapes import plain
from prl_tui.telemetry.line_levels import level_of
from prl_tui.telemetry.line_tests import LineFilter
from prl_tui.telemetry.teed_log import IdleRankLineTest, RankLineTest, TeedLog, parted

FIXTURES = Path(__file__).parents[1] / "fixtures"
TEED = FIXTURES / "telemetry" / "tee_np2.log"
FAILED = b"E1130 16:04:39.591000 77 torch/distributed/elastic/multiprocessing/api.py:988] failed (exitcode: -9)"
"""How torchrun 2.13 says it; it stood behind the bar of the rank that was killed."""


def opened(path):
    log = TeedLog.at(path)
    while log.update():
        pass
    return log


def test_lines_say_which_rank_wrote_them_in_the_order_of_arrival():
    log = opened(TEED)
    lines = [plain(raw) for raw in log.read_lines(0, log.lines)]
    raws = TEED.read_bytes().decode().splitlines()
    assert len(lines) == len(TEED.read_bytes().split(b"\n")) - 1
    assert lines[2] == "r0 │ {'loss': '1', 'epoch': '0'}"
    assert lines[1] == "r1 │ rank1 says 0", "text that torchrun put behind another rank's bar"
    assert not any("[default" in line for line in lines)
    assert sum("r1 │" in line for line in lines) == sum("[default1]" in raw for raw in raws)


def test_without_the_ranks_lines_only_the_launchers_own_are_left(tmp_path):
    path = tmp_path / "output.log"
    path.write_bytes(
        b"W1127 21:47:06.46 run.py:793] ***\n[default0]:x\n[rank0]: mine\n[default12]:[rank12]: y\n a \xe2\x94\x82 b\n"
    )
    log = opened(path)
    rows = log.read_lines(0, 9)
    own = LineFilter(without=(RankLineTest(),)).chosen(rows)
    assert [plain(rows[n]) for n in own] == ["W1127 21:47:06.46 run.py:793] ***", "[rank0]: mine", " a │ b"]
    assert plain(rows[3]) == "r12│ [rank12]: y"


def test_a_line_of_which_only_the_end_is_handed_out_is_still_its_ranks(tmp_path):
    path = tmp_path / "output.log"
    limit = 100
    path.write_bytes(
        b"[default3]:" + b"x" * 200 + b"\n" + b"y" * 200 + b"\n" + (b"[default4]:" + b"z" * limit)[:limit] + b"\nend\n"
    )
    rows = [plain(raw) for raw in opened(path).read_lines(0, 9, limit)]
    assert rows == ["r3 │ " + "x" * limit, "y" * limit, "r4 │ " + "z" * (limit - len("[default4]:")), "end"]


def test_bars_and_empty_lines_of_ranks_are_hidden_and_nothing_else(tmp_path):
    path = tmp_path / "output.log"
    path.write_bytes(
        b"[default0]:Train:  14%|##   | 28/200 [00:01<00:05, 33.5it/s][default1]:[rank1]: Traceback (most recent call last):\n"
        b"[default0]:\n[default0]:Train:  15%|##   | 30/200 [00:01<00:05, 33.5it/s]\n\n"
        b"[default0]:Train:  15%|##   | 30/200 [00:01<00:05, 33.5it/s]{'loss': 1}\n[default1]:[rank1]: RuntimeError: x\n"
        b"[default1]:E1127 21:47:06.46 api.py:1] failed\n"
    )
    rows = opened(path).read_lines(0, 9)
    shown = [plain(rows[n]) for n in LineFilter(without=(IdleRankLineTest(),)).chosen(rows)]
    assert shown == [
        "r1 │ [rank1]: Traceback (most recent call last):",
        "",
        "r0 │ Train:  15%|##   | 30/200 [00:01<00:05, 33.5it/s]{'loss': 1}",
        "r1 │ [rank1]: RuntimeError: x",
        "r1 │ E1127 21:47:06.46 api.py:1] failed",
    ]
    assert [level_of(line) for line in shown] == ["error", None, None, "error", "error"]


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        (b"[default0]:a", [b"[default0]:a"]),
        (b"[default0]: 8%|#|[default1]:x[default0]:y", [b"[default0]: 8%|#|", b"[default1]:x", b"[default0]:y"]),
        (b"[default0]:[default3]:x[default1]:[default2]:y", [b"[default0]:[default3]:x", b"[default1]:[default2]:y"]),
        (b"it says [default1]: here", [b"it says [default1]: here"]),
        (b"[defaults] of [default1]:x", [b"[defaults] of [default1]:x"]),
        (b"[default0]:", [b"[default0]:"]),
        (b"", [b""]),
        (b"[default0]: 8%|#| 3/4 [1it/s]" + FAILED, [b"[default0]: 8%|#| 3/4 [1it/s]", FAILED]),
        (b"[default0]:a[default1]:b" + FAILED, [b"[default0]:a", b"[default1]:b", FAILED]),
        (b"[default0]:" + FAILED, [b"[default0]:" + FAILED]),
        (b"[default0]:[default1]:" + FAILED, [b"[default0]:[default1]:" + FAILED]),
        (b"x" + FAILED + b"y", [b"x", FAILED + b"y"]),
        (FAILED, [FAILED]),
    ],
)
def test_a_line_is_parted_where_torchrun_put_another_ranks_text_behind(line, parts):
    assert parted(line) == parts


@pytest.mark.parametrize(
    "run", ["fail_sigint_torchrun", "fail_sigterm_torchrun", "fail_sigint_group", "accelerate_np2_sigterm"]
)
def test_what_torchrun_says_behind_an_unfinished_bar_is_a_line_of_its_own(run):
    """Real ones of torchrun 2.13 and accelerate: `--without Train:` hid it with the bar, `--level warning` missed it."""
    raws = (FIXTURES / "engine_runs" / run / "console.raw").read_bytes().split(b"\n")
    parts = [plain(part) for raw in raws for part in parted(raw)]
    own = [one for one in parts if re.search(r"[WE]1127 [\d:.]+ \d+ torch/distributed/", one)]
    assert any(re.search(rb"it/s\]W1127 ", raw) for raw in raws)
    assert all(level_of(one) in {"warning", "error"} for one in own if re.match(r"[WE]", one))
    assert not [one for one in own if not re.match(r"[WE]1127 ", one)]


def test_the_launchers_own_line_behind_a_killed_ranks_bar_is_shown_without_the_ranks_lines(tmp_path):
    path = tmp_path / "output.log"
    path.write_bytes(
        b"[default0]: 8%|#| 3/4 [1it/s]" + FAILED + b"\n[default0]: 8%|#| 3/4 [1it/s][default1]:late" + FAILED + b"\n"
    )
    rows = opened(path).read_lines(0, 9)
    assert [plain(row) for row in rows] == [FAILED.decode(), f"r1 │ late  {FAILED.decode()}"]
    assert len(LineFilter(without=(RankLineTest(),)).chosen(rows)) == 1
