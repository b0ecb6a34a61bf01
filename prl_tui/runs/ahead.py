"""A supervisor's interpreter that is started before anything is known of its run but the name of the folder.

It imports while the launch is checked, and waits for its order then: the engine does not wait for an interpreter. Told
nothing it ends, also where who started it dies. Light: this is one of the first imports of a launch.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from prl_tui.runs import records
from prl_tui.runs.ids import new_id

PROGRAM = Path(__file__).resolve().with_name("supervisor.py")
"""The supervisor, as every one of them was started."""


def argv(folder: Path) -> list[str]:
    """The command of the supervisor of a run folder."""
    # -S: no .pth file of an environment costs time or memory; -I: no variable or user folder bends the imports
    return [sys.executable or "python3", "-I", "-S", str(PROGRAM), str(folder)]


class Ahead:
    """Started when made, for a run of this id in a root that need not be there yet. OSError when that is impossible."""

    def __init__(self, root: Path) -> None:
        self.id = new_id()
        self._folder = Path(os.path.realpath(root)) / self.id
        self._process: subprocess.Popen[bytes] | None = subprocess.Popen(
            argv(self._folder),
            env={**os.environ, records.MARKER: str(self._folder)},
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # it goes on in the run's narration; one that dies before is started again
            start_new_session=True,
            bufsize=0,
        )

    def told(self, folder: Path, order: bytes) -> subprocess.Popen[bytes] | None:
        """The process, once it has its order; None where it is of no use: of another folder, or dead."""
        process = self._process
        if process is None or folder != self._folder or process.poll() is not None or not _is_given(process, order):
            self.end()
            return None
        self._process = None  # it is the run's from here on
        return process

    def end(self) -> None:
        """Nobody needs it; where it has its order nothing happens."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()  # it has done nothing, and its order is not whole
        for end in (process.stdin, process.stdout):
            with suppress(OSError):
                if end is not None:
                    end.close()
        process.wait()


def _is_given(process: subprocess.Popen[bytes], order: bytes) -> bool:
    """Whether it has the whole order, and the end of it. Never waits: what does not fit into a pipe is refused."""
    assert process.stdin is not None
    try:
        os.set_blocking(process.stdin.fileno(), False)
        if os.write(process.stdin.fileno(), order) < len(order):
            return False
        process.stdin.close()
    except OSError:
        return False
    return True
