"""Stops and kills of real torchrun trees (judged with torch 2.13): what is left of them, and of what their ranks said."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys

import pytest

from prl_tui.runs import launcher, stop, sweep
from prl_tui.runs.state import log_end, status
from tests.faults.conftest import PROGRAM
from tests.runs.helpers import ended, is_living, marked, supervisor_of, until

HERE_IS_TORCH = importlib.util.find_spec("torch") is not None  # its import takes seconds, of each worker that collects
pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.skipif(not HERE_IS_TORCH, reason="needs torch")]

SLOW = 90.0
QUICK = stop.Grace(1.0, 5.0)


def start(root, place, mode, recorded):
    place.mkdir()
    words = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone")
    job = launcher.Job(
        (*words, str(PROGRAM.with_name("rank.py")), mode, str(place)), per_rank_logs=True, recorded=recorded
    )
    folder = launcher.start(root, job)
    until(lambda: all((place / str(n)).exists() and (place / str(n)).read_text() for n in (0, 1)), "the ranks", SLOW)
    return folder, [int((place / str(n)).read_text()) for n in (0, 1)]


def fault(folder, ranks, n):
    """Break it in one of five ways; returns once nothing of it should be left."""
    if n % 5 == 1:
        os.kill(status(folder).pid, signal.SIGKILL)  # the agent
    elif n % 5 == 2:
        os.kill(ranks[1], signal.SIGKILL)
    elif n % 5 == 3:
        os.kill(supervisor_of(folder), signal.SIGKILL)
        until(lambda: sweep.find(folder.path.parent), "the orphans")
        for one in sweep.find(folder.path.parent):
            sweep.end(one, QUICK)
        return
    if n % 5 in (0, 4):
        stop.stop(folder, QUICK, by="test")
    ended(folder, SLOW)


def lost(folder, place):
    """Bytes of the ranks' lines that are not in their own logs."""
    missing = 0
    for rank in (0, 1):
        (log,) = folder.ranks.glob(f"*/attempt_0/{rank}/stdout.log")
        missing += max(0, int((place / f"{rank}.bytes").read_text()) - log.stat().st_size)
    return missing


def test_ten_stops_and_kills_leave_no_process_and_lose_no_byte_of_a_rank(root, tmp_path):
    left = gone = 0
    for n in range(10):
        place = tmp_path / f"run{n}"
        folder, ranks = start(root, place, "deaf" if n % 5 == 4 else "polite", recorded=n % 5 == 3)
        fault(folder, ranks, n)
        until(lambda: not marked(root), "the end of every process")
        if n % 5 == 3:
            assert log_end(folder) == "whole", "its recorder has read what the agent said last"
        left += sum(map(is_living, ranks))
        gone += lost(folder, place)
    print(f"10 stops and kills of torchrun: {left} processes left, {gone} bytes of its ranks lost")
    assert (left, gone) == (0, 0)
