"""A run of another host whose clock is behind: what is seen to beat lives."""

from __future__ import annotations

import os
import time

from prl_tui.runs import records
from prl_tui.runs.pulse import Pulses
from prl_tui.runs.state import status


def beat(folder, behind):
    """What a supervisor whose clock is so many seconds behind writes now, over a network disk that keeps its times."""
    path, now = folder.path / "heartbeat", time.time() - behind
    records.write_heartbeat(path, {"time": now})
    os.utime(path, (now, now))


def test_a_heartbeat_that_changes_between_two_looks_is_fresh_whatever_its_clock_says(forged):
    folder = forged({"host": "node-7", "boot_id": "another"}, heartbeat=45)
    assert status(folder).state == "unknown", "one look cannot know"
    time.sleep(0.01)
    beat(folder, behind=45)
    assert status(folder).state == "elsewhere"
    assert status(folder).state == "elsewhere", "until it would have come again"


def test_a_heartbeat_that_changes_no_more_is_old():
    now = [100.0]
    pulses = Pulses(lambda: now[0])
    assert pulses.seen("a", 1) is None
    now[0] += 5
    assert pulses.seen("a", 2) == 0
    now[0] += 29
    assert pulses.seen("a", 2) == 29
    assert pulses.seen("b", 2) is None


def test_a_change_during_a_pause_says_nothing():
    now = [100.0]
    pulses = Pulses(lambda: now[0])
    pulses.seen("a", 1)
    now[0] += records.HEARTBEAT_FRESH
    assert pulses.seen("a", 2) is None
    now[0] += 5
    assert pulses.seen("a", 3) == 0
