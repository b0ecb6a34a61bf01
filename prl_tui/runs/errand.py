"""What an app that leaves had not brought to its end, each by a process of its own: a stop, the ending of orphans."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal

from prl_tui.machine.child import python_argv
from prl_tui.runs import stop, sweep
from prl_tui.runs.folder import RunFolder

What = Literal["stop", "sweep"]

_SPARE = 30.0
"""Seconds over the graces of a stop until this gives up: what hangs in the kernel is not to be waited for."""


def hand_over(what: What, folders: Iterable[RunFolder]) -> None:
    """Start such a process for each run; it waits for what this one still does, and outlives it and its terminal."""
    for folder in folders:
        with suppress(OSError):  # a full process table: the next stop or sweep finds them
            subprocess.Popen(
                python_argv("prl_tui.runs.errand", what, str(folder.path)),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )


def see_through(folder: RunFolder) -> None:
    """Wait for the end of a stop that was asked for; go on with it where nobody else is at it."""
    until = time.monotonic() + stop.Grace().total + _SPARE
    while not stop.wait(folder, 0.5) and time.monotonic() < until:
        stop.take_over(folder, by="prl-tui")


def end_orphans(folder: RunFolder) -> None:
    """End what a run has left behind, once nobody else is at it."""
    until = time.monotonic() + _SPARE
    while time.monotonic() < until:
        for one in sweep.find(folder.path.parent):
            if one.id == folder.id:
                sweep.end(one)
                return
        time.sleep(0.5)  # the app that leaves may hold its lock for a moment


def main(words: list[str]) -> None:
    """What, and the run's folder; started by `hand_over`."""
    what, path = words
    (see_through if what == "stop" else end_orphans)(RunFolder(Path(path)))
