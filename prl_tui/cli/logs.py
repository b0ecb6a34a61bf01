"""logs: a run's log as text, escapes dropped, bars collapsed to their last state."""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path

from prl_tui.cli import running
from prl_tui.cli.exits import CommandError, Exit
from prl_tui.i18n import t
from prl_tui.lists import listed
from prl_tui.runs.folder import RunFolder
from prl_tui.runs.state import ALIVE, status
from prl_tui.telemetry.escapes import plain
from prl_tui.telemetry.line_index import LineIndex
from prl_tui.telemetry.merged_index import MergedIndex
from prl_tui.telemetry.rank_logs import find_rank_logs

_PAGE = 1000


def logs(args: argparse.Namespace) -> int:
    """`prl-tui logs RUN`: the launcher's log, one rank's, what the model answered, or what the GPUs did."""
    folder = running.find(args.run)
    if args.completions:
        from prl_tui.cli.answers import answers

        return answers(folder, args)
    if args.gpus:
        from prl_tui.cli.gpu_rows import rows

        return rows(folder, args)
    if args.json:
        raise CommandError(t("--json goes with --completions and --gpus; a log is text."))
    try:
        wanted = re.compile(args.grep) if args.grep else None
    except re.error as error:
        raise CommandError(
            t("--grep {text}: not a regular expression: {reason}.", text=args.grep, reason=error)
        ) from None
    index = _index(folder, args.rank)
    try:
        return _print(folder, index, wanted, args.lines, args.follow)
    finally:
        index.close()


def _index(folder: RunFolder, rank: int | None) -> LineIndex | MergedIndex:
    if rank is None:
        return LineIndex(folder.output)
    ranks = {log.rank: log for log in find_rank_logs(folder.ranks)}
    if rank not in ranks:
        known = listed(map(str, ranks)) or t("none yet")
        raise CommandError(t("run {id} has no log of rank {rank}; ranks: {known}.", id=folder.id, rank=rank, known=known),
                           Exit.NO_RUN)  # fmt: skip
    return ranks[rank].open()


def _print(
    folder: RunFolder, index: LineIndex | MergedIndex, wanted: re.Pattern[str] | None, most: int | None, follow: bool
) -> int:
    while index.update():
        pass
    at = max(0, index.lines - most) if most is not None else 0
    while True:
        alive = follow and status(folder).state in ALIVE
        while index.update():
            pass
        # The last line may still grow: while the run lives it waits for its end.
        end = index.lines - 1 if alive and index.lines else index.lines
        while at < end:
            rows = index.read_lines(at, min(_PAGE, end - at))
            at += len(rows)
            for row in rows:
                text = plain(row.decode("utf-8", "replace"))
                if wanted is None or wanted.search(text):
                    print(text)
            if not rows:
                break
        sys.stdout.flush()
        if not alive:
            return Exit.OK
        time.sleep(0.3)  # a turn of following: files that other processes write


def tail_of(path: Path, most: int) -> list[str]:
    """The last lines of a log as plain text."""
    index = LineIndex(path)
    while index.update():
        pass
    rows = index.read_lines(max(0, index.lines - most), most)
    index.close()
    return [plain(row.decode("utf-8", "replace")) for row in rows]
