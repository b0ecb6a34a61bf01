"""A box of stub GPUs with a run on it: real processes with a rank's environment, the real app over the real binding."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager

from prl_tui.machine import paths
from prl_tui.runs import launcher, stop
from prl_tui.runs.proctree import command_of
from prl_tui.runs.seats import look

SIZES = [(80, 24), (120, 40), (200, 60)]
LAUNCHER = """
import os, subprocess, sys, time
from pathlib import Path
count, lines = int(sys.argv[1]), sys.argv[2:]
children = []
for rank in range(count):
    log = Path(os.environ["PRL_RUN_DIR"]) / "ranks" / "x" / "attempt_0" / str(rank)
    log.mkdir(parents=True)
    (log / "stderr.log").touch()
    (log / "stdout.log").write_text(f"rank {rank} began\\n")
    environment = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(count))
    children.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env=environment))
print("\\n".join(lines), flush=True)
for child in children:
    child.wait()
"""


@contextmanager
def running(ranks, *lines, visible=None, info=None):
    """A run of so many ranks, all of them alive: its folder and their pids; stopped at the end."""
    environment = () if visible is None else (("CUDA_VISIBLE_DEVICES", visible),)
    argv = (sys.executable, "-c", LAUNCHER, str(ranks), *lines)
    job = launcher.Job(argv, environment, info={"recipe": "demo", "preset": "two-ranks", **(info or {})})
    folder = launcher.start(paths.runs_dir(), job)
    try:
        end = time.monotonic() + 20
        seats = ()
        while len(seats) < ranks or not (folder.path / "ranks").exists():
            assert time.monotonic() < end, "the ranks did not start"
            time.sleep(0.02)
            seats = [seat for seat in look(folder).ranks if command_of(seat.pid).endswith("time.sleep(600)")]
        yield folder, [seat.pid for seat in seats]
    finally:
        stop.stop(folder)
        assert stop.wait(folder, 30)
