"""The foreground's part of a run: shows what it writes, waits for its end, turns signals into a stop."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Literal

from prl_tui.runs.folder import Ended, RunFolder, Started, last_word, read_ended, read_started
from prl_tui.runs.state import is_supervised
from prl_tui.runs.stop import Grace, let_go, stop, take_over

if TYPE_CHECKING:
    from types import FrameType

Answer = Literal["stop", "detach", "go-on"]
"""What a person wants after Ctrl-C in the foreground."""

_LOST = 137
"""The code for a run that left none: only SIGKILL ends a supervisor without a word."""

_TURN = 0.05
"""Seconds between two looks at the output in the foreground."""

_HURRY = Grace(interrupt=0.0, terminate=5.0)
"""For the second Ctrl-C: TERM now, KILL five seconds later."""

_CHUNK = 1 << 18
_CHUNKS = 16
"""Chunks of output shown between two looks at signals."""


class Caught:
    """INT and TERM are only noted meanwhile, except that they break off a question that is being asked."""

    def __init__(self) -> None:
        self.noted: list[int] = []
        self.asking = False

    @contextmanager
    def instead_of_default(self) -> Iterator[None]:
        """Catch both signals; Python allows that in its main thread alone, elsewhere nothing is caught."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler if handler is not None else signal.SIG_DFL)

    def ask(self, question: Callable[[], Answer]) -> Answer:
        """The person's answer; a signal meanwhile is the answer `stop`."""
        self.asking = True
        try:
            return question()
        except KeyboardInterrupt:
            return "stop"
        finally:
            self.asking = False

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if self.asking:
            raise KeyboardInterrupt
        self.noted.append(number)


class Stay:
    """The wait of a foreground launch for its run."""

    def __init__(
        self,
        folder: RunFolder,
        caught: Caught,
        grace: Grace,
        on_output: Callable[[bytes], None] | None,
        on_interrupt: Callable[[RunFolder], Answer] | None,
        on_stop: Callable[[int], None] | None = None,
    ) -> None:
        self.folder, self.caught, self.grace = folder, caught, grace
        self.on_output, self.on_interrupt, self.on_stop = on_output, on_interrupt, on_stop
        self.stopping = False
        self.shown = 0
        self._told: list[int] | None = None
        """A descriptor that is readable once the supervisor has ended, where the kernel has such (Linux 5.3)."""

    def until_end(self) -> int | None:
        """Exit code of the run, None when the person detached."""
        while not (ended := self._look()):
            self._show(_CHUNKS)
            if self.caught.noted and self._heed(self.caught.noted.pop(0)) == "detach":
                return None
            self._pause()
        while self._show(_CHUNKS):
            pass
        code = ended.exit_code if isinstance(ended, Ended) else None
        return _LOST if code is None else code  # nobody saw it where its supervisor was killed

    def _pause(self) -> None:
        """A turn, or until its supervisor ends: its record is there then. Signals are handled between turns."""
        if self._told is None:
            self._told = _end_of(self.folder)
        if select.select(self._told, [], [], _TURN)[0]:
            os.close(self._told.pop())  # once: what is not over by now is looked at in turns again

    def _look(self) -> Ended | Literal["lost"] | None:
        ended = read_ended(self.folder)
        if isinstance(ended, Ended):
            return ended
        started = read_started(self.folder)
        if (said := last_word(self.folder)) is not None:
            let_go(self.folder)
            return said[0]
        if isinstance(started, Started) and not is_supervised(self.folder, started):
            if self.stopping:
                from prl_tui.runs import errand  # only where a supervisor was killed

                with errand.handed_over("stop", [self.folder], _unsaid):
                    take_over(self.folder, self.grace, by="foreground", on_turn=self._meanwhile)
            ended = read_ended(self.folder)
            return ended if isinstance(ended, Ended) else "lost"
        return None

    def _meanwhile(self) -> None:
        """A turn while this process itself goes on with the stop: one more signal still makes it quicker."""
        self._show(_CHUNKS)
        if self.caught.noted:
            self._heed(self.caught.noted.pop(0))

    def _heed(self, number: int) -> Answer:
        if number == signal.SIGTERM:
            self._stop(number, Grace(interrupt=0.0, terminate=self.grace.total))
            return "stop"
        if self.stopping:
            self._stop(number, _HURRY)
            return "stop"
        ask = self.on_interrupt
        answer: Answer = self.caught.ask(lambda: ask(self.folder)) if ask else "stop"
        if answer == "stop":
            self._stop(number, self.grace)
        return answer

    def _stop(self, number: int, grace: Grace) -> None:
        self.stopping = True
        if self.on_stop:
            self.on_stop(number)
        stop(self.folder, grace=grace, by="foreground")

    def _show(self, chunks: int) -> bool:
        """Show so much of the output; whether there may be more."""
        if self.on_output is None:
            return False
        try:
            with self.folder.output.open("rb") as file:
                file.seek(self.shown)
                for _ in range(chunks):
                    part = file.read(_CHUNK)
                    if not part:
                        return False
                    self.shown += len(part)
                    self.on_output(part)
        except FileNotFoundError:
            return False
        return True


def _unsaid() -> None:
    """Its terminal is closed."""


def _end_of(folder: RunFolder) -> list[int]:
    started = read_started(folder)
    if not isinstance(started, Started) or started.supervisor is None:
        return []
    with suppress(AttributeError, OSError):
        return [os.pidfd_open(started.supervisor[0])]
    return []
