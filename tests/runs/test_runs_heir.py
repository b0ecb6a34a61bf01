"""What becomes of a log whose supervisor is gone: read on by the recorder, counted, and told."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from prl_tui.runs import launcher, records, stop
from prl_tui.runs.folder import LogEnd, read_log_end
from prl_tui.runs.heir import Heir, Heritage
from prl_tui.runs.logpump import open_log
from prl_tui.runs.proctree import birth
from prl_tui.runs.state import log_end, status
from tests.runs.helpers import supervisor_of, until, write
from tests.runs.test_runs_disk import fill, small  # noqa: F401  (a fixture)

NOBODY = 1 << 30
"""The pid of no parent of this process: the heir sees that its supervisor is gone."""


def inherited(folder, tank=b"", pipe=b""):
    """An heir of these bytes, which nobody adds to."""
    ends = []
    for data in (tank, pipe):
        reading, writing = os.pipe()
        os.write(writing, data)
        os.close(writing)
        ends.append(reading)
    return Heir(folder, Heritage(NOBODY, pipe=ends[1], tank=ends[0], log=open_log(folder.output)))


def test_it_reads_the_tank_and_then_the_pipe_and_says_that_the_log_is_whole(forged):
    folder = forged()
    folder.output.write_bytes(b"before\n")
    inherited(folder, b"taken out\n", b"not yet\n").run()
    assert folder.output.read_bytes() == b"before\ntaken out\nnot yet\n"
    assert read_log_end(folder) == LogEnd(True, 0, birth(os.getpid()))
    assert log_end(folder) == "whole"


def test_what_does_not_fit_is_counted_together_with_what_the_supervisor_had_dropped(forged, small):  # noqa: F811
    folder = forged()
    records.write_heartbeat(folder.path / records.HEARTBEAT, {"time": 0.0, "dropped": 1000})
    fill(small / "ballast")
    folder.output.symlink_to(small / "log")
    inherited(folder, pipe=b"x" * 500).run()
    assert read_log_end(folder).dropped == 1500
    exit_ = {"exit_code": None, "error": {"code": "supervisor-gone"}, "stop": {"stage": "kill"}, "dropped": 1500}
    write(folder, "exit", exit_)
    assert status(folder).detail == (
        "Its supervisor was gone, so the exit code is not known, and the disk was full or the log was deleted: "
        "1500 bytes of output are missing from the log"
    )


def test_a_run_that_wrote_down_its_end_needs_no_heir(forged):
    folder = forged(exit={"exit_code": 0})
    inherited(folder, pipe=b"a stray's\n").run()
    assert not folder.output.exists() or folder.output.read_bytes() == b""
    assert read_log_end(folder) is None


def test_a_reader_that_was_killed_leaves_a_log_whose_end_may_be_missing(forged):
    me = birth(os.getpid())
    reading = {"whole": False, "dropped": 0, "reader": {"pid": me[0], "ticks": me[1]}}
    folder = forged(**{"log-end": reading})
    assert log_end(folder) == "read"
    write(folder, "log-end", {**reading, "reader": {"pid": me[0], "ticks": me[1] + 1}})
    assert log_end(folder) == "cut"
    (folder.path / records.LOG_END).write_text("{")
    assert log_end(folder) == "cut"


@pytest.mark.slow
def test_a_driver_that_hangs_does_not_hold_up_the_log(root, nvml_stub, monkeypatch):
    """The recorder's own thread for it waits in the driver, the run's last words are read all the same."""
    for name in ("LD_LIBRARY_PATH", "FAKE_NVML_STATE"):
        monkeypatch.setenv(name, nvml_stub.environment()[name])
    nvml_stub.set("* slow_ms 20000")
    text = "import time\nfor n in range(10**6): print(n, flush=True); time.sleep(0.01)"
    folder = launcher.start(root, launcher.Job((sys.executable, "-c", text), recorded=True, info={}))
    until((folder.path / "history.jsonl").exists, "the recorder")
    os.kill(supervisor_of(folder), signal.SIGKILL)
    size = folder.output.stat().st_size
    until(lambda: folder.output.stat().st_size > size + 500, "that the log goes on", 3)
    assert stop.stop(folder, stop.Grace(0.2, 0.2)).code == "swept"
    assert log_end(folder) == "whole"
    lines = folder.output.read_text().split("\n")
    assert lines[:100] == [str(n) for n in range(100)]
