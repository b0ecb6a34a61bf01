"""compare: what differs between two runs, or since the last run of the same recipe."""

from __future__ import annotations

import argparse

from prl_tui.cli import running
from prl_tui.cli.exits import CommandError, Exit
from prl_tui.cli.streams import print_json
from prl_tui.i18n import t, visible
from prl_tui.machine import paths
from prl_tui.runs import changes, overview
from prl_tui.runs.folder import RunFolder, explain
from prl_tui.runs.records import Broken


def compare(args: argparse.Namespace) -> int:
    """`prl-tui compare RUN [RUN]`: the earlier one first; one RUN is compared with the last of its recipe before it."""
    first = running.find(args.run)
    if args.other is None:
        if isinstance(damaged := first.info(), Broken):
            raise CommandError(t("run {id}: {words}", id=first.id, words=f"{explain(damaged)}."))
        before = changes.previous(paths.runs_dir(), first)
        if before is None:
            raise CommandError(t("run {id} is the first of its recipe; name another.", id=first.id))
        after = first
    else:
        before, after = first, running.find(args.other)
    found = changes.between(before, after)
    if args.json:
        print_json(changes.as_data(found))
        return Exit.OK
    for folder in (before, after):
        print(_head(folder))
    print("\n".join(visible(line) for line in changes.lines(found)))
    return Exit.OK


def _head(folder: RunFolder) -> str:
    one = overview.overview(folder)
    parts = (one.what, overview.status_word(one), overview.progress_words(one), overview.reason_or_code(one))
    return t("run {id}: {words}", id=one.id, words=" · ".join(visible(part) for part in parts if part))
