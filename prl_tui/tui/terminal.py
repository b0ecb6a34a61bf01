"""Textual's driver for a terminal, made to survive a SIGCONT that comes without its own SIGTSTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.drivers.linux_driver import LinuxDriver


class TerminalDriver(LinuxDriver):
    """After SIGSTOP (a scheduler's suspend, `kill -STOP`) the terminal is set up anew, once.

    Textual 8.2.8 only starts again then: a second thread reads the keys beside the first, each gets some of them,
    and leaving waits for one that waits for a key.
    """

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        self._put_down = False
        """The terminal was given back before the process stopped."""
        self._setting_up = self._again = False
        """It is being set up; another SIGCONT came meanwhile."""
        super().__init__(*arguments, **keywords)

    def _sigtstp_application(self, *_: object) -> None:
        self._put_down = self._auto_restart
        super()._sigtstp_application()

    def start_application_mode(self) -> None:
        """Set the terminal up; a SIGCONT that comes meanwhile waits."""
        if self._setting_up:
            super().start_application_mode()  # type: ignore[no-untyped-call]
        else:
            self._set_up(super().start_application_mode)

    def _sigcont_application(self, *_: object) -> None:
        if self._setting_up:
            self._again = True
        else:
            self._set_up(self._continue)

    def _set_up(self, work: Callable[[], object]) -> None:
        """A signal's handler may begin between any two lines of another one's: it would find half of a terminal."""
        self._setting_up = True
        try:
            work()
        finally:
            self._setting_up = False
        if self._again:
            self._again = False
            self._sigcont_application()

    def _continue(self) -> None:
        if self._auto_restart and not self._put_down:
            self.suspend_application_mode()
            self._must_signal_resume = True  # the app draws everything again
        self._put_down = False
        super()._sigcont_application()
