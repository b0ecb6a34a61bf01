"""`prl-tui runs` and `stop` on the command line, on runs that really ran."""

from __future__ import annotations

import re
import sys

from prl_tui.machine import paths
from prl_tui.runs import launcher
from tests.runs.helpers import ended


def test_runs_say_how_long_they_took_and_why_they_failed(cli) -> None:
    code = "raise RuntimeError('the tokenizer is gone')"
    run = launcher.start(paths.runs_dir(), launcher.Job((sys.executable, "-c", code)))
    ended(run)
    row = cli("runs").out
    assert re.search(rf"^{run.id}  ✗ failed  \d\d-\d\d \d\d:\d\d  \d+ s  ", row)
    assert "the tokenizer is gone" in row


def test_a_name_of_ten_thousand_characters_moves_nothing_off_the_screen(cli) -> None:
    for name in ("a" * 10_000, "b"):
        job = launcher.Job((sys.executable, "-c", "print('done')"), info={"recipe": "custom", "preset": name})
        ended(launcher.start(paths.runs_dir(), job))
    rows = cli("runs").out.splitlines()
    assert len(rows) == 2
    assert all(len(row) < 100 for row in rows)
    assert any("aaa…" in row for row in rows)


def test_stopping_what_has_ended_says_so_once(cli) -> None:
    run = launcher.start(paths.runs_dir(), launcher.Job((sys.executable, "-c", "print('done')")))
    ended(run)
    done = cli("stop", run.id)
    assert (done.code, done.out, done.err) == (0, f"run {run.id} had ended before\n", "")
