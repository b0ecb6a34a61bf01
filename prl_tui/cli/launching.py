"""launch, begun in the right order: the driver is asked first, and all else is imported while it thinks."""

from __future__ import annotations

import argparse
from contextlib import suppress

from prl_tui.machine.sampler_child import SamplerChild


def launch(args: argparse.Namespace) -> int:
    """`prl-tui launch SOURCE`."""
    asked: SamplerChild | None = None
    with suppress(OSError):  # asked again later, where a refusal is told
        asked = SamplerChild(["--once"])
    try:
        from prl_tui.cli import running

        return running.launch(args, asked)
    finally:
        if asked is not None:
            asked.end(0.0)
