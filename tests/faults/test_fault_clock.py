"""The wall clock is set while somebody looks at a run: ages and durations stay what they are, and so does the state.

The clock is a double: `time.time` of this process, which looks. The run, its supervisor and their records are real,
and of the clock before the step; what a record says after one is forged, named in each row.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import time

import pytest

from prl_tui.cli.watching import _Told, ending
from prl_tui.runs import claims, overview, records, stop, sweep
from prl_tui.runs.state import heartbeat_age, is_heard, status
from prl_tui.tui.run_words import head
from tests.faults.conftest import stopped
from tests.runs.conftest import forged  # noqa: F401  (a fixture)
from tests.runs.helpers import until, write

pytestmark = pytest.mark.slow

DAY = 86400.0
STEPS = [-3600.0, 3600.0, -40 * DAY, 400 * DAY]


@pytest.fixture
def set_clock(monkeypatch):
    real = time.time

    def by(step):
        monkeypatch.setattr(time, "time", lambda: real() + step)

    return by


@pytest.fixture
def silent(tree):
    """A run that says nothing any more: its members are suspended, so that no new output tells the new time."""
    one = tree("polite")
    for pid in one.pids.values():
        os.kill(pid, signal.SIGSTOP)
    yield one
    for pid in one.pids.values():
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            continue
    stopped(one)
    one.clean()


def looked(folder, reading):
    return overview.describe(folder, until(lambda: not (view := reading.poll()).behind and view, "all of its log"))


@pytest.mark.parametrize("step", STEPS)
def test_it_is_set_while_a_run_is_watched(silent, set_clock, step):
    """Not stalled, not late, as old as it is, heard of, its GPUs its own, nobody's orphan; and set back again."""
    folder = silent.folder
    reading = overview.reader(folder)
    before, told = looked(folder, reading), _Told()
    told.news(before)
    for now in (step, 0.0, -step):
        set_clock(now)
        one = looked(folder, reading)
        assert (one.status.state, one.status.detail) == (before.status.state, "")
        assert (one.quiet, one.late) == (None, None)
        assert 0 < one.status.seconds < 60
        assert overview.took(one).endswith(" s")
        assert "for " in head(one, 160).plain
        assert " h" not in head(one, 160).plain
        assert told.news(one) == []
        assert is_heard(folder)
        assert 0 <= heartbeat_age(folder) < records.HEARTBEAT_FRESH
        assert sweep.find(silent.root) == []
        assert [claim.run for claim in claims.held(silent.root)] == [folder.id]
        assert status(folder).state == "starting"
    reading.close()


@pytest.mark.parametrize("step", STEPS)
def test_it_was_set_between_the_start_and_the_end(tree, set_clock, step):
    """The records say that it ended before it began, or a year later; how long it took is another clock's word."""
    one = tree("polite")
    stopped(one)
    one.clean()
    path = one.folder.path / records.EXIT
    record = json.loads(path.read_text())
    write(one.folder, "exit", {**record, "ended": record["ended"] + step, "tree_gone": record["tree_gone"] + step})
    set_clock(step)
    seen = overview.overview(one.folder)
    assert seen.status.state == "stopped"
    assert 0 < seen.status.seconds < 60
    assert overview.took(seen).endswith(" s")
    assert " s" in ending(seen)[0]
    assert " h" not in ending(seen)[0]
    assert "after" in head(seen, 160).plain


def test_a_run_of_an_older_version_whose_clock_was_set_back_took_no_negative_time(forged):  # noqa: F811
    """Its records know the wall clock alone."""
    now = time.time()
    folder = forged(state={"started": now}, exit={"exit_code": 0, "started": now, "ended": now - 3600})
    assert status(folder).seconds == 0.0
    assert overview.took(overview.overview(folder)) == "0 s"


@pytest.mark.parametrize("step", STEPS)
def test_it_was_set_before_somebody_looked_for_the_first_time(silent, set_clock, step):
    """The age of its last output is not known then, but it cannot be older than the run, nor of the future."""
    set_clock(step)
    reading = overview.reader(silent.folder)
    one = looked(silent.folder, reading)
    reading.close()
    assert (one.quiet, one.late) == (None, None)
    assert 0 < one.status.seconds < 60


def test_what_it_stops_is_stopped_although_the_clock_is_set_meanwhile(tree, set_clock):
    """The graces of a stop are of a clock that nobody sets."""
    one = tree("deaf")
    set_clock(-DAY)
    begun = time.monotonic()
    stop.stop(one.folder, stop.Grace(0.3, 0.5), by="test")
    for step in itertools.cycle((-DAY, DAY)):
        set_clock(step)
        if stop.wait(one.folder, 0.1):
            break
        assert time.monotonic() - begun < 20
    assert 0.8 < time.monotonic() - begun < 15
    assert 0 < status(one.folder).seconds < 60
    one.clean()
