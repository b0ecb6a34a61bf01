"""Starts a run and stays: `starter.py ROOT COMMAND…` prints the run's folder. Tests kill it and look at the run."""

import sys
import time
from pathlib import Path

from prl_tui.runs import launcher

folder = launcher.start(Path(sys.argv[1]), launcher.Job(tuple(sys.argv[2:])))
print(folder.path, flush=True)
time.sleep(600)
