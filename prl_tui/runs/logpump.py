"""A run's output on its way from the pipe to output.log. A log that cannot be written never stops the run."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path


class LogPump:
    """Appends to one file; what does not fit is dropped, counted, and marked in the log once there is room."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self.dropped = 0
        """Bytes lost so far."""
        self._unmarked = 0
        self._reason = ""

    def put(self, data: bytes) -> None:
        """Append `data`, or count it as dropped."""
        if self._unmarked and not self._mark():
            self._lose(len(data))
            return
        written = self._write(data)
        if written < len(data):
            self._lose(len(data) - written)

    def close(self) -> None:
        """Mark what was lost at the very end, if there is room by now."""
        if self._unmarked:
            self._mark()
        os.close(self._descriptor)

    def _lose(self, count: int) -> None:
        self.dropped += count
        self._unmarked += count

    def _mark(self) -> bool:
        note = f"\n[prl-tui] {self._unmarked} bytes of output were dropped here: {self._reason}\n".encode()
        written = self._write(note)
        if written < len(note):
            self._take_back(written)  # half a note would only be noise
            return False
        self._unmarked = 0
        return True

    def _take_back(self, count: int) -> None:
        try:
            os.ftruncate(self._descriptor, os.fstat(self._descriptor).st_size - count)
        except OSError:
            return

    def _write(self, data: bytes) -> int:
        view = memoryview(data)
        done = 0
        while done < len(data):
            try:
                done += os.write(self._descriptor, view[done:])
            except OSError as problem:  # full, over quota, stale: all the same for the run
                self._reason = problem.strerror or str(problem)
                break
        return done
