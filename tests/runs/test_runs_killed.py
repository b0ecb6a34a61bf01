"""What is said of a run, or of a rank, that SIGKILL ended: where the evidence stands, and what may have sent it.

Judged by hand too: in a memory cgroup of 60 MB (Linux 6.18, cgroup v1) the kernel killed a run of 300 MB, the count of
`/proc/vmstat` rose, and the foreground launch said so.
"""

from __future__ import annotations

import sys
import time

import pytest

from prl_tui.cli import failing
from prl_tui.machine import host
from prl_tui.runs import launcher, memory_killer, overview, stop
from prl_tui.telemetry import cause, gpu_history
from prl_tui.telemetry.gpu_history import Row
from tests.runs.helpers import ended

PLAIN = "the kernel sends SIGKILL when memory runs out; else somebody did"
RANK = """
import os, signal, time
import torch.distributed as dist
dist.init_process_group("gloo")
print({"loss": 0.5, "global_step/max_steps": "1/90", "elapsed_time": "4s"}, flush=True)
if dist.get_rank() == 1:
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(60)
"""


@pytest.fixture
def killed(root):
    folder = launcher.start(root, launcher.Job((sys.executable, "-c", "import os; os.kill(os.getpid(), 9)")))
    ended(folder)
    return folder


def record(folder, *rows):
    """Rows of the recorder: memory used, whole memory, processes killed so far."""
    writer = gpu_history.Writer(folder.path / gpu_history.FILE)
    for n, (used, total, kills) in enumerate(rows):
        writer.add(None, Row(1.0 + n, 1.0, (), (5.0, used, 1.0, 1000.0, total, kills)))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], PLAIN),
        ([(100, 1000, 3), (100, 1000, 3)], PLAIN),
        ([(100, None, None), (990, None, None)], PLAIN),
        ([(100, 1000, 3), (100, 1000, 4)], "the kernel killed 1 process of this box for want of memory"),
        ([(990, 1000, 0), (100, 1000, 2)], "the kernel killed 2 processes of this box for want of memory"),
        ([(100, 2048, 3), (2000, 2048, 3)], "the memory was nearly full, 2.0 of 2.0 GiB"),
    ],
)
def test_the_record_of_the_run_tells_what_the_memory_did(killed, rows, words):
    record(killed, *rows)
    assert memory_killer.words(killed, ended=1.0).startswith(words)


def test_right_after_the_end_the_kernel_is_asked_itself(killed, monkeypatch):
    record(killed, (100, 1000, 3))
    monkeypatch.setattr(host, "oom_kills", lambda: 4)
    assert memory_killer.words(killed, time.time()).startswith("the kernel killed 1 process")
    assert memory_killer.words(killed, time.time() - 3600) == PLAIN, "later kills are of others"


def test_a_run_that_sigkill_ended_says_what_that_means(killed):
    one = overview.overview(killed)
    assert one.why == PLAIN
    assert failing.lines(one)[:2] == [f"  {PLAIN}", "  it wrote nothing"]
    assert failing.as_data(one)["why"] == PLAIN


def test_a_run_that_a_person_stopped_or_that_failed_otherwise_has_none(root):
    folder = launcher.start(root, launcher.Job((sys.executable, "-c", "raise SystemExit(9)")))
    ended(folder)
    assert overview.overview(folder).why == ""


def test_this_kernel_counts_what_it_killed(tmp_path):
    (tmp_path / "proc").mkdir()
    assert host.oom_kills(tmp_path) is None
    (tmp_path / "proc/vmstat").write_text("nr_free_pages 7\noom_kill 12\n")
    assert host.oom_kills(tmp_path) == 12
    assert (host.oom_kills() or 0) >= 0


@pytest.mark.slow
@pytest.mark.torch
def test_a_killed_rank_points_to_the_launchers_log_which_alone_has_the_evidence(root, tmp_path):
    """torchrun of torch 2.13, two gloo ranks: `exitcode : -9 (pid: …) (SIGKILL)` stands on the console only."""
    pytest.importorskip("torch")
    (tmp_path / "train.py").write_text(RANK)
    torchrun = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
    job = launcher.Job((*torchrun, str(tmp_path / "train.py")), per_rank_logs=True)
    folder = launcher.start(root, job)
    try:
        assert stop.wait(folder, 120.0)
    finally:
        stop.stop(folder, grace=stop.Grace(interrupt=0.0, terminate=0.5), by="test")
    one = overview.overview(folder)
    assert (one.cause.words(), one.cause.path) == ("rank 1: ended by SIGKILL", folder.output)
    assert "(SIGKILL)" in folder.output.read_text().split("\n")[one.cause.line]
    told = failing.lines(one)
    assert told[1] == f"  {PLAIN}"
    assert told[2] == f"  │ {cause._BLOCK}"
    assert "exitcode  : -9" in "".join(told)
    assert told[-2:] == [
        f"  see: prl-tui logs {one.id}",
        f"  what rank 1 said last: prl-tui logs {one.id} --rank 1",
    ]
