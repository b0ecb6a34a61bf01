"""How the app ends after a fault of its own: with one sentence, and with none where it was leaving anyway."""

from __future__ import annotations

from textual.app import App
from textual.css.query import NoMatches
from textual.widget import MountError

NO_CODE = -1
"""The app's result after a run whose exit code nobody knows."""


class CalmEnd(App[int]):
    """Textual's app without its traceback."""

    def _handle_exception(self, error: Exception) -> None:
        """No fault while it leaves: what was to be mounted finds its place taken away."""
        if not (self._exit and isinstance(error, (MountError, NoMatches))):
            super()._handle_exception(error)

    def _fatal_error(self) -> None:
        """The end after a fault of our own: one sentence, where Textual prints a traceback with every local value."""
        from rich.text import Text

        from prl_tui.machine import crash

        told = crash.record(self._exception or RuntimeError("unknown"))
        self._exit_renderables.append(Text(f"prl-tui: {told}"))
        self._close_messages_no_wait()
