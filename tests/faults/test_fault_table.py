"""The fault table: each row breaks a real run on purpose and says what must be true afterwards.

Everything runs without torch; rows of tests/runs that need a disk, a terminal or torchrun stay there.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time

import pytest

from prl_tui.runs import claims, launcher, lock, records, stacks, stop, store, sweep
from prl_tui.runs.folder import read_ended
from prl_tui.runs.state import log_end, status
from prl_tui.telemetry import gpu_history
from tests.faults.conftest import QUICK, UUID, stopped
from tests.runs.helpers import ended, is_idle, is_living, supervisor_of, until, write

pytestmark = pytest.mark.slow


GONE = "Its supervisor was gone, so the exit code is not known"
CUT = "Its supervisor was gone: exit code not known, the log's end may be missing"


def kill(pid, number=signal.SIGKILL):
    os.kill(pid, number)
    if number == signal.SIGKILL:
        until(lambda: not is_living(pid), f"the death of {pid}")


def test_nothing_breaks(tree):
    """The row that shows that the others can fail."""
    one = tree("brief")
    seen = ended(one.folder)
    assert (seen.state, seen.exit_code) == ("finished", 0)
    assert (one.lost(), one.said()) == (0, 3 * 200 * 200)
    one.clean()


def test_sigkill_of_the_supervisor(tree):
    """Lost, never finished; the recorder reads its log on; its claim holds as long as its processes do; sweep ends them."""
    one = tree("deaf")
    kill(supervisor_of(one.folder))
    assert status(one.folder).state == "lost"
    before, size = one.said(), one.folder.output.stat().st_size
    until(lambda: one.said() > before + 20_000, "that they write on")
    until(lambda: one.folder.output.stat().st_size > size + 20_000, "that it is in the log")
    assert status(one.folder).detail == "Its supervisor is gone, but it still runs: a stop ends what is left of it"
    assert [claim.run for claim in claims.held(one.root)] == [one.folder.id]
    with pytest.raises(launcher.LaunchError, match="reserved"):
        launcher.start(one.root, launcher.Job(("true",), gpus={UUID: 0}))
    assert store.remove(one.folder) is not None
    (found,) = sweep.find(one.root)
    assert {left.pid for left in found.processes} == set(one.pids.values())
    one.clean()
    seen = status(one.folder)
    assert (seen.state, seen.detail) == ("stopped", GONE)
    assert one.lost() == 0


def test_sigkill_of_the_supervisor_with_a_full_pipe(tree):
    """What it had not read is in the log, all of it, and the writers that waited go on."""
    one = tree("deaf")
    supervisor = supervisor_of(one.folder)
    kill(supervisor, signal.SIGSTOP)
    said = -1
    while said != one.said():  # until the pipe takes no more
        said = one.said()
        time.sleep(0.3)
    behind = said - one.folder.output.stat().st_size
    assert behind > 60_000
    kill(supervisor)
    until(lambda: one.said() > said + 20_000, "that they write on")
    one.clean()
    assert one.lost() == 0
    assert status(one.folder).detail == GONE


def test_sigkill_of_the_supervisor_in_the_middle_of_a_flood(root, tmp_path):
    """Each time at another moment, while bytes are on their way: the log is the very text that was written."""
    lines = 300_000
    text = f"import sys\nfor n in range({lines}): sys.stdout.write(f'{{n:099d}}\\n')"
    whole = b"".join(b"%099d\n" % n for n in range(lines))
    behind = []
    for n in range(8):
        job = launcher.Job((sys.executable, "-c", text), recorded=True, info={"activation": {"kind": "this"}})
        folder = launcher.start(root, job)
        until(
            lambda folder=folder: folder.output.exists() and folder.output.stat().st_size > n * len(whole) // 10, "it"
        )
        kill(supervisor_of(folder))
        behind.append(len(whole) - folder.output.stat().st_size)
        until(lambda folder=folder: log_end(folder) == "whole", "the end of its log")
        assert folder.output.read_bytes() == whole
    assert sum(count > 0 for count in behind) > 4, "killed in time"


def test_sigkill_of_the_supervisor_of_a_run_that_ends_by_itself(tree):
    """Nobody knows its exit code; its log is whole, and the recorder has left."""
    one = tree("brief")
    kill(supervisor_of(one.folder))
    until(lambda: not any(map(is_living, one.pids.values())), "its end")
    until(lambda: not one.recorders(), "the recorder's end")
    assert (one.lost(), one.said()) == (0, 3 * 200 * 200)
    seen = status(one.folder)
    assert (seen.state, seen.detail) == ("lost", "Its supervisor is gone and left no exit record")
    one.clean()


@pytest.mark.parametrize("first", ["recorder", "supervisor"])
def test_sigkill_of_the_recorder_and_the_supervisor(tree, first):
    """Nobody can say how much of the log is missing, so it is said that something may be."""
    one = tree("deaf")
    supervisor, recorders = supervisor_of(one.folder), until(one.recorders, "the recorder")
    for pid in (*recorders, supervisor) if first == "recorder" else (supervisor, *recorders):
        kill(pid)
    seen = status(one.folder)
    assert (seen.state, seen.detail) == (
        "lost",
        "It still runs without a supervisor, its log has ended: a stop ends the rest",
    )
    one.clean()
    seen = status(one.folder)
    assert (seen.state, seen.detail) == ("stopped", CUT)


def test_sigkill_of_the_recorder_and_the_supervisor_with_a_full_pipe(tree):
    """Who ends what is left takes the bytes out of the pipe first: its writers have it open still."""
    one = tree("deaf")
    for pid in one.pids.values():
        kill(pid, signal.SIGSTOP)
    until(lambda: is_idle(one.folder), "that nothing is on its way")
    kill(supervisor_of(one.folder), signal.SIGSTOP)
    for pid in one.pids.values():
        kill(pid, signal.SIGCONT)
    before = one.said()
    until(lambda: one.said() > before + 60_000, "bytes that nobody has read")
    for pid in (*until(one.recorders, "the recorder"), supervisor_of(one.folder)):
        kill(pid)
    one.clean()
    assert one.lost() == 0
    seen = status(one.folder)
    assert (seen.state, seen.detail) == ("stopped", CUT)


def test_sigkill_of_the_recorder(tree):
    """The run goes on, its history too after a gap that is told as one; the log has an heir again."""
    one = tree("polite")
    path = one.folder.path / gpu_history.FILE
    until(lambda: list(gpu_history.read(path)), "a row")
    (recorder,) = until(lambda: len(found := one.recorders()) == 1 and found, "the snapshot's end")
    kill(recorder)
    assert status(one.folder).state == "starting"
    known = len(list(gpu_history.read(path)))
    (again,) = until(one.recorders, "another recorder")
    assert again != recorder
    rows = until(lambda: len(found := list(gpu_history.read(path))) > known and found, "that it goes on")
    assert rows[known][1].time - rows[known - 1][1].time > 2 * rows[known][1].seconds
    assert {left.pid for left in stop.progress(one.folder)} == set(one.pids.values())
    kill(supervisor_of(one.folder))
    said = one.said()
    until(lambda: one.said() > said + 10_000, "that they write on")
    one.clean()
    assert one.lost() == 0


def test_sigkill_of_the_launcher_alone(tree):
    """What it leaves is ended by the supervisor and counted; the run failed with the shell's code for it."""
    one = tree("polite")
    kill(one.pids["leader"])
    seen = ended(one.folder, 40)
    assert (seen.state, seen.exit_code) == ("failed", 137)
    assert json.loads((one.folder.path / "exit.json").read_text())["strays"] == 2
    assert one.lost() == 0
    one.clean()


@pytest.mark.parametrize("member", ["session", "daemon"])
def test_sigkill_of_one_member(tree, member):
    """The others are not told; a stop still ends all of them."""
    one = tree("polite")
    kill(one.pids[member])
    assert status(one.folder).state == "starting"
    stopped(one)
    assert one.lost() == 0
    one.clean()


def test_hang_up_of_the_supervisor_and_the_whole_tree(tree):
    """The supervisor stays; writers that a hang-up ends are an end like any other."""
    one = tree("polite")
    kill(supervisor_of(one.folder), signal.SIGHUP)
    for pid in one.pids.values():
        kill(pid, signal.SIGHUP)
    seen = ended(one.folder)
    assert (seen.state, seen.exit_code) == ("failed", 129)
    assert one.lost() == 0
    one.clean()


def test_the_supervisor_is_suspended_for_a_while(tree):
    """The writers wait at the full pipe; nothing is lost once it goes on."""
    one = tree("polite")
    kill(supervisor_of(one.folder), signal.SIGSTOP)
    before = one.said()
    until(lambda: one.said() > before + 100_000, "more output than was read")
    kill(supervisor_of(one.folder), signal.SIGCONT)
    stopped(one)
    assert one.lost() == 0
    one.clean()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 99}', '{"schema": 1}'])
def test_its_state_file_is_damaged(tree, text):
    """Alive, as its lock says; nobody sweeps or deletes it, its GPUs stay its own; by its mark it is stopped."""
    one = tree("polite")
    path = one.folder.path / records.STATE
    whole = path.read_text()
    path.write_text(text)
    assert status(one.folder).state == "unknown"
    assert sweep.find(one.root) == []
    assert store.remove(one.folder) is not None
    assert [claim.run for claim in claims.held(one.root)] == [one.folder.id]
    assert all(map(is_living, one.pids.values()))
    if "99" in text:  # a newer prl-tui's says more than we can read
        assert stop.stop(one.folder, QUICK).refused
        assert stop.leftovers(one.folder) == []
        with pytest.raises(stacks.StacksError, match="newer prl-tui"):
            stacks.read(one.folder)
        path.write_text(whole)
    else:
        assert {left.pid for left in stop.progress(one.folder)} == set(one.pids.values())
    stopped(one)
    assert status(one.folder).state == "stopped"
    one.clean()


@pytest.mark.parametrize("how", ["emptied", "cut", "deleted"])
@pytest.mark.parametrize("way", ["stop", "sweep"])
def test_sigkill_of_the_supervisor_of_a_run_whose_state_file_is_lost(tree, how, way):
    """Its processes' mark is all there is: it is told as going on, keeps its GPUs, and is ended."""
    one = tree("deaf")
    path = one.folder.path / records.STATE
    until((one.folder.path / records.HEARTBEAT).exists, "its heartbeat")
    kill(supervisor_of(one.folder))
    path.unlink() if how == "deleted" else path.write_text('{"schema":1' if how == "cut" else "")
    seen = status(one.folder)
    assert (seen.state, seen.orphaned, "still runs" in seen.detail) == ("lost", True, True)
    assert [claim.run for claim in claims.held(one.root)] == [one.folder.id]
    assert store.remove(one.folder) is not None
    (found,) = sweep.find(one.root)
    assert {left.pid for left in found.processes} == set(one.pids.values())
    if way == "stop":
        assert stop.stop(one.folder, QUICK).code == "swept"
    else:
        assert sweep.end(found, QUICK).left == 0
    until(lambda: not any(map(is_living, one.pids.values())), "their end")
    assert status(one.folder).state == "stopped"
    assert claims.held(one.root) == []
    one.clean()


def test_what_is_left_is_listed_without_the_secrets_of_its_command(root):
    """A hub's token stands in many a command line, and the list is what people send around."""
    words = ("--hub_token", "hf_" + "a" * 34, "https://bob:hunter2pw@hub.x.com/api", "--password", "zebra77pw")
    folder = launcher.start(root, launcher.Job((sys.executable, "-c", "import time; time.sleep(600)", *words)))
    until(lambda: stop.progress(folder), "its process")
    kill(supervisor_of(folder))
    (found,) = sweep.find(root)
    (told,) = {left.command.partition("sleep(600) ")[2] for left in found.processes}
    assert told == "--hub_token … https://…@hub.x.com/api --password …"
    assert stop.stop(folder, QUICK).code == "swept"


def test_its_state_file_is_deleted(tree):
    """Its supervisor reported long ago and looks for no request: the signal finds it by its mark."""
    one = tree("polite")
    until((one.folder.path / records.HEARTBEAT).exists, "its heartbeat")
    (one.folder.path / records.STATE).unlink()
    assert {left.pid for left in stop.progress(one.folder)} == set(one.pids.values())
    stopped(one)
    assert status(one.folder).state == "stopped"
    one.clean()


def test_its_lock_file_is_deleted(tree):
    """The supervisor's birth speaks for it then."""
    one = tree("polite")
    (one.folder.path / records.LOCK).unlink()
    assert status(one.folder).state == "starting"
    assert sweep.find(one.root) == []
    assert [claim.run for claim in claims.held(one.root)] == [one.folder.id]
    stopped(one)
    one.clean()


def test_locks_do_not_work(without_locks, tree):
    """A run on such a file system starts, is seen, keeps its claim, and is stopped; the recorder ends with it."""
    one = tree("polite")
    assert status(one.folder).state == "starting"
    assert sweep.find(one.root) == []
    with pytest.raises(launcher.LaunchError, match="reserved"):
        launcher.start(one.root, launcher.Job(("true",), gpus={UUID: 0}))
    assert store.remove(one.folder) is not None
    stopped(one)
    assert one.lost() == 0
    one.clean()


def test_locks_do_not_work_and_the_supervisor_is_killed(without_locks, tree):
    one = tree("deaf")
    kill(supervisor_of(one.folder))
    assert status(one.folder).state == "lost"
    one.clean()


def test_all_of_its_pids_have_come_round_again(tree):
    """The numbers live, with other births: lost, and nobody else's process is signalled."""
    one = tree("brief")
    ended(one.folder)
    state = json.loads((one.folder.path / "state.json").read_text())
    until(lambda: not lock.held(one.folder.path / records.LOCK), "its supervisor's end")
    (one.folder.path / "exit.json").unlink()
    other = {"pid": os.getpid(), "ticks": state["leader"]["ticks"]}
    write(one.folder, "state", {**state, "supervisor": other, "leader": other})
    assert status(one.folder).state == "lost"
    assert stop.stop(one.folder, QUICK).code == "ended"
    assert sweep.find(one.root) == []
    assert claims.held(one.root) == []
    one.clean()


@pytest.mark.parametrize("place", [{"host": "another"}, {"pid_namespace": "pid:[1]"}], ids=lambda p: next(iter(p)))
def test_it_is_of_another_host_or_pod(tree, place):
    """Elsewhere, not lost; no stop, no sweep, no deletion, and its GPUs are its own while it is heard of."""
    one = tree("polite")
    kill(supervisor_of(one.folder), signal.SIGSTOP)  # it must not write its own place again
    state = (one.folder.path / records.STATE).read_text()
    write(one.folder, "state", {**json.loads(state), **place})
    records.write_heartbeat(one.folder.path / records.HEARTBEAT, {"time": time.time()})
    claim = one.root.parent / claims.FOLDER / f"{one.folder.id}.json"
    claim.write_text(json.dumps({**json.loads(claim.read_text()), **place}))
    assert status(one.folder).state == "elsewhere"
    assert stop.stop(one.folder, QUICK).code == "elsewhere"
    assert sweep.find(one.root) == []
    assert store.remove(one.folder) is not None
    assert [held.run for held in claims.held(one.root)] == [one.folder.id]
    assert all(map(is_living, one.pids.values()))
    (one.folder.path / records.STATE).write_text(state)
    kill(supervisor_of(one.folder), signal.SIGCONT)
    stopped(one)
    one.clean()


@pytest.mark.parametrize("how", ["truncated", "rotated", "deleted"])
def test_its_log_is_truncated_rotated_or_deleted(tree, how):
    """The run does not care; a stop works, and what comes later is at the log's path."""
    one = tree("polite")
    log = one.folder.output
    if how == "truncated":
        os.truncate(log, 0)
    elif how == "rotated":
        log.rename(log.with_suffix(".1"))
    else:
        log.unlink()
    before = one.said()
    until(lambda: one.said() > before + 20_000, "more output")
    assert status(one.folder).state == "starting"
    assert stopped(one).was_stopped
    assert read_ended(one.folder).dropped == 0
    assert log.stat().st_size > 10_000
    one.clean()


WRAPPERS = {
    "a shell without exec": ("sh", "-c", '"$@"; exit $?', "sh"),
    "like conda run: a shell around a shell": (
        "bash",
        "-c",
        'bash -c \'"$@"; code=$?; exit $code\' inner "$@"',
        "outer",
    ),
    "a new session": ("setsid", "--wait"),
    "an empty environment": ("env", "-i"),
}


@pytest.mark.parametrize("words", WRAPPERS.values(), ids=WRAPPERS.keys())
def test_a_wrapper_stands_between(tree, words):
    """A stop reaches what is behind it, also where the wrapper hides the run's mark."""
    one = tree("polite", around=words)
    stopped(one)
    assert not any(map(is_living, one.pids.values()))
    assert one.lost() == 0
    one.clean()


def test_the_clock_steps_back_by_an_hour(tree):
    """Its heartbeat and its claim are of the future then; both still count, and its end is an end."""
    one = tree("polite")
    later = time.time() + 3600
    claim = one.root.parent / claims.FOLDER / f"{one.folder.id}.json"
    claim.write_text(json.dumps({**json.loads(claim.read_text()), "since": later}))
    os.utime(one.folder.path / records.STATE, (later, later))
    assert status(one.folder).state == "starting"
    assert [held.run for held in claims.held(one.root)] == [one.folder.id]
    assert sweep.find(one.root) == []
    stopped(one)
    one.clean()


def test_its_folder_is_deleted_under_it(tree):
    """It goes on with its GPUs until somebody ends it; its recorder leaves; no sweep takes it for an orphan."""
    one = tree("polite")
    supervisor = supervisor_of(one.folder)
    hidden = one.folder.path.with_name(".gone")
    one.folder.path.rename(hidden)
    until(lambda: not one.recorders(), "the recorder's end")
    assert sweep.find(one.root) == []
    assert [claim.run for claim in claims.held(one.root)] == [one.folder.id]
    assert all(map(is_living, one.pids.values()))
    kill(supervisor, signal.SIGTERM)
    until(lambda: not is_living(supervisor), "its end", 60)
    one.clean()


def test_a_hundred_stops_and_kills_leave_no_process_and_lose_no_byte(tree):
    """Stops of polite and deaf trees, and launchers killed under their supervisor; supervisors killed are swept."""
    left = lost = cut = 0
    for n in range(100):
        one = tree(("polite", "deaf")[n % 2], recorded=n % 4 == 3)  # its recorder is the heir of its log
        if n % 4 == 2:
            kill(one.pids["leader"])
            stop.stop(one.folder, QUICK)
            assert stop.wait(one.folder, 30)
        elif n % 4 == 3:
            kill(supervisor_of(one.folder))
            for orphan in sweep.find(one.root):
                left += sweep.end(orphan, QUICK).left
            until(lambda: not one.recorders(), "the end of its recorder")
            cut += log_end(one.folder) != "whole"
        else:
            stopped(one)
        left += sum(map(is_living, one.pids.values()))
        lost += one.lost()
    print(f"100 stops and kills: {left} processes left, {lost} bytes lost without a count, {cut} logs without an end")
    assert (left, lost, cut) == (0, 0, 0)
