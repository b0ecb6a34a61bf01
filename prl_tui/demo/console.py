"""What a rank prints: milestones and metric lines on stdout, the bars on stderr.

These lines are an engine's output that other programs match, so they are English in every language.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from prl_tui.demo.journal import console_text
from prl_tui.demo.progress import ProgressBar

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "[INFO:prl_demo]"


class Console:
    """The output of one rank."""

    def __init__(self, rank: int) -> None:
        self._rank = rank
        self._bars: list[ProgressBar] = []

    def info(self, text: str) -> None:
        """Print a milestone on rank 0."""
        if self._rank == 0:
            self.say(f"{PREFIX} {text}")

    def say(self, text: str) -> None:
        """Print a line in place of the bar, and paint the bar again below it."""
        for bar in self._bars[-1:]:
            bar.clear()
        print(text, flush=True)
        for bar in self._bars[-1:]:
            bar.paint()

    def metrics(self, line: Mapping[str, object]) -> None:
        """Print a line of the journal."""
        self.say(console_text(line))

    def open_bar(self, label: str, total: int, initial: int = 0) -> ProgressBar:
        """Show a bar on rank 0; it stands where the bar before it stood, until it is closed."""
        for bar in self._bars[-1:]:
            bar.clear()
        bar = ProgressBar(label, total, sys.stderr, initial=initial, shown=self._rank == 0)
        self._bars.append(bar)
        return bar

    def close_bar(self) -> None:
        """End the newest bar: the last one stays readable, an inner one makes place for the outer."""
        bar = self._bars.pop()
        bar.paint()
        if self._bars:
            bar.clear()
            self._bars[-1].paint()
        else:
            bar.close()
