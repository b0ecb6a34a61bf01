"""launch, begun in the right order: the driver is asked and the supervisor started first; all else is imported meanwhile."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from prl_tui.machine import paths
from prl_tui.machine.sampler_child import SamplerChild
from prl_tui.runs.ahead import Ahead


class _Begun:
    """Who is at work for a launch whose words are still to be read."""

    asked: SamplerChild | None = None
    ahead: Ahead | None = None

    def begin(self, words: Sequence[str]) -> None:
        with suppress(OSError):  # asked again later, where a refusal is told
            self.asked = SamplerChild(["--once"])
        if "--dry-run" not in words and sys.platform.startswith("linux"):
            with suppress(OSError):
                self.ahead = Ahead(paths.runs_dir())

    def end(self) -> None:
        if self.asked is not None:
            self.asked.end(0.0)
        if self.ahead is not None:
            self.ahead.end()
        self.asked = self.ahead = None


_begun = _Begun()


@contextmanager
def begun(words: Sequence[str]) -> Iterator[None]:
    """Meanwhile the driver is asked and a supervisor waits, for a launch with these words."""
    _begun.begin(words)
    try:
        yield
    finally:
        _begun.end()


def launch(args: argparse.Namespace) -> int:
    """`prl-tui launch SOURCE`."""
    from prl_tui.cli import running

    return running.launch(args, _begun.asked, _begun.ahead)
