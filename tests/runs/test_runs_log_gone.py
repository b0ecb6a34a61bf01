"""A log that is deleted, rotated or replaced while a run writes it: what comes later is at its path, or is counted."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from prl_tui.runs import launcher, logpump, records, salvage, stop
from prl_tui.runs.folder import RunFolder, read_ended, read_log_end
from prl_tui.runs.heir import Heir, Heritage
from prl_tui.runs.logpump import LogPump, open_log
from prl_tui.runs.state import log_end
from prl_tui.telemetry import cause
from tests.runs.helpers import ended, supervisor_of, until

NOBODY = 1 << 30
FAILS = """
import os, sys, time
for n in range(20): print("line", n, flush=True)
while not os.path.exists(sys.argv[1]): time.sleep(0.01)
raise RuntimeError("out of luck")
"""


def delete(log):
    log.unlink()


def rotate(log):
    log.rename(log.with_suffix(".1"))


def replace(log):
    rotate(log)
    log.touch()


WAYS = pytest.mark.parametrize("take_away", [delete, rotate, replace], ids=lambda way: way.__name__)


@pytest.fixture
def log(tmp_path):
    return tmp_path / "output.log"


@pytest.fixture
def pump(log):
    return LogPump(open_log(log), log)


@WAYS
def test_the_cause_of_a_failure_is_in_the_log_that_took_its_place(root, pids, take_away):
    """The run ends sooner than the supervisor looks by itself."""
    folder = launcher.start(root, launcher.Job((sys.executable, "-c", FAILS, str(pids / "go"))))
    until(lambda: folder.output.read_bytes().endswith(b"line 19\n"), "its lines")
    take_away(folder.output)
    (pids / "go").touch()
    assert ended(folder).exit_code == 1
    assert b"RuntimeError: out of luck" in folder.output.read_bytes()
    assert "out of luck" in cause.find(folder.output, ()).text
    assert read_ended(folder).dropped == 0


@WAYS
def test_what_comes_after_a_look_is_at_the_path(pump, log, take_away):
    pump.put(b"before\n")
    pump.look()
    take_away(log)
    pump.put(b"between\n")
    pump.look()
    pump.put(b"after\n")
    pump.close()
    assert log.read_bytes() == b"between\nafter\n"
    assert log.stat().st_mode & 0o777 == 0o600 or take_away is replace
    assert pump.dropped == 0


def test_what_a_rotation_wrote_there_meanwhile_stays(pump, log):
    rotate(log)
    log.write_bytes(b"rotated\n")
    pump.look()
    pump.put(b"after\n")
    pump.close()
    assert log.read_bytes() == b"rotated\nafter\n"


def test_a_log_that_was_cut_is_no_other_log(pump, log):
    pump.put(b"before\n")
    pump.look()
    os.truncate(log, 0)
    pump.look()
    pump.put(b"x\n")
    delete(log)
    pump.put(b"after\n")
    pump.close()
    assert log.read_bytes() == b"x\nafter\n"
    assert pump.dropped == 0


def test_what_is_too_much_to_be_copied_is_counted_and_marked(pump, log, monkeypatch):
    monkeypatch.setattr(logpump, "RESCUED", 1000)
    delete(log)
    pump.put(b"a" * 5000 + b"b" * 1000)
    pump.look()
    assert pump.dropped == 5000
    pump.close()
    assert log.read_bytes() == (
        b"\n[prl-tui] 5000 bytes of output were dropped here: the log was deleted\n" + b"b" * 1000
    )


def test_what_only_a_deleted_file_has_is_counted(pump, log):
    pump.put(b"before\n")
    pump.look()
    delete(log)
    log.mkdir()
    pump.put(b"x" * 500)
    pump.look()
    pump.close()
    assert pump.dropped == 500


def test_a_pipe_in_its_place_does_not_hold_up_the_run(pump, log):
    delete(log)
    os.mkfifo(log)
    for _ in range(40):
        pump.put(b"x" * 5000)
        pump.look()
    pump.close()
    assert pump.dropped == 200_000


def test_a_folder_that_was_removed_is_not_made_again(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    pump = LogPump(open_log(folder / "output.log"), folder / "output.log")
    delete(folder / "output.log")
    folder.rmdir()
    pump.put(b"x")
    pump.close()
    assert not folder.exists()


@pytest.mark.slow
@WAYS
def test_a_run_that_goes_on_is_read_at_the_path_within_a_heartbeat(root, take_away):
    text = "import time\nfor n in range(10**6): print(n, flush=True); time.sleep(0.01)"
    folder = launcher.start(root, launcher.Job((sys.executable, "-c", text)))
    until(lambda: folder.output.stat().st_size > 100, "its lines")
    take_away(folder.output)
    until(lambda: folder.output.exists() and folder.output.stat().st_size > 100, "its lines again", 8)
    stop.stop(folder, stop.Grace(0.2, 0.2))


# -- a supervisor that is gone ---------------------------------------------------------------------------------------


def heir_of(folder, log, pipe):
    ends = []
    for data in (b"", pipe):
        reading, writing = os.pipe()
        os.write(writing, data)
        os.close(writing)
        ends.append(reading)
    return Heir(folder, Heritage(NOBODY, pipe=ends[1], tank=ends[0], log=log))


@WAYS
def test_the_heir_writes_at_the_path_and_takes_along_what_its_supervisor_wrote_last(forged, take_away):
    folder = forged()
    held = open_log(folder.output)
    pump = LogPump(os.dup(held), folder.output)
    pump.put(b"before\n")
    pump.look()
    records.write_heartbeat(folder.path / records.HEARTBEAT, {"time": 0.0, "dropped": 0, records.SURE: pump.sure()})
    take_away(folder.output)
    pump.put(b"between\n")
    heir_of(folder, held, b"after\n").run()
    assert folder.output.read_bytes() == b"between\nafter\n"
    assert read_log_end(folder).dropped == 0
    assert log_end(folder) == "whole"


def test_a_recorder_lets_go_of_a_deleted_log_once_there_is_another(forged):
    folder = forged()
    held = open_log(folder.output)
    heir = heir_of(folder, held, b"")
    delete(folder.output)
    heir.keep_up()
    assert os.fstat(held).st_nlink == 0, "its supervisor may still have to copy from it"
    folder.output.write_bytes(b"new\n")
    heir.keep_up()
    assert os.path.sameopenfile(held, open_log(folder.output))


@pytest.mark.slow
@WAYS
def test_a_supervisor_that_is_killed_after_its_log_went_leaves_it_to_its_recorder(root, take_away):
    text = "import time\nfor n in range(10**6): print(n, flush=True); time.sleep(0.01)"
    folder = launcher.start(root, launcher.Job((sys.executable, "-c", text), recorded=True, info={}))
    until((folder.path / "history.jsonl").exists, "the recorder")
    take_away(folder.output)
    os.kill(supervisor_of(folder), signal.SIGKILL)
    until(lambda: folder.output.exists() and folder.output.stat().st_size > 500, "that the log goes on", 8)
    assert stop.stop(folder, stop.Grace(0.2, 0.2)).code == "swept"
    assert log_end(folder) == "whole"


def test_what_is_salvaged_is_at_the_path(tmp_path):
    reading, writing = os.pipe()
    os.write(writing, b"last words\n")
    os.close(writing)
    os.set_blocking(reading, False)
    assert salvage.drain(RunFolder(tmp_path), reading) == 0
    assert (tmp_path / "output.log").read_bytes() == b"last words\n"
