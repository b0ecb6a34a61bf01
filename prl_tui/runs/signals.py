"""Signals of the supervisor as numbers to read from a descriptor, and the adoption of orphans."""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

STOP_SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT})
_PR_SET_CHILD_SUBREAPER = 36


class SignalPipe:
    """Collects TERM, INT and CHLD; lets HUP pass. All are handled, never ignored: exec gives handled ones back."""

    def __init__(self) -> None:
        self.descriptor, write_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        for number in (*STOP_SIGNALS, signal.SIGCHLD, signal.SIGHUP):
            signal.signal(number, _noted)
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def take(self) -> set[int]:
        """The numbers that came since the last call."""
        try:
            return set(os.read(self.descriptor, 4096))
        except BlockingIOError:
            return set()


def adopt_orphans() -> bool:
    """Become the parent of every descendant whose own parent ends (Linux); False where that is impossible."""
    try:
        import ctypes  # absent from some builds of Python

        return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def _noted(_number: int, _frame: FrameType | None) -> None:
    """The wake-up descriptor has the number already."""
