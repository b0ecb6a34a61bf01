"""What arrives by itself: a run as its files tell it. Reading happens on a thread; screens only take the last value."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from prl_tui.runs import overview
from prl_tui.runs.folder import RunFolder
from prl_tui.runs.overview import Overview
from prl_tui.runs.state import ALIVE

TURN = 0.25
"""Seconds between two looks at a run that lives."""


@dataclass
class RunFeed:
    """Follows one run until its end has been read."""

    folder: RunFolder

    def __post_init__(self) -> None:
        self._latest: Overview | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"run-{self.folder.id}", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def latest(self) -> Overview | None:
        """The run as last read; None before the first look. Never waits."""
        return self._latest

    def stop(self) -> None:
        """Stop reading; returns at once."""
        self._over.set()

    def _follow(self) -> None:
        reading = overview.reader(self.folder)
        try:
            while not self._over.is_set():
                view = reading.poll()
                one = overview.describe(self.folder, view)
                if one.status.state not in ALIVE:
                    view = reading.poll(ended=True)
                    while view.behind and not self._over.is_set():
                        view = reading.poll(ended=True)
                    self._latest = overview.describe(self.folder, view)
                    return
                self._latest = one
                self._over.wait(0.0 if view.behind else TURN)
        finally:
            reading.close()
