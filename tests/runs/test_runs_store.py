"""The folder of all runs: ids, order, search, removal."""

from __future__ import annotations

import os
import re
import signal
import time

import pytest

from prl_tui.runs import lock, stop, store
from prl_tui.runs.folder import RunFolder
from prl_tui.runs.place import here
from prl_tui.runs.state import status
from tests.runs.helpers import ended, supervisor_of, write


@pytest.fixture
def many(root):
    """Make run folders with given ids, each a second younger than the one before it."""

    def make(*names):
        for age, name in enumerate(reversed(names)):
            (root / name).mkdir(parents=True)
            write(RunFolder(root / name), "run", {"created": 1_000_000.0 - age})
        return [RunFolder(root / name) for name in reversed(names)]

    return make


def test_ids_are_short_unique_and_never_a_number(root):
    ids = {store.make_folder(root).id for _ in range(300)}
    assert len(ids) == 300
    for name in ids:
        assert re.fullmatch("[0-9a-f]{6}", name)
        with pytest.raises(ValueError):
            float(name)


def test_the_newest_comes_first_by_what_the_run_says_not_by_the_files_time(root, many):
    expected = many("aaaaa1", "aaaaa2", "aaaaa3")
    os.utime(root / "aaaaa1", (2_000_000_000,) * 2)
    assert store.list_runs(root) == expected
    assert store.find(root, "last") == expected[0]


def test_damaged_folders_are_listed_and_strange_things_are_not(root, many):
    good = many("aaaaa1")[0]
    (root / "bbbbb2").mkdir()
    (root / "ccccc3").mkdir()
    (root / "ccccc3" / "run.json").write_text("{")
    (root / "notes").mkdir()
    (root / "file").write_text("")
    (root / "dangling").symlink_to("/no/such/place")
    found = store.list_runs(root)
    assert {folder.id for folder in found} == {"aaaaa1", "bbbbb2", "ccccc3"}
    assert found[-1] == good
    assert status(store.find(root, "ccccc3")).state == "unknown"


def test_no_root_means_no_runs(tmp_path):
    assert store.list_runs(tmp_path / "none") == []
    missing = store.find(tmp_path / "none", "last")
    assert isinstance(missing, store.NoRun)
    assert missing.sentence == "There are no runs yet"


def test_a_run_is_found_by_id_and_by_a_beginning_of_one_id_only(root, many):
    many("7f3aa1", "7f3bb2", "c0ffee")
    assert store.find(root, "7F3AA1").id == "7f3aa1"
    assert store.find(root, "c").id == "c0ffee"
    several = store.find(root, "7f3")
    assert isinstance(several, store.Ambiguous)
    assert [folder.id for folder in several.candidates] == ["7f3bb2", "7f3aa1"]
    assert "7f3bb2, 7f3aa1" in several.sentence
    for wanted in ("d", "", "7f3aa1x", "../7f3aa1"):
        assert isinstance(store.find(root, wanted), store.NoRun)


def test_three_hundred_runs_list_in_order_and_all_have_a_state(root, many):
    names = [f"a{number:05x}" for number in range(300)]
    expected = many(*names)
    begin = time.monotonic()
    assert store.list_runs(root) == expected
    assert {status(folder).state for folder in expected} == {"unknown"}
    assert time.monotonic() - begin < 10  # a guard against quadratic work, not a measurement


def test_an_ended_run_can_be_removed_and_a_live_one_not(root, python):
    folder = python("-c", "import time; time.sleep(600)")
    kept = store.remove(folder)
    assert isinstance(kept, store.Kept)
    assert "stop it first" in kept.sentence
    assert folder.path.is_dir()
    stop.stop(folder, stop.Grace(5, 5))
    assert stop.wait(folder, 15)
    assert store.remove(folder) is None
    assert not folder.path.exists()


def test_a_lost_run_whose_processes_live_is_not_removed(family):
    folder, _ = family("polite")
    os.kill(supervisor_of(folder), signal.SIGKILL)
    while status(folder).state != "lost":
        time.sleep(0.01)
    assert isinstance(store.remove(folder), store.Kept)
    stop.stop(folder, stop.Grace(0.2, 5))
    assert store.remove(folder) is None


def test_a_live_run_whose_record_is_damaged_is_not_removed(forged):
    folder = forged()
    (folder.path / "state.json").write_text("{")
    descriptor = lock.take(folder.path / "lock")
    assert isinstance(store.remove(folder), store.Kept)
    os.close(descriptor)
    assert store.remove(folder) is None


def test_a_run_that_another_host_may_still_run_is_not_removed(forged):
    assert isinstance(store.remove(forged({"host": "node-7"}, heartbeat=1)), store.Kept)


def test_removing_a_finished_run_keeps_its_neighbours(root, python):
    one, other = python("-c", "pass"), python("-c", "pass")
    ended(one)
    ended(other)
    assert stop.wait(one, 5)
    assert store.remove(one) is None
    assert store.list_runs(root) == [other]


def test_the_newest_run_is_the_one_started_last_though_the_clock_was_set_back_or_was_ahead(root, python, monkeypatch):
    now = time.time()
    started = []
    for seconds in (0.0, 86_400.0 * 365, -3_600.0, -3_600.0, 1.0):  # ahead by a year, back by an hour, right again
        monkeypatch.setattr("prl_tui.runs.launcher.time.time", lambda at=now + seconds: at)
        started.append(python("print('here')"))
        ended(started[-1])
        assert store.find(root, "last") == started[-1]
    monkeypatch.undo()
    assert store.list_runs(root) == started[::-1]
    assert started[2].info()["created"] == now - 3_600.0, "when it began is told as the clock had it"


@pytest.mark.parametrize("noted", [None, "", "9e9", "1.0\n2", "\x00\n", "nan\n", "inf\n"])
def test_a_note_of_the_newest_place_that_is_lost_or_cut_is_not_needed(root, many, noted):
    many("aaaaa1", "aaaaa2")
    ahead = store.make_folder(root)
    write(ahead, "run", {"created": 4e9, "place": 4e9})
    note = root / ".newest"
    note.unlink(missing_ok=True)
    if noted is not None:
        note.write_text(noted)
    assert store.next_place(store.make_folder(root)) == 4e9 + 0.001
    assert store.next_place(store.make_folder(root)) == 4e9 + 0.002, "by the note now"


def test_a_new_run_comes_after_those_of_an_older_prl_tui_and_damaged_ones(root, many):
    many("aaaaa1", "aaaaa2")  # only `created`, as versions before had it
    (root / "bbbbb2").mkdir()
    os.utime(root / "bbbbb2", (4e9, 4e9))
    new = store.make_folder(root)
    write(new, "run", {"created": 5.0, "place": store.next_place(new)})
    assert [folder.id for folder in store.list_runs(root)] == [new.id, "bbbbb2", "aaaaa2", "aaaaa1"]


FAR = {"host": "node-7", "boot_id": "another"}


@pytest.mark.parametrize("heartbeat", [None, 45, 9000])
def test_a_run_of_another_host_without_an_end_is_not_removed_however_old_it_looks(forged, heartbeat):
    folder = forged(FAR, heartbeat=heartbeat)
    kept = store.remove(folder)
    assert isinstance(kept, store.Kept)
    assert kept.sentence == (
        f"Run {folder.id} is of node-7, and nothing tells that it has ended: delete it there, or, where you are sure, "
        f"remove its folder {folder.path} yourself"
    )
    assert folder.path.is_dir()


def test_a_run_of_another_host_with_a_damaged_record_is_not_removed(forged):
    folder = forged(FAR)
    write(folder, "run", {**here(), **FAR, "id": folder.id})
    (folder.path / "state.json").write_text("{")
    assert isinstance(store.remove(folder), store.Kept)


def test_a_run_of_another_host_that_ended_is_removed(forged):
    folder = forged(FAR, heartbeat=9000, exit={"exit_code": 0, "signal": None, "error": None, "stop": None})
    assert store.remove(folder) is None
    assert not folder.path.exists()


def test_a_run_of_this_host_before_a_restart_is_removed(forged):
    assert store.remove(forged({"boot_id": "before"}, heartbeat=9000)) is None
