"""A run's output on its way from the pipe to output.log. A log that cannot be written never stops the run.

On its way no byte is in the memory of this process, where a SIGKILL would lose it without a trace: the kernel moves
it from the pipe into the tank, a pipe that nobody else writes to, and from there into the log (splice(2), each move
whole or not at all). From the pipe straight into the log it would hold up the writers while the disk is slow.

A log may be deleted, or renamed by a rotation, while it is written: now and then the pump looks whether its file is
still the one at the path, and goes on in a new one there.
"""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

CHUNK = 1 << 18
"""Bytes that one move takes at most."""

RESCUED = 16 << 20
"""Bytes that are copied at most from a file that is no longer at the path: the last ones of those since the last look."""

_NO_SPLICE = frozenset({errno.EINVAL, errno.ENOSYS, errno.EPERM, errno.EOPNOTSUPP})
"""What a file system or a sandbox says that knows no splice: bytes go through memory then."""


def open_log(path: Path) -> int:
    """Descriptor of the log, to be written at its end. Without O_APPEND, which splice refuses. OSError.

    It can be read from too: what went into a file that was deleted meanwhile is only there.
    """
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def is_at(log: int, path: Path) -> bool:
    """Whether the file behind a descriptor is the one at the path. OSError where that cannot be looked at."""
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(log))


def _inode_and_size(log: int) -> tuple[int, int]:
    """0 and 0 where a server has forgotten the file: the run goes on."""
    try:
        status = os.fstat(log)
    except OSError:
        return 0, 0
    return status.st_ino, status.st_size


class LogPump:
    """Appends to one file; what does not fit is dropped, counted, and marked in the log once there is room.

    One process at a time writes the log: another one may go on with the same descriptor when that is gone.
    """

    def __init__(self, log: int, path: Path | None = None) -> None:
        """`path`: where the log has to be; without it nobody looks."""
        self.log = log
        self._path = path
        self._inode, self._sure = _inode_and_size(log)
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

    def look(self) -> None:
        """Go on in a new file where this one is no longer at the path; what went into it since the last look goes along.

        What cannot go along and is nowhere else counts as dropped. Costs two system calls: for each heartbeat.
        """
        if self._path is None:
            return
        try:
            if not is_at(self.log, self._path):
                self._go_on_at(self._path)
            self._sure = os.fstat(self.log).st_size
        except OSError:
            return  # no room for a new file, or the folder is gone: the next look tries again

    def sure(self) -> tuple[int, int]:
        """The log's inode, and its size at the last look that found it in its place."""
        return self._inode, self._sure

    def take_over(self, inode: object, size: object) -> None:
        """Heed what another pump said by `sure` about the log that is written on here."""
        if inode == self._inode and isinstance(size, int):
            self._sure = size

    def close(self) -> None:
        """Look a last time, count what is lost, and mark what was lost at the very end, if there is room by now."""
        self.look()
        self._count_unreachable()
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

    def _go_on_at(self, path: Path) -> None:
        log = open_log(path)
        if not stat.S_ISREG(os.fstat(log).st_mode):  # a pipe, say: writing into it would hold up the run
            os.close(log)
            raise OSError(errno.EINVAL, "not a regular file")
        before, since = self.log, self._sure
        self.log, (self._inode, self._sure) = log, _inode_and_size(log)
        try:
            self._rescue(before, since)
        finally:
            os.close(before)

    def _rescue(self, before: int, since: int) -> None:
        """What went into a file since it had so many bytes, or the last of that."""
        there = os.fstat(before)
        at = max(min(since, there.st_size), there.st_size - RESCUED)
        if there.st_nlink == 0 and at > since:
            self._reason = "the log was deleted"
            self._lose(at - since)
        while data := os.pread(before, CHUNK, at):
            self.put(data)
            at += len(data)

    def _count_unreachable(self) -> None:
        """At the end, where no new file could be made: what is in one that nobody can open."""
        if self._path is None:
            return
        try:
            there = os.fstat(self.log)
        except OSError:
            return
        if there.st_nlink == 0 and there.st_size > self._sure:
            self.dropped += there.st_size - self._sure

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
