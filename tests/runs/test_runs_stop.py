"""A stop ends everything that belongs to the run, nothing else, and is remembered as a person's wish."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from prl_tui.runs import asking, ladder, launcher, proctree, records, stop
from prl_tui.runs.folder import read_started
from prl_tui.runs.launcher import Job
from prl_tui.runs.state import status
from prl_tui.runs.stop import Grace
from tests.runs.helpers import PROGRAMS, ended, exit_record, is_living, marked, members, supervisor_of, until


def gone(members):
    return not any(map(is_living, members.values()))


def test_a_polite_run_is_gone_with_its_session_and_its_daemon(family):
    folder, members = family("polite")
    result = stop.stop(folder, Grace(0.5, 10), by="test")
    assert (result.code, result.refused) == ("asked", False)
    assert stop.wait(folder, 15)
    assert gone(members)
    seen = status(folder)
    assert (seen.state, seen.exit_code, seen.stopped_by_person) == ("stopped", 130, True)
    assert "goodbye" in folder.output.read_text()
    record = json.loads((folder.path / "exit.json").read_text())
    assert record["stop"]["by"]["via"] == "test"
    assert record["stop"]["by"]["pid"] == os.getpid()
    assert record["stop"]["stage"] == "terminate"  # the daemon is outside of the group that got INT
    assert record["strays"] == 0


def test_a_deaf_run_is_killed_after_both_graces(family):
    folder, members = family("deaf")
    begin = time.monotonic()
    stop.stop(folder, Grace(0.4, 0.4))
    assert stop.wait(folder, 15)
    assert time.monotonic() - begin >= 0.8
    assert gone(members)
    record = exit_record(folder)
    assert (record.exit_code, record.stop_stage, record.killed) == (137, "kill", 3)
    assert status(folder).state == "stopped"
    assert "3 processes" in status(folder).detail


def test_a_process_that_hides_its_environment_is_still_found_below(family):
    folder, members = family("nameless")
    assert {left.pid for left in stop.progress(folder)} == set(members.values())
    stop.stop(folder, Grace(0.2, 5))
    assert stop.wait(folder, 15)
    assert gone(members)


def test_a_wrapper_that_kills_its_child_on_int_loses_nobody(python, pids):
    # subprocess.run does that, and so the `swift` command (ms-swift 4.6) kills torchrun 0.25 s after INT
    wrapper = "import subprocess, sys; subprocess.run([sys.executable, *sys.argv[1:]])"
    folder = python("-c", wrapper, PROGRAMS / "family.py", "polite", pids)
    family_pids = members(pids)
    stop.stop(folder, Grace(0.5, 5))
    assert stop.wait(folder, 15)
    assert gone(family_pids)
    assert status(folder).state == "stopped"


def test_a_run_whose_folder_was_removed_still_ends_on_term(python):
    folder = python("-c", "import time; time.sleep(600)")
    supervisor, leader = supervisor_of(folder), status(folder).pid
    aside = folder.path.with_name("removed")
    folder.path.rename(aside)  # at once: the supervisor writes on while the files go
    shutil.rmtree(aside, ignore_errors=True)
    os.kill(supervisor, signal.SIGTERM)
    until(lambda: not is_living(supervisor), "the supervisor's end")
    assert not is_living(leader)
    assert not folder.path.exists()


def test_progress_names_what_is_left(family):
    folder, members = family("polite")
    left = stop.progress(folder)
    assert {one.pid for one in left} == set(members.values())
    assert all("family.py polite" in one.command for one in left)
    stop.stop(folder, Grace(0.2, 5))
    assert stop.wait(folder, 15)
    assert stop.progress(folder) == ()


def test_a_run_that_is_being_stopped_says_so(family):
    folder, _ = family("deaf")
    stop.stop(folder, Grace(60, 60))
    seen = status(folder)
    assert (seen.state, seen.stopped_by_person) == ("stopping", True)
    stop.stop(folder, Grace(0, 0))
    assert stop.wait(folder, 15)


def test_asking_again_makes_it_quicker_never_slower(family):
    folder, _ = family("deaf")
    stop.stop(folder, Grace(60, 60))
    stop.stop(folder, Grace(0.2, 0.2))
    stop.stop(folder, Grace(600, 600))
    assert stop.wait(folder, 15)
    assert exit_record(folder).stop_stage == "kill"


def test_a_grace_of_0_starts_with_term(python, pids):
    code = (
        "import signal, sys, time, pathlib\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit('got TERM'))\n"
        f"pathlib.Path({str(pids / 'ready')!r}).touch()\n"
        "time.sleep(600)\n"
    )
    folder = python("-c", code)
    until((pids / "ready").exists, "the handler")
    stop.stop(folder, Grace(0, 10))
    assert stop.wait(folder, 15)
    assert folder.output.read_text() == "got TERM\n"


def test_two_stops_at_once_are_one_stop(family):
    folder, members = family("polite")
    results = []
    threads = [threading.Thread(target=lambda: results.append(stop.stop(folder, Grace(0.5, 5)).code)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(results) <= {"asked", "ended"}
    assert stop.wait(folder, 15)
    assert gone(members)
    assert status(folder).state == "stopped"


def test_a_stop_after_the_end_changes_nothing(python):
    folder = python("-c", "raise SystemExit(4)")
    ended(folder)
    assert stop.stop(folder).code == "ended"
    assert (status(folder).state, status(folder).exit_code) == ("failed", 4)


def test_a_request_that_came_before_the_signal_could_is_heeded(root):
    job = Job((sys.executable, "-c", "import time; time.sleep(600)"))
    folder = launcher.create(root, job)
    records.write_record(folder.path / "stop.json", {"grace": {"interrupt": 5, "terminate": 5}, "asked": 1.0})
    launcher.begin(folder, job)
    assert ended(folder).state == "stopped"


def test_ten_runs_started_and_stopped_leave_nothing(python, root, pids):
    for _ in range(10):
        folder = python(PROGRAMS / "family.py", "polite", pids)
        stop.stop(folder, Grace(0.2, 5))  # at whatever point of its start it is
        assert stop.wait(folder, 15)
        until(lambda folder=folder: not marked(folder.path), "the supervisor's end")
    assert marked(root) == []


# -- without its supervisor ---------------------------------------------------------------------------------------


def without_supervisor(folder):
    supervisor = supervisor_of(folder)
    os.kill(supervisor, signal.SIGKILL)
    until(lambda: not is_living(supervisor), "the supervisor's death")


@pytest.mark.parametrize(("mode", "stage"), [("polite", "terminate"), ("deaf", "kill")])
def test_a_run_whose_supervisor_was_killed_is_lost_and_stop_still_ends_all_of_it(family, mode, stage):
    folder, members = family(mode)
    without_supervisor(folder)
    seen = status(folder)
    assert seen.state == "lost"
    assert "still runs" in seen.detail
    assert stop.stop(folder, Grace(0.3, 0.3)).code == "swept"
    assert gone(members)
    assert exit_record(folder).stop_stage == stage
    seen = status(folder)
    assert (seen.state, seen.exit_code, seen.stopped_by_person) == ("stopped", None, True)


def test_even_without_any_record_of_pids_the_mark_finds_the_run(family):
    folder, members = family("polite")
    without_supervisor(folder)
    (folder.path / "state.json").unlink()
    assert stop.stop(folder, Grace(0.2, 5)).code == "swept"
    assert gone(members)


def test_a_lost_run_of_which_nothing_lives_stays_lost(family):
    folder, members = family("polite")
    without_supervisor(folder)
    for pid in members.values():
        os.kill(pid, signal.SIGKILL)
    until(lambda: gone(members), "their end")
    assert stop.stop(folder).code == "ended"
    assert status(folder).state == "lost"


def test_two_stops_of_an_orphaned_run_do_not_meet(family):
    folder, members = family("deaf")
    without_supervisor(folder)
    codes = []
    threads = [threading.Thread(target=lambda: codes.append(stop.stop(folder, Grace(0.3, 0.3)).code)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "swept" in codes
    assert set(codes) <= {"swept", "asked", "ended"}
    assert gone(members)


# -- whom a stop must not touch -----------------------------------------------------------------------------------


@pytest.fixture
def bystander():
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    yield process
    alive = process.poll() is None
    process.kill()
    process.wait()
    assert alive, "an innocent process was signalled"


def test_a_pid_that_came_round_again_is_not_signalled(forged, bystander):
    ticks = proctree.start_ticks(bystander.pid)
    other = {"pid": bystander.pid, "ticks": ticks - 1}
    folder = forged({"supervisor": other, "leader": other})
    assert status(folder).state == "lost"
    assert "still runs" not in status(folder).detail
    assert stop.stop(folder, Grace(0.1, 0.1)).code == "ended"
    assert stop.progress(folder) == ()


def test_send_compares_the_birth(bystander):
    ticks = proctree.start_ticks(bystander.pid)
    assert not proctree.send((bystander.pid, ticks + 1), signal.SIGKILL)
    assert proctree.send((bystander.pid, ticks), 0)


def test_send_compares_the_birth_on_a_kernel_without_pidfd(bystander, monkeypatch):
    monkeypatch.delattr(os, "pidfd_open")
    ticks = proctree.start_ticks(bystander.pid)
    assert not proctree.send((bystander.pid, ticks + 1), signal.SIGKILL)
    assert proctree.send((bystander.pid, ticks), 0)


def test_the_run_of_another_host_is_refused(forged, bystander):
    other = {"pid": bystander.pid, "ticks": proctree.start_ticks(bystander.pid)}
    folder = forged({"host": "node-7", "supervisor": other, "leader": other}, heartbeat=1)
    result = stop.stop(folder, Grace(0.1, 0.1))
    assert (result.code, result.refused) == ("elsewhere", True)
    assert "node-7" in result.sentence
    assert not (folder.path / "stop.json").exists()
    assert stop.progress(folder) == ()


@pytest.mark.parametrize("place", [{"boot_id": "another"}, {"pid_namespace": "pid:[1]"}])
def test_another_boot_or_namespace_is_refused_too(forged, bystander, place):
    other = {"pid": bystander.pid, "ticks": proctree.start_ticks(bystander.pid)}
    folder = forged({**place, "supervisor": other, "leader": other}, heartbeat=1)
    assert stop.stop(folder, Grace(0.1, 0.1)).code == "elsewhere"


def test_a_folder_with_damaged_records_is_refused_with_the_reason(forged):
    folder = forged()
    (folder.path / "state.json").write_text("{")
    result = stop.stop(folder)
    assert (result.code, result.refused) == ("unknown", True)
    assert "state.json is damaged" in result.sentence


def test_a_run_started_inside_a_run_is_its_own(python, root, pids):
    # the inner supervisor hangs below the outer one, its adopter; its mark says whose it is
    starter = PROGRAMS / "starter.py"
    outer = python(starter, root, sys.executable, PROGRAMS / "family.py", "polite", pids)
    names = ("leader", "session", "daemon")
    until(lambda: all((pids / name).exists() for name in names), "the inner family")
    inner = {name: int((pids / name).read_text()) for name in names}
    stop.stop(outer, Grace(5, 5))
    assert stop.wait(outer, 15)
    assert all(map(is_living, inner.values()))
    (folder,) = [one for one in launcher.store.list_runs(root) if one != outer]
    assert status(folder).state == "starting"
    stop.stop(folder, Grace(0.2, 5))
    assert stop.wait(folder, 15)
    assert gone(inner)


def test_a_script_that_uses_the_marks_name_for_itself_does_not_escape(python, pids, tmp_path):
    code = (
        "import os, subprocess, sys, pathlib\n"
        "inner = 'import os, time, pathlib; pathlib.Path(sys.argv[1]).write_text(str(os.getpid())); time.sleep(600)'\n"
        "subprocess.run([sys.executable, '-c', 'import sys;' + inner, sys.argv[1]],"
        " env={**os.environ, 'PRL_RUN_DIR': sys.argv[2]}, start_new_session=True)\n"
    )
    folder = python("-c", code, pids / "inner", tmp_path)
    pid = int(until(lambda: (pids / "inner").exists() and (pids / "inner").read_text(), "the inner process"))
    stop.stop(folder, Grace(0.3, 5))
    assert stop.wait(folder, 15)
    assert not is_living(pid)


def test_the_supervisor_is_the_only_one_that_a_stop_leaves_to_itself(family):
    folder, _ = family("polite")
    started = read_started(folder)
    assert started.supervisor[0] not in {left.pid for left in stop.progress(folder)}
    stop.stop(folder, Grace(0.2, 5))
    assert stop.wait(folder, 15)


SAVES_ON_TERM = """
import signal, sys, time
def save(*_):
    open(sys.argv[1] + "-begun", "w").close()
    time.sleep(2.5)
    open(sys.argv[1], "w").close()
    sys.exit()
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, save)
print("training", flush=True)
time.sleep(60)
"""


def test_a_term_that_came_late_has_its_whole_grace_also_for_who_takes_over(python, tmp_path):
    """Its moment was taken for the one at which it had been due: KILL came seconds after it, in the middle of the saving."""
    folder = python("-c", SAVES_ON_TERM, tmp_path / "saved")
    until(lambda: "training" in folder.output.read_text(), "its first line")
    supervisor = supervisor_of(folder)
    os.kill(supervisor, signal.SIGKILL)
    until(lambda: not is_living(supervisor), "its supervisor's end")
    long_ago = {"asked": time.time() - 60, "grace": {"interrupt": 0.2, "terminate": 30}}
    records.write_record(folder.path / records.STOP, long_ago)
    code = "import sys\nfrom pathlib import Path\nfrom prl_tui.runs import folder, stop\n"
    code += "stop.stop(folder.RunFolder(Path(sys.argv[1])))"
    with subprocess.Popen([sys.executable, "-c", code, str(folder.path)]) as first:
        until((tmp_path / "saved-begun").exists, "TERM")
        time.sleep(0.2)  # it is written down by then
        first.kill()
    assert stop.stop(folder).code == "swept"
    assert (tmp_path / "saved").exists()
    assert exit_record(folder).stop_stage == "terminate"


SAYS_WHICH = """
import signal, sys, time
def say(number, _):
    print("got", number, flush=True)
    if number == 15:
        sys.exit()
signal.signal(signal.SIGINT, say)
signal.signal(signal.SIGTERM, say)
print("training", flush=True)
for _ in range(600):
    time.sleep(0.1)
"""


@pytest.mark.parametrize("damaged", [False, True], ids=["its request", "a damaged request"])
def test_a_stop_that_its_supervisor_never_heeded_begins_with_int(python, damaged):
    """It was suspended, as a debugger or a scheduler does, and then killed: the stop began with TERM, 10 s later."""
    folder = python("-c", SAYS_WHICH)
    until(lambda: "training" in folder.output.read_text(), "its first line")
    supervisor = supervisor_of(folder)
    os.kill(supervisor, signal.SIGSTOP)
    assert stop.stop(folder, Grace(0.5, 30)).code == "asked"
    os.kill(supervisor, signal.SIGKILL)
    until(lambda: not is_living(supervisor), "its supervisor's end")
    if damaged:
        (folder.path / records.STOP).write_text("{")
    begun = time.monotonic()
    assert stop.take_over(folder, Grace(0.5, 30)).code == "swept"
    assert time.monotonic() - begun < 8
    until(lambda: "got 15" in folder.output.read_text(), "its last line")
    assert [line for line in folder.output.read_text().splitlines() if line.startswith("got")] == ["got 2", "got 15"]


def test_requests_and_stages_written_at_one_moment_are_all_kept(forged):
    """Each reads stop.json, changes it and writes it back: of two at once, the slower one took the other's change back."""
    folder = forged()
    for _ in range(20):
        (folder.path / records.STOP).unlink(missing_ok=True)
        asking.note(folder, Grace(10, 35), by="first")
        works = [lambda: asking.note_stage(folder, ladder.TERMINATE), lambda: asking.note(folder, Grace(0, 2), by="second"),
                 lambda: asking.note(folder, Grace(5, 30), by="third")]  # fmt: skip
        with ThreadPoolExecutor(len(works)) as pool:
            for done in [pool.submit(work) for work in works]:
                done.result()
        kept = records.read_record(folder.path / records.STOP)
        assert (kept["stage"], kept["grace"], kept["by"]["via"]) == (
            "terminate",
            {"interrupt": 0, "terminate": 2},
            "first",
        )
