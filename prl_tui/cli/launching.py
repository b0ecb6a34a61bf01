"""launch, begun in the right order: the driver is asked and the supervisor started first; all else is imported meanwhile."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress

from prl_tui.machine import paths
from prl_tui.machine.sampler_child import SamplerChild
from prl_tui.runs.ahead import Ahead


def launch(args: argparse.Namespace) -> int:
    """`prl-tui launch SOURCE`."""
    asked: SamplerChild | None = None
    ahead: Ahead | None = None
    with suppress(OSError):  # asked again later, where a refusal is told
        asked = SamplerChild(["--once"])
    with suppress(OSError):
        ahead = None if args.dry_run or not sys.platform.startswith("linux") else Ahead(paths.runs_dir())
    try:
        from prl_tui.cli import running

        return running.launch(args, asked, ahead)
    finally:
        if asked is not None:
            asked.end(0.0)
        if ahead is not None:
            ahead.end()
