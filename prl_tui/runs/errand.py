"""What an app that leaves had not brought to its end, each by a process of its own: a stop, the ending of orphans."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal

from prl_tui.machine.child import python_argv
from prl_tui.runs import sweep
from prl_tui.runs.folder import RunFolder

What = Literal["stop", "sweep"]

_WITHIN = 30.0
"""Seconds in which the app that leaves has let go of the run's lock."""


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


def end_orphans(folder: RunFolder) -> None:
    """End what a run has left behind, once nobody else is at it."""
    until = time.monotonic() + _WITHIN
    while time.monotonic() < until:
        for one in sweep.find(folder.path.parent):
            if one.id == folder.id:
                sweep.end(one)
                return
        time.sleep(0.5)  # the app that leaves may hold its lock for a moment


def main(words: list[str]) -> None:
    """What, and the run's folder; started by `hand_over`."""
    what, path = words
    folder = RunFolder(Path(path))
    if what == "stop":
        sweep.see_through(folder, by="prl-tui")
    else:
        end_orphans(folder)
