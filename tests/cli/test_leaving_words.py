"""What is said on the terminal that a screen has left: judged by real runs, one that goes on and one deaf to its stop."""

from __future__ import annotations

import sys
import time

from prl_tui.cli import watching
from prl_tui.machine import paths
from prl_tui.runs import launcher, stop
from prl_tui.runs.state import status

DEAF = "import signal, time\nfor one in (2, 15): signal.signal(one, signal.SIG_IGN)\nprint('deaf', flush=True)\ntime.sleep(60)"


def test_a_run_that_is_being_stopped_does_not_go_on(cli, capsys):
    folder = launcher.start(paths.runs_dir(), launcher.Job((sys.executable, "-c", DEAF)))
    try:
        until = time.monotonic() + 20
        while b"deaf" not in folder.output.read_bytes() and time.monotonic() < until:
            time.sleep(0.05)
        watching.tell_alive(folder)
        assert f"run {folder.id} goes on; " in capsys.readouterr().err
        stop.stop(folder, by="test")
        while status(folder).state != "stopping" and time.monotonic() < until:
            time.sleep(0.05)
        watching.tell_alive(folder)
        assert f"run {folder.id} is being stopped; " in capsys.readouterr().err
    finally:
        stop.stop(folder, grace=stop.Grace(interrupt=0.0, terminate=0.0), by="test")
        stop.wait(folder, 30)
