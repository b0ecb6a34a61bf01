"""Work that waits for a disk or for another program: on a thread beside the screen, which no exit waits for.

Textual's own thread workers are joined when the app ends: one that hangs on a dead mount keeps the shell waiting.
These threads end with the process. What they find comes back to the app's thread; so does a fault of theirs, as a
sentence.
"""

from __future__ import annotations

import contextlib
import contextvars
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from prl_tui.i18n import t
from prl_tui.tui.unfinished import Unfinished

if TYPE_CHECKING:
    from prl_tui.tui.app import PrlApp

T = TypeVar("T")

SAID_AFTER = 0.5
"""Seconds after which it is said what is awaited."""
HELD = 0.5
"""Seconds that later keys wait for what an earlier one brings."""
PATIENCE = 0.7
"""Seconds that an exit waits for what should not be left half done."""


@dataclass(frozen=True)
class _Work:
    thread: threading.Thread
    begun: float
    awaited: str
    holds_keys: bool
    finishes: bool


class Beside:
    """The app's work beside its screen. All is called on the app's thread."""

    def __init__(self, app: PrlApp) -> None:
        self._app = app
        self._under_way: dict[str, _Work] = {}
        self._told: set[str] = set()
        self.leaving = threading.Event()
        """Set when the app ends: long work may heed it."""
        self.unfinished = Unfinished()

    def do(
        self,
        name: str,
        work: Callable[[], T],
        then: Callable[[T], object] | None = None,
        *,
        awaited: str = "",
        holds_keys: bool = False,
        finishes: bool = False,
    ) -> None:
        """Do `work` on a thread, then hand what it gave to `then` on the app's; one work of a name at a time.

        `awaited` is said where it takes a while, until it is done, `holds_keys`: the next keys are for what comes of it,
        and wait a moment, `finishes`: an exit waits a moment for its end.
        """
        if name in self._under_way:
            if awaited:
                self._app.tell(awaited)
            return
        run = contextvars.copy_context().run
        thread = threading.Thread(target=run, args=(self._run, name, work, then), name=name, daemon=True)
        one = self._under_way[name] = _Work(thread, time.monotonic(), awaited, holds_keys, finishes)
        thread.start()
        if awaited:
            self._app.set_timer(SAID_AFTER, lambda: self._say(name, one, awaited))

    def holds_keys(self) -> bool:
        """Whether keys wait for what an earlier one brings."""
        now = time.monotonic()
        return any(one.holds_keys and now - one.begun < HELD for one in self._under_way.values())

    def leave(self) -> None:
        """The app ends: wait a moment for what should not be left half done, hand over what takes longer."""
        self.leaving.set()
        until = time.monotonic() + PATIENCE
        for one in list(self._under_way.values()):
            if one.finishes:
                one.thread.join(max(0.0, until - time.monotonic()))
        self.unfinished.hand_over()

    def _run(self, name: str, work: Callable[[], Any], then: Callable[[Any], object] | None) -> None:
        try:
            found = work()
        except Exception as error:
            self._hand_back(self._failed, name, error)
        else:
            self._hand_back(self._done, name, then, found)

    def _hand_back(self, call: Callable[..., None], *values: object) -> None:
        if not self.leaving.is_set():
            with contextlib.suppress(RuntimeError):  # the app has ended this very moment
                self._app.call_later(call, *values)

    def _done(self, name: str, then: Callable[[Any], object] | None, found: object) -> None:
        self._over(name)
        if then is not None:
            then(found)

    def _over(self, name: str) -> None:
        """What was awaited is awaited no more, and does not lie over what came of it."""
        one = self._under_way.pop(name, None)
        if one is not None and one.awaited:
            from prl_tui.tui import toasts

            toasts.take_back(self._app, one.awaited)

    def _failed(self, name: str, error: Exception) -> None:
        from prl_tui import reasons
        from prl_tui.machine import crash

        self._over(name)
        if isinstance(error, OSError):
            told = t("Cannot be read or written: {reason}.", reason=reasons.of_file(error))
        else:
            told = crash.record(error)
        if told not in self._told:  # what is tried every second or two is told once
            self._told.add(told)
            self._app.tell(told, "error")

    def _say(self, name: str, one: _Work, awaited: str) -> None:
        if self._under_way.get(name) is one:
            self._app.tell(awaited)
