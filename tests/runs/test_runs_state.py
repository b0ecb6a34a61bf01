"""What is told about a run from its folder alone, whoever wrote it and in whatever shape it is."""

from __future__ import annotations

import json
import os
import shutil
import time

import pytest

from prl_tui.runs import launcher, lock, records, stop, store
from prl_tui.runs.folder import RunFolder, explain, read_ended
from prl_tui.runs.launcher import Job
from prl_tui.runs.records import Broken
from prl_tui.runs.state import ALIVE, heartbeat_age, status
from tests.runs.helpers import ended

GOOD_EXIT = {"exit_code": 0, "signal": None, "error": None, "stop": None}


def test_another_host_with_a_fresh_heartbeat_is_elsewhere(forged):
    seen = status(forged({"host": "node-7"}, heartbeat=3))
    assert (seen.state, seen.host) == ("elsewhere", "node-7")
    assert "node-7" in seen.detail


def test_another_host_with_a_stale_heartbeat_is_unknown_never_lost(forged):
    seen = status(forged({"host": "node-7"}, heartbeat=600))
    assert seen.state == "unknown"
    assert "10 min ago" in seen.detail


def test_another_host_that_never_reported_is_unknown(forged):
    assert status(forged({"host": "node-7"})).state == "unknown"


def test_another_namespace_of_this_host_is_elsewhere_or_unknown(forged):
    assert status(forged({"pid_namespace": "pid:[1]"}, heartbeat=3)).state == "elsewhere"
    assert status(forged({"pid_namespace": "pid:[1]"}, heartbeat=600)).state == "unknown"


def test_another_namespace_whose_lock_is_held_is_elsewhere(forged):
    folder = forged({"pid_namespace": "pid:[1]"}, heartbeat=600)
    descriptor = lock.take(folder.path / "lock")
    assert status(folder).state == "elsewhere"
    os.close(descriptor)


def test_another_boot_of_this_host_is_lost(forged):
    seen = status(forged({"boot_id": "before"}, heartbeat=600))
    assert seen.state == "lost"
    assert "restarted" in seen.detail


def test_another_boot_under_this_hosts_name_that_still_reports_is_not_lost(forged):
    # two boxes may share a name and a home
    assert status(forged({"boot_id": "other box"}, heartbeat=3)).state == "elsewhere"


def test_a_clock_that_differs_between_hosts_does_not_hide_a_heartbeat(forged):
    folder = forged({"host": "node-7"}, heartbeat=3600)
    os.utime(folder.path / "heartbeat")  # written just now, by a clock an hour behind
    assert status(folder).state == "elsewhere"


def test_an_exit_record_is_final_even_from_another_host(forged):
    folder = forged({"host": "node-7"}, exit={**GOOD_EXIT, "exit_code": 3})
    assert (status(folder).state, status(folder).exit_code, status(folder).host) == ("failed", 3, "node-7")


def test_a_supervisor_that_is_gone_without_a_record_is_lost(forged):
    seen = status(forged())
    assert (seen.state, seen.exit_code) == ("lost", None)


def test_a_held_lock_means_alive(forged):
    folder = forged()
    descriptor = lock.take(folder.path / "lock")
    assert status(folder).state == "starting"
    assert status(folder, logged=lambda: True).state == "running"
    os.close(descriptor)
    assert status(folder).state == "lost"


def test_a_supervisor_that_stopped_reporting_is_mentioned(forged):
    folder = forged(heartbeat=300)
    descriptor = lock.take(folder.path / "lock")
    seen = status(folder)
    assert seen.state == "starting"
    assert "not reported for 300 s" in seen.detail
    os.close(descriptor)


def test_bytes_that_a_full_disk_swallowed_are_mentioned_while_it_runs(forged):
    folder = forged()
    descriptor = lock.take(folder.path / "lock")
    records.write_heartbeat(folder.path / "heartbeat", {"time": time.time(), "stage": "run", "dropped": 512})
    assert "512 bytes" in status(folder).detail
    os.close(descriptor)


def test_a_folder_made_but_not_started_is_lost(root):
    folder = launcher.create(root, Job(("true",)))
    assert status(folder).state == "lost"
    assert "never started" in status(folder).detail


def test_a_bare_folder_is_unknown(tmp_path):
    seen = status(RunFolder(tmp_path))
    assert seen.state == "unknown"
    assert "run.json" in seen.detail


DAMAGE = {
    "empty": b"",
    "half": b'{"schema": 1, "host": "x',
    "list": b"[1, 2]",
    "number": b"7",
    "no schema": b"{}",
    "text schema": b'{"schema": "1"}',
    "newer": b'{"schema": 2, "host": "a", "exit_code": 0}',
    "binary": b"\xff\xfe\x00\x01",
    "deep": b"[" * 100_000,
    "without keys": b'{"schema": 1}',
    "wrong kinds": b'{"schema": 1, "host": 5, "boot_id": [], "pid_namespace": null, "supervisor": "x"}',
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_state_record_is_unknown_with_the_reason(forged, damage):
    folder = forged()
    (folder.path / "state.json").write_bytes(damage)
    seen = status(folder)
    assert seen.state == "unknown"
    assert "state.json" in seen.detail
    assert stop.stop(folder).refused
    assert stop.progress(folder) == ()
    assert store.find(folder.path.parent, folder.id) == folder


@pytest.mark.parametrize("code", ['"zero"', "[]", "1.5", "true", "1e400"])
def test_an_exit_code_that_is_no_number_is_a_damaged_record(forged, code):
    """`-3 processes outlived the launcher` stood beside it as a fact."""
    folder = forged()
    (folder.path / "exit.json").write_text(f'{{"schema": 1, "exit_code": {code}, "strays": -3}}')
    assert status(folder).state == "unknown"
    assert "exit.json" in status(folder).detail
    (folder.path / "exit.json").write_text('{"schema": 1, "exit_code": 1, "strays": -3, "killed": -1, "dropped": -5}')
    found = read_ended(folder)
    assert (found.strays, found.killed, found.dropped) == (0, 0, 0)


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_exit_record_is_unknown_with_the_reason(forged, damage):
    if b"exit_code" not in damage and damage == DAMAGE["wrong kinds"]:
        damage = b'{"schema": 1, "exit_cod": 0}'
    folder = forged()
    (folder.path / "exit.json").write_bytes(damage)
    seen = status(folder)
    assert seen.state == "unknown"
    assert "exit.json" in seen.detail


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_run_record_still_lists_and_says_why(root, damage):
    folder = store.make_folder(root)
    (folder.path / "run.json").write_bytes(damage)
    assert status(folder).state == "unknown"
    assert store.list_runs(root) == [folder]


def test_kinds_that_nobody_expects_inside_an_exit_record_do_no_harm(forged):
    folder = forged()
    odd = {
        "schema": 1,
        "exit_code": None,
        "signal": [],
        "error": 3,
        "stop": "x",
        "started": "y",
        "ended": 1e999,
        "strays": {},
    }
    (folder.path / "exit.json").write_text(json.dumps(odd))
    seen = status(folder)
    assert (seen.state, seen.exit_code, seen.ended) == ("failed", None, None)


def test_a_folder_in_the_place_of_a_record_is_unknown(forged):
    folder = forged()
    (folder.path / "state.json").unlink()
    (folder.path / "state.json").mkdir()
    assert status(folder).state == "unknown"
    assert "cannot be read" in status(folder).detail


def test_a_newer_record_says_so():
    assert "newer prl-tui (schema 9)" in explain(Broken("exit.json", "newer", "9"))


def test_a_live_run_whose_state_record_is_damaged_says_that_it_is_alive(forged):
    folder = forged()
    (folder.path / "state.json").write_text("{")
    descriptor = lock.take(folder.path / "lock")
    assert "alive" in status(folder).detail
    os.close(descriptor)


def test_a_damaged_exit_record_does_not_hide_a_live_supervisor(forged):
    folder = forged()
    (folder.path / "exit.json").write_text("{")
    descriptor = lock.take(folder.path / "lock")
    assert status(folder).state == "starting"
    os.close(descriptor)


def test_the_heartbeat_of_a_live_run_is_young_and_names_its_place(python):
    folder = python("-c", "import time; time.sleep(600)")
    assert status(folder).state in ALIVE
    while heartbeat_age(folder) is None:
        time.sleep(0.01)
    assert heartbeat_age(folder) < records.HEARTBEAT_FRESH
    beat = json.loads((folder.path / "heartbeat").read_text())
    assert {"host", "boot_id", "pid_namespace", "time", "stage", "dropped"} <= beat.keys()
    stop.stop(folder, stop.Grace(5, 5))
    assert stop.wait(folder, 15)


def test_a_copy_of_a_finished_run_still_tells_its_end(python, tmp_path):
    folder = python("-c", "raise SystemExit(2)")
    ended(folder)
    copy = RunFolder(tmp_path / "copy")
    shutil.copytree(folder.path, copy.path)
    assert status(copy) == status(folder)
    assert read_ended(copy) == read_ended(folder)
