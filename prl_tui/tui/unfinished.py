"""What the app was asked to bring to its end and has not yet: handed over to processes of their own when it leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prl_tui.runs.folder import RunFolder


class Unfinished:
    """By the run's name. A supervisor sees its stop through by itself, unless it is killed meanwhile."""

    def __init__(self) -> None:
        self.stops: dict[str, RunFolder] = {}
        self.orphans: dict[str, RunFolder] = {}
        """Runs of which something is being ended."""

    def hand_over(self) -> None:
        """The app ends."""
        if self.stops or self.orphans:
            from prl_tui.runs import errand

            errand.hand_over("stop", self.stops.values())
            errand.hand_over("sweep", self.orphans.values())
