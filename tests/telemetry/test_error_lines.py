"""Errors of a program's own told apart from how it ends when somebody stops it; judged by captures of real torch runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from prl_tui.telemetry.error_lines import FirstErrors
from prl_tui.telemetry.escapes import plain

RUNS = Path(__file__).parents[1] / "fixtures" / "engine_runs"


def read(lines):
    found = FirstErrors()
    for number, line in enumerate(lines):
        found.take(Path("output.log"), number, line)
    return found


def capture(name):
    return [plain(line) for line in (RUNS / name / "console.raw").read_bytes().split(b"\n")]


@pytest.mark.parametrize(
    "name",
    ["fail_sigint_torchrun", "fail_sigint_group", "fail_sigterm_torchrun", "ddp_sigterm", "accelerate_np2_sigterm"],
)
def test_ranks_that_a_signal_ended_have_no_error_of_their_own(name):
    found = read(capture(name))
    assert found.interrupted
    assert found.own is None, "not even that a rank's peer has gone"
    assert found.first is not None, "for somebody who asked for no stop it is one"


def test_an_error_before_the_stop_stays_and_begins_with_its_traceback():
    trace = ["all well", "Traceback (most recent call last):", '  File "train.py", line 3', "ValueError: no"]
    found = read([*trace, *capture("fail_sigint_torchrun")])
    assert found.own == found.first
    assert found.own.line == 1
    assert not found.interrupted


@pytest.mark.parametrize("line", ["KeyboardInterrupt", "[default1]:KeyboardInterrupt", "[rank1]: KeyboardInterrupt: "])
def test_what_follows_an_interrupt_says_nothing_any_more(line):
    found = read(["[rank0]:Traceback (most recent call last):", line, "RuntimeError: Connection closed by peer"])
    assert (found.own, found.interrupted, found.settled) == (None, True, True)


def test_a_line_that_only_speaks_of_an_interrupt_is_none():
    assert read(["ERROR: KeyboardInterrupt was swallowed by the loader"]).own is not None
