"""A run's output on its way from the pipe to output.log. A log that cannot be written never stops the run.

On its way no byte is in the memory of this process, where a SIGKILL would lose it without a trace: the kernel moves
it from the pipe into the tank, a pipe that nobody else writes to, and from there into the log (splice(2), each move
whole or not at all). From the pipe straight into the log it would hold up the writers while the disk is slow.
"""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

CHUNK = 1 << 18
"""Bytes that one move takes at most."""

_NO_SPLICE = frozenset({errno.EINVAL, errno.ENOSYS, errno.EPERM, errno.EOPNOTSUPP})
"""What a file system or a sandbox says that knows no splice: bytes go through memory then."""


def open_log(path: Path) -> int:
    """Descriptor of the log, to be written at its end. Without O_APPEND, which splice refuses. OSError."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)


class LogPump:
    """Appends to one file; what does not fit is dropped, counted, and marked in the log once there is room.

    One process at a time writes the log: another one may go on with the same descriptor when that is gone.
    """

    def __init__(self, log: int) -> None:
        self.log = log
        self.dropped = 0
        """Bytes lost so far."""
        self.tank, self._filler = os.pipe2(os.O_CLOEXEC)
        """Its end to read from: what a killed process had taken out of the pipe already."""
        self._splices = hasattr(os, "splice")
        self._unmarked = 0
        self._reason = ""

    def move(self, pipe: int) -> int:
        """Take a chunk from the pipe into the log, or count it as dropped; its bytes, 0 at the pipe's end.

        BlockingIOError where there is nothing to take: callers wait by select.
        """
        if self._splices:
            try:
                count = os.splice(pipe, self._filler, CHUNK, flags=os.SPLICE_F_NONBLOCK)
            except OSError as problem:
                if problem.errno not in _NO_SPLICE:
                    raise
                self._splices = False
            else:
                self._empty(count)
                return count
        data = os.read(pipe, CHUNK)
        self.put(data)
        return len(data)

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
        for descriptor in (self.log, self.tank, self._filler):
            os.close(descriptor)

    def _empty(self, count: int) -> None:
        """What was put into the tank goes on into the log."""
        while count > 0:
            moved = 0 if self._unmarked else self._splice(count)
            if moved == 0:  # it does not fit, or the file knows no splice
                data = os.read(self.tank, count)
                self.put(data)
                moved = len(data)
            count -= moved

    def _splice(self, count: int) -> int:
        try:
            os.lseek(self.log, 0, os.SEEK_END)  # somebody may have cut it
            return os.splice(self.tank, self.log, count)
        except OSError:
            return 0

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
            os.ftruncate(self.log, os.fstat(self.log).st_size - count)
        except OSError:
            return

    def _write(self, data: bytes) -> int:
        view = memoryview(data)
        done = 0
        while done < len(data):
            try:
                os.lseek(self.log, 0, os.SEEK_END)
                done += os.write(self.log, view[done:])
            except OSError as problem:  # full, over quota, stale: all the same for the run
                self._reason = problem.strerror or str(problem)
                break
        return done
