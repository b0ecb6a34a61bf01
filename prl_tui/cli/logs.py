"""logs: a run's log as text, escapes dropped, bars collapsed to their last state."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from prl_tui.cli import running
from prl_tui.cli.doubt import Doubt
from prl_tui.cli.exits import CommandError, Exit
from prl_tui.i18n import t
from prl_tui.lists import listed
from prl_tui.runs.folder import RunFolder
from prl_tui.runs.state import OVER, status
from prl_tui.telemetry import whole_line
from prl_tui.telemetry.escapes import plain
from prl_tui.telemetry.line_index import LineIndex
from prl_tui.telemetry.line_tests import LevelTest
from prl_tui.telemetry.merged_index import MergedIndex
from prl_tui.telemetry.rank_logs import find_rank_logs
from prl_tui.telemetry.slow_patterns import BoundedPattern, TooSlowError
from prl_tui.telemetry.teed_log import parted
from prl_tui.telemetry.whole_line import WholeLine

_PAGE = 1000
_SLOW_SECONDS, _LINE_SECONDS = 10.0, 1.0
"""What slow lines together, and one of them, may take: nobody waits for a key here."""
_PARTED = 1 << 20
"""Bytes of a line that is parted by rank; a longer one stays whole."""


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
    wanted = _Wanted(
        _pattern("--grep", args.grep),
        _pattern("--without", args.without),
        LevelTest.from_on(args.level) if args.level else None,
    )
    index = _index(folder, args.rank)
    try:
        return _print(folder, index, wanted, args.lines, args.follow)
    finally:
        index.close()


@dataclass(frozen=True)
class _Wanted:
    """Which lines are printed."""

    only: BoundedPattern | None
    without: BoundedPattern | None
    level: LevelTest | None

    def __call__(self, text: str) -> bool:
        """Whether a plain line is."""
        if self.only is not None and not self.only.found(text):
            return False
        if self.without is not None and self.without.found(text):
            return False
        return self.level is None or self.level.hits(text)


def _pattern(option: str, text: str | None) -> BoundedPattern | None:
    try:
        return BoundedPattern(text, seconds=_SLOW_SECONDS, line_seconds=_LINE_SECONDS) if text else None
    except (re.error, OverflowError, RecursionError) as error:
        raise CommandError(
            t("{option} {text}: not a regular expression: {reason}.", option=option, text=text, reason=error)
        ) from None


def _index(folder: RunFolder, rank: int | None) -> LineIndex | MergedIndex:
    if rank is None:
        return LineIndex(folder.output)
    ranks = {log.rank: log for log in find_rank_logs(folder.ranks)}
    if rank not in ranks and not _was_deleted(folder, rank, bool(ranks)):
        known = listed(map(str, ranks)) or t("none yet")
        raise CommandError(
            t("run {id} has no log of rank {rank}; ranks: {known}.", id=folder.id, rank=rank, known=known)
        )
    if rank not in ranks or ranks[rank].is_gone:
        raise CommandError(
            t("the log of rank {rank} was deleted ({path}); `prl-tui logs {id}` has what all ranks wrote, "
              "with --grep '^\\[default{rank}\\]' this one's.",
              rank=rank, path=ranks[rank].stdout.parent if rank in ranks else folder.ranks, id=folder.id),
            Exit.NO_RUN,
        )  # fmt: skip
    return ranks[rank].open()


def _was_deleted(folder: RunFolder, rank: int, others: bool) -> bool:
    """Whether a run had a log of that rank: it has ended, or the logs of other ranks are there."""
    info = folder.info()
    ranks = info.get("nproc") if isinstance(info, dict) else None
    return isinstance(ranks, int) and 1 < ranks > rank and (others or status(folder).state in OVER)


def _print(folder: RunFolder, index: LineIndex | MergedIndex, wanted: _Wanted, most: int | None, follow: bool) -> int:
    while index.update():
        pass
    if index.problem is not None:
        raise CommandError(running.unreadable(index.problem, str(folder.output)))
    at, part = _first(index, wanted, most)
    doubt = Doubt(folder)
    generation = index.generation
    while True:
        alive = follow and doubt.goes_on(status(folder))
        while index.update():
            pass
        if index.generation != generation:
            generation, at, part = index.generation, 0, 0
            sys.stdout.flush()
            print(t("The log was cut or replaced: printed from its new beginning."), file=sys.stderr, flush=True)
        # The last line may still grow: while the run lives it waits for its end.
        end = index.lines - 1 if alive and index.lines else index.lines
        while at < end and (rows := index.read_lines(at, min(_PAGE, end - at))):
            _print_rows(index, rows, at, wanted, part)
            at, part = at + len(rows), 0
        sys.stdout.flush()
        if not alive:
            return Exit.OK
        time.sleep(0.3)  # a turn of following: files that other processes write


def _first(index: LineIndex | MergedIndex, wanted: _Wanted, most: int | None) -> tuple[int, int]:
    """The line, and the part of it, from which `most` are wanted, all where it is None; looks from the log's end."""
    if most is None:
        return 0, 0
    end, left = index.lines, most
    while end > 0 and left > 0:
        begin = max(0, end - _PAGE)
        rows = index.read_lines(begin, end - begin)
        for n in range(begin + len(rows) - 1, begin - 1, -1):
            parts = _parts(index, rows[n - begin], n)
            for part in range(len(parts) - 1, -1, -1):
                left -= _passes(wanted, parts[part][0], n + 1, backwards=True)
                if left == 0:
                    return n, part if n < index.complete_lines else 0  # an unfinished line may have other parts later
        end = begin
    return end, 0


def _parts(index: LineIndex | MergedIndex, row: bytes, n: int) -> list[tuple[str, WholeLine | None]]:
    """What line `n`, from 0, says, by which it is judged: a part for each rank that wrote on it."""
    if whole_line.is_all(row):
        return [(plain(part), None) for part in parted(row)]
    source, line = index.source_of(n)
    begin, end = source.extent(line)
    if end - begin <= _PARTED:
        parts = parted(source.read_at(begin, end - begin))
        if len(parts) > 1:
            return [(plain(part), None) for part in parts]
    long = WholeLine(source, line)
    return [(long.judged(), long)]


def _print_rows(
    index: LineIndex | MergedIndex, rows: list[bytes], at: int, wanted: Callable[[str], bool], begin: int = 0
) -> None:
    """Those of some lines that are wanted; the first one has the number `at`, from 0, and begins with part `begin`."""
    for n, row in enumerate(rows, at):
        for text, long in _parts(index, row, n)[begin if n == at else 0 :]:
            if _passes(wanted, text, n + 1):
                sys.stdout.writelines([text] if long is None else long.parts())
                print()


def _passes(wanted: Callable[[str], bool], text: str, line: int, *, backwards: bool = False) -> bool:
    try:
        return wanted(text)
    except TooSlowError as error:
        sys.stdout.flush()
        told = (
            t("{reason} Line {n} and those before it were not tested.")
            if backwards
            else t("{reason} Line {n} and those after it were not tested.")
        )
        raise CommandError(told.format(reason=error, n=f"{line:,}")) from None
