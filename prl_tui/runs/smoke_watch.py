"""Stops a smoke test's run once its log shows its steps, for a program that no setting ends after so many.

    python -m prl_tui.runs.smoke_watch RUN_DIR STEPS

A process of its own beside the supervisor, so that a detached run has it too. It ends with the run.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from prl_tui.runs import overview, stop
from prl_tui.runs.folder import RunFolder
from prl_tui.runs.smoke import WATCHER, step_of
from prl_tui.runs.state import ALIVE, status

TURN = 0.2
"""Seconds between two looks at the log."""


def main(arguments: list[str]) -> int:
    """Look until the steps are seen or the run has ended."""
    folder, steps = RunFolder(Path(arguments[0])), int(arguments[1])
    reading = overview.reader(folder)
    while status(folder).state in ALIVE:
        view = reading.poll()
        if (step_of(view) or 0) >= steps:
            stop.stop(folder, by=WATCHER)
            return 0
        if not view.behind:
            time.sleep(TURN)  # the log is a file of another process: nothing tells of a new line
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
