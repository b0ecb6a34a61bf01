"""The lock of a run folder: held for life by whoever supervises the run, and so the first test of liveness."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

try:
    import fcntl
except ImportError:  # not a POSIX system: runs cannot be started there, but this must import
    fcntl = None  # type: ignore[assignment]

_TRIES = 10
_PAUSE = 0.01


def take(path: Path) -> int | None:
    """Descriptor that holds the lock, or None when somebody else does. OSError where locks don't work."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        for _ in range(_TRIES):  # `held` takes it for an instant: that is no owner
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_PAUSE)  # flock can only wait without end: a short look by somebody else is sat out
            else:
                return descriptor
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def held(path: Path) -> bool | None:
    """Whether somebody holds the lock; None when that cannot be told (no file, no such locks here)."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None
    else:
        return False
    finally:
        os.close(descriptor)


@contextmanager
def turn(path: Path, within: float = 2.0) -> Iterator[None]:
    """One at a time, for what is read, changed and written back; waits up to `within` seconds for another's turn.

    It goes on as if it were alone then, and where locks don't work.
    """
    descriptor = None
    with suppress(OSError):
        until = time.monotonic() + within
        while descriptor is None and time.monotonic() < until:
            descriptor = take(path)  # waits a tenth of a second itself
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)
