"""What an app or a command that leaves had not brought to its end, each by a process of its own: a stop, the ending of
orphans.
"""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from prl_tui.machine.child import python_argv
from prl_tui.runs import asking, stop, sweep
from prl_tui.runs.folder import RunFolder

if TYPE_CHECKING:
    from types import FrameType

What = Literal["stop", "sweep"]


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


class SentAwayError(KeyboardInterrupt):
    """The terminal was closed, or TERM came: like Ctrl-C, but for the exit code."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


_LEAVING = ("SIGHUP", "SIGTERM")


@contextmanager
def handed_over(what: What, folders: Iterable[RunFolder], on_leave: Callable[[], None]) -> Iterator[None]:
    """What is done inside goes on by a process of its own where Ctrl-C, a closed terminal or TERM ends this one.

    `on_leave` is called then, once such a process was started; a stop that nobody has begun, or that is over, needs none.
    A signal that the caller's caller ignores stays ignored (nohup).
    """
    numbers = [getattr(signal, name) for name in _LEAVING if hasattr(signal, name)]
    with _caught([n for n in numbers if signal.getsignal(n) is signal.SIG_DFL], _leave):
        try:
            yield
        except KeyboardInterrupt:
            with _caught([signal.SIGINT, *numbers], _leaves_already):  # a closed terminal sends more than one
                left = [one for one in folders if what == "sweep" or _is_begun(one)]
                hand_over(what, left)
                if left:
                    on_leave()
            raise


def _is_begun(folder: RunFolder) -> bool:
    """Whether somebody has asked for a stop that is not over: nobody may be at it but this process."""
    return asking.begun(folder) is not None and not stop.wait(folder, 0)


@contextmanager
def _caught(numbers: Iterable[int], handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Python allows that in its main thread alone."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier if earlier is not None else signal.SIG_DFL)


def _leave(number: int, _frame: FrameType | None) -> None:
    raise SentAwayError(number)


def _leaves_already(_number: int, _frame: FrameType | None) -> None:
    """No default: exec gives handled signals back to what is started here."""


def end_orphans(folder: RunFolder) -> None:
    """End what a run has left behind, once nobody else is at it; at once where nothing is left."""
    until = time.monotonic() + stop.Grace().total + sweep.SPARE
    while sweep.look(folder) and time.monotonic() < until:
        if (one := sweep.of(folder)) is not None:
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
