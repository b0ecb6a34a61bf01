"""One growing file, read by position: opened when it appears, reopened when another takes its place.

A log may be absent at first, cut to nothing by copytruncate, renamed away by rotation, or rewritten to the very
same size. Each of these starts a new generation, so that whoever counted lines knows to start again.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_PRINT = 256  # bytes of head and tail that must still be there


class FollowedFile:
    """A path and, once there is a regular file, a descriptor on it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.generation = 0
        """Grows each time what was read so far is no longer what the file holds."""
        self.problem: OSError | None = None
        """Why the file cannot be read now; None when it can, or is not there yet."""
        self.modified: float | None = None
        """When the file last changed, in seconds since the epoch; None before it exists."""
        self._descriptor: int | None = None
        self._identity = (0, 0)
        self._head = b""
        self._tail = b""

    def size(self, consumed: int) -> int | None:
        """Bytes in the file now, None without one. `consumed` (bytes read so far) must match what was noted."""
        self.problem = None
        try:
            status = self._follow_path()
        except OSError as problem:
            self.problem = problem
            self.close()
            return None
        if status is None:
            return None
        if consumed and (status.st_size < consumed or not self._still_the_same(consumed)):
            self._start_again()
        self.modified = status.st_mtime
        return status.st_size

    def read(self, offset: int, count: int) -> bytes:
        """At most `count` bytes from `offset`; empty where there are none or the file cannot be read."""
        if self._descriptor is None or count <= 0:
            return b""
        try:
            return os.pread(self._descriptor, count, offset)
        except OSError as problem:
            self.problem = problem
            return b""

    def note(self, offset: int, data: bytes) -> None:
        """Remember that `data` was consumed at `offset`, to tell later whether the file is still the same."""
        if offset == len(self._head) < _PRINT:
            self._head += data[: _PRINT - len(self._head)]
        self._tail = data[-_PRINT:] if len(data) >= _PRINT else (self._tail + data)[-_PRINT:]

    def close(self) -> None:
        """Give the descriptor back; the next `size` opens the path again."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _follow_path(self) -> os.stat_result | None:
        try:
            status = self.path.stat()
        except FileNotFoundError:
            # Renamed away, the next one not yet created: what we hold is still the log.
            return None if self._descriptor is None else os.fstat(self._descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "not a regular file", str(self.path))
        identity = (status.st_dev, status.st_ino)
        if self._descriptor is None or identity != self._identity:
            known = self._identity
            self.close()
            self._descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            status = os.fstat(self._descriptor)
            self._identity = (status.st_dev, status.st_ino)
            if known not in ((0, 0), self._identity):
                self._start_again()
        return status

    def _still_the_same(self, consumed: int) -> bool:
        tail = self.read(consumed - len(self._tail), len(self._tail))
        return tail == self._tail and self.read(0, len(self._head)) == self._head

    def _start_again(self) -> None:
        self.generation += 1
        self._head = self._tail = b""
