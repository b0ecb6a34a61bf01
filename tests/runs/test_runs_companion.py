"""When a supervisor starts its recorder again: real processes, a clock in the test's hand."""

from __future__ import annotations

import json
import os
import signal
import sys

import pytest

from prl_tui.runs import guardian, records
from prl_tui.runs.companion import PAUSES, STEADY, Companion
from prl_tui.runs.guardian import STOP_SIGNALS

ENDED_WELL, KILLED = 0, 9
TELL = (
    "import json, os, sys; given = sys.stdin.read(); place = sys.argv[1]; "
    "mark = {name: os.environ.get(name) for name in ('PRL_RUN_DIR', 'PRL_BESIDE_RUN')}; "
    "json.dump({'given': given, 'nice': os.nice(0), 'words': sys.argv[2:], **mark}, open(place, 'w'))"
)


@pytest.fixture
def companion(tmp_path):
    return Companion(tmp_path, [sys.executable, "-c", TELL, str(tmp_path / "told")], b"an order")


def told(tmp_path, companion):
    os.waitpid(companion.pid, 0)
    return json.loads((tmp_path / "told").read_text())


def test_it_is_none_of_the_run_and_gets_the_order_and_what_it_inherits_each_time(companion, tmp_path, monkeypatch):
    monkeypatch.setenv(records.MARKER, "/a/run")
    reading, writing = os.pipe()
    for moment in (0.0, 1.0):
        companion.start(moment, (reading, writing))
        found = told(tmp_path, companion)
        assert found["given"] == "an order"
        assert (found["PRL_RUN_DIR"], found["PRL_BESIDE_RUN"]) == (None, str(tmp_path))
        assert found["words"] == ["--heir", f"{os.getpid()},{reading},{writing}"]
    companion.start(2.0, ())
    assert told(tmp_path, companion)["words"] == []
    os.close(reading)
    os.close(writing)


def test_one_that_ends_by_itself_is_not_started_again(companion):
    companion.start(5.0, ())
    assert companion.next_at is None
    os.waitpid(companion.pid, 0)
    companion.ended(6.0, ENDED_WELL)
    assert (companion.pid, companion.next_at) == (None, None)


def test_a_run_that_is_over_before_the_first_turn_has_its_first_one_and_no_other(tmp_path, companion):
    before = {number: signal.getsignal(number) for number in (*STOP_SIGNALS, signal.SIGCHLD, signal.SIGHUP)}
    try:
        run = guardian.Guardian(tmp_path, ["true"], dict(os.environ), "/", companion)
        run.start()
        os.waitid(os.P_PID, run.leader[0], os.WEXITED | os.WNOWAIT)  # dead, and not yet looked at
        run.loop()
        assert told(tmp_path, companion)["given"] == "an order"
        companion.next_at = 0.0
        run._accompany()
        assert run._companion is None
    finally:
        signal.set_wakeup_fd(-1)
        for number, handler in before.items():
            signal.signal(number, handler)


def deaths(companion, now):
    """It is started whenever it is due and killed at once, until nobody starts it any more; the pauses between."""
    pauses = []
    while companion.next_at is not None:
        now = max(now, companion.next_at)
        companion.next_at = None
        companion._begun = now
        companion.ended(now, KILLED)
        if companion.next_at is not None:
            pauses.append(companion.next_at - now)
    return tuple(pauses)


def test_one_that_dies_again_and_again_is_started_a_few_times_each_later_than_before(companion):
    assert deaths(companion, 0.0) == PAUSES
    assert companion.next_at is None
    assert tuple(sorted(PAUSES)) == PAUSES


def test_one_that_has_lived_for_long_has_all_of_its_tries_again(companion):
    deaths(companion, 0.0)
    companion._begun = 10_000.0
    companion.ended(10_000.0 + STEADY + 1, KILLED)
    assert companion.next_at == 10_000.0 + STEADY + 1 + PAUSES[0]


def test_where_the_system_refuses_it_is_tried_again(tmp_path):
    one = Companion(tmp_path, ["/no/such/python"], b"")
    one.start(3.0, ())
    assert (one.pid, one.next_at) == (None, 3.0 + PAUSES[0])
