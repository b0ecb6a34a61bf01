"""gpus: the GPUs of this box as NVML sees them now."""

from __future__ import annotations

import argparse
import sys
import time

from prl_tui.cli.exits import Exit
from prl_tui.cli.streams import print_json
from prl_tui.i18n import t
from prl_tui.machine.gpu_feed import GpuFeed, once
from prl_tui.machine.gpu_json import to_json
from prl_tui.machine.gpu_words import table
from prl_tui.machine.gpus import GpuSnapshot


def gpus(args: argparse.Namespace) -> int:
    """`prl-tui gpus`: exit 4 where there is no GPU to be read."""
    if args.watch:
        return _watch(args.json)
    snapshot = once()
    _show(snapshot, args.json)
    return Exit.IMPOSSIBLE if snapshot.problem else Exit.OK


def _show(snapshot: GpuSnapshot, as_json: bool) -> None:
    if as_json:
        print_json(to_json(snapshot), None)
        sys.stdout.flush()
    elif snapshot.problem:
        print(snapshot.problem, file=sys.stderr, flush=True)
    else:
        print("\n".join(table(snapshot)), flush=True)


def _watch(as_json: bool) -> int:
    feed = GpuFeed()
    feed.start()
    shown = None
    try:
        while True:
            reading = feed.latest()
            if reading.problem and reading.snapshot is None:
                print(t("prl-tui: {sentence}", sentence=reading.problem), file=sys.stderr)
                return Exit.IMPOSSIBLE
            if reading.snapshot is not None and reading.snapshot is not shown:
                shown = reading.snapshot
                _show(shown, as_json)
            time.sleep(0.2)  # the first sweep comes from the sampler, which answers when the driver does
    finally:
        feed.stop()
