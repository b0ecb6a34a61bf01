"""A run of another host whose clock is behind: what is seen to beat lives."""

from __future__ import annotations

import os
import threading
import time

import pytest

from prl_tui.cli import doubt, watching
from prl_tui.machine import paths
from prl_tui.runs import records
from prl_tui.runs.pulse import PULSES, Pulses
from prl_tui.runs.state import status
from prl_tui.tui import feeds
from tests.runs.helpers import until, write


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


def log(folder, step):
    with folder.output.open("a") as file:
        file.write(f"{{'loss': 0.5, 'global_step/max_steps': '{step}/9'}}\n")


def late(folder, seconds):
    """The heartbeat is that old, by every clock that shows it."""
    folder.path.joinpath("heartbeat").unlink(missing_ok=True)
    beat(folder, seconds)


def test_a_feed_outlives_a_late_heartbeat(forged, monkeypatch):
    monkeypatch.setattr(feeds, "TURN", 0.02)
    folder = forged({"host": "node-7", "boot_id": "another"}, heartbeat=1)
    log(folder, 1)
    feed = feeds.RunFeed(folder)
    feed.start()

    def is_seen(state, step):
        one = feed.latest()
        return one is not None and one.status.state == state and one.view.progress.step == step

    until(lambda: is_seen("elsewhere", 1), "the run")
    PULSES._looks.clear()
    late(folder, 31)
    until(lambda: (PULSES._looks.clear(), is_seen("unknown", 1))[1], "the doubt")
    late(folder, 0)
    log(folder, 2)
    until(lambda: is_seen("elsewhere", 2), "the next step")
    write(folder, "exit", {"exit_code": 0, "signal": None, "error": None, "stop": None})
    until(lambda: is_seen("finished", 2), "the end")
    until(lambda: not feed._thread.is_alive(), "the thread")


@pytest.mark.parametrize("heard_again", [True, False])
@pytest.mark.parametrize("words", [["--exit-on", "finished"], ["--json"], ["--plain"]])
def test_watch_waits_for_a_run_that_is_late_and_gives_up_after_a_stated_time(
    forged, cli, monkeypatch, heard_again, words
):
    monkeypatch.setattr(doubt, "PATIENCE", 1.0)
    monkeypatch.setattr(watching, "TURN", 0.05)
    folder = forged({"host": "node-7", "boot_id": "another"}, heartbeat=31)
    log(folder, 9)
    monkeypatch.setattr(paths, "runs_dir", lambda: folder.path.parent)

    def comes_back():
        time.sleep(0.3)
        late(folder, 0)
        time.sleep(0.3)
        write(folder, "exit", {"exit_code": 0, "signal": None, "error": None, "stop": None})

    other = threading.Thread(target=comes_back if heard_again else lambda: None)
    other.start()
    done = cli("watch", folder.id, *words)
    other.join()
    assert f"nobody knows whether run {folder.id} goes on: It ran on node-7" in done.err
    assert "it is looked at again for 1 s" in done.err
    assert done.code == (0 if heard_again else 4)
