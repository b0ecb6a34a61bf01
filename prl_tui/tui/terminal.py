"""Textual's driver for a terminal, made to survive a SIGCONT that comes without its own SIGTSTP."""

from __future__ import annotations

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
        super().__init__(*arguments, **keywords)

    def _sigtstp_application(self, *_: object) -> None:
        self._put_down = self._auto_restart
        super()._sigtstp_application()

    def _sigcont_application(self, *_: object) -> None:
        if self._auto_restart and not self._put_down:
            self.suspend_application_mode()
            self._must_signal_resume = True  # the app draws everything again
        self._put_down = False
        super()._sigcont_application()
