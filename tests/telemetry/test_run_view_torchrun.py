"""A real torchrun start, read while it runs (judged with torch 2.13)."""

import os
import subprocess
import sys
import time

import pytest

from prl_tui.telemetry.run_view import RunReader

SCRIPT = """
import os, sys, time
rank = int(os.environ["RANK"])
print("[INFO:swift] rank: 0, local_rank: 0, world_size: 2, local_world_size: 2" if rank == 0 else "rank 1", file=sys.stderr)
for step in range(1, 6):
    if rank == 0:
        print(f"\\rTrain:  {step * 20}%|##| {step}/5 [00:01<00:01,  1.00s/it]", end="", file=sys.stderr)
        print({"loss": 1 / step, "global_step/max_steps": f"{step}/5"})
    time.sleep(0.05)
if rank == 1 and "FAIL" in os.environ:
    raise ValueError("simulated")
if rank == 0:
    print("\\n[INFO:swift] End time of running main: now", file=sys.stderr)
"""


def launch(folder, **more):
    folder.mkdir()
    (folder / "ranks").mkdir()
    script = folder / "script.py"
    script.write_text(SCRIPT)
    environment = os.environ | {"PET_LOG_DIR": str(folder / "ranks"), "PET_REDIRECTS": "3", "PET_TEE": "3"}
    environment |= {"OMP_NUM_THREADS": "1", **more}
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", str(script)]
    with (folder / "output.log").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment)


def watch(reader, process):
    deadline = time.monotonic() + 90
    phases = []
    while process.poll() is None and time.monotonic() < deadline:
        phases.append(reader.poll().phase)
        time.sleep(0.05)
    assert process.poll() is not None, "torchrun is still running"
    reader.poll()
    return list(dict.fromkeys(phases)), reader.poll(ended=True)


@pytest.mark.slow
@pytest.mark.torch
def test_a_run_that_goes_well_is_followed_to_its_end(tmp_path):
    process = launch(tmp_path / "run")
    phases, view = watch(RunReader.of_folder(tmp_path / "run"), process)
    assert process.returncode == 0
    assert phases[0] == "waiting"
    assert (view.phase, view.done, view.errors) == ("done", True, ())
    assert (view.progress.step, view.progress.total, view.rows) == (5, 5, 5)
    assert [value for _, value in view.series["loss"]] == [1 / step for step in range(1, 6)]
    assert [log.rank for log in view.ranks] == [0, 1]
    pane = view.ranks[0].open()
    pane.update()
    text = b"\n".join(pane.read_lines(0, pane.lines))
    assert b"{'loss': 0.2" in text
    assert b"End time of running main" in text
    assert b"rank 1" not in text
    pane.close()


@pytest.mark.slow
@pytest.mark.torch
def test_the_rank_that_failed_is_told_by_its_own_log(tmp_path):
    process = launch(tmp_path / "run", FAIL="1")
    reader = RunReader.of_folder(tmp_path / "run")
    _, view = watch(reader, process)
    assert process.returncode == 1
    marks = {mark.path: mark for mark in view.errors}
    failed = marks[view.ranks[1].stderr]
    assert "Traceback" in failed.text
    assert failed.path.read_text().splitlines()[failed.line].startswith("Traceback")
    assert view.ranks[0].stderr not in marks
    reader.close()
