"""sweep and rm: what is left of earlier runs, ended or deleted after a yes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from prl_tui.cli import running
from prl_tui.cli.exits import CommandError, Exit
from prl_tui.cli.streams import print_json
from prl_tui.i18n import nt, t, visible
from prl_tui.lists import sentence
from prl_tui.machine import paths
from prl_tui.runs import errand, overview, store, sweep
from prl_tui.runs.sweep import Orphans, Swept


def clean(args: argparse.Namespace) -> int:
    """`prl-tui sweep`: processes that outlived their run; ended after a yes, or at once with --yes."""
    found = sweep.find(paths.runs_dir())
    notes = sweep.notes(paths.runs_dir(), found)
    for line in notes:
        print(f"! {visible(line)}", file=sys.stderr)
    for line in sweep.lines(found):
        print(visible(line), file=sys.stderr if args.json else sys.stdout)
    if not found:
        if args.json:
            print_json({"orphans": [], "swept": [], "notes": notes}, None)
        elif not notes:
            print(t("No process of an earlier run is left."), file=sys.stderr)
        return Exit.OK
    count = sum(len(one.processes) for one in found)
    question = nt("End this process? [y/N] ", "End these {n} processes? [y/N] ", count)
    refused = "" if args.yes else _refusal(question, t("nothing was ended; --yes ends them."))
    swept = [] if refused else _end(found)
    if args.json:
        told = {"orphans": [_data(one) for one in found], "swept": [_result(one) for one in swept], "notes": notes}
        print_json(told, None)
    if refused:
        raise CommandError(refused)
    return _told(swept)


def _end(found: Sequence[Orphans]) -> list[Swept]:
    def told() -> None:
        print(t("What these runs have left behind is still being ended, without you."), file=sys.stderr)

    with errand.handed_over("sweep", [one.folder for one in found], told):
        return [sweep.end(one, on_left=_tell_left) for one in found]


def _told(swept: Sequence[Swept]) -> int:
    left = sum(one.left for one in swept)
    ended = sum(one.ended for one in swept)
    print(nt("{n} process ended", "{n} processes ended", ended), file=sys.stderr)
    if left:
        told = nt("{n} process could not be ended.", "{n} processes could not be ended.", left)
        raise CommandError(told, Exit.IMPOSSIBLE)
    return Exit.OK


def _tell_left(left: int) -> None:
    print(nt("{n} process left", "{n} processes left", left), file=sys.stderr)


def _data(one: Orphans) -> dict[str, object]:
    processes = [{"pid": left.pid, "command": left.command} for left in one.processes]
    return {"id": one.id, "folder": str(one.folder.path), "why": one.why, "processes": processes}


def _result(one: Swept) -> dict[str, object]:
    return {"id": one.id, "ended": one.ended, "left": one.left}


def remove(args: argparse.Namespace) -> int:
    """`prl-tui rm RUN`: its folder with its logs, after a yes; a live run is refused."""
    folder = running.find(args.run)
    kept = store.why_kept(folder)
    if kept is not None:
        raise CommandError(sentence(kept.sentence), Exit.IMPOSSIBLE)
    if not args.yes:
        one = overview.overview(folder)
        words = " · ".join(part for part in (one.source, overview.status_word(one), str(folder.path)) if part)
        print(t("run {id}: {words}", id=folder.id, words=visible(words)), file=sys.stderr)
        question = t("Delete run {id} with its logs? Checkpoints elsewhere stay. [y/N] ", id=folder.id)
        refused = _refusal(question, t("run {id} stays as it is; --yes deletes it.", id=folder.id))
        if refused:
            raise CommandError(refused)
    kept = store.remove(folder)
    if kept is not None:
        raise CommandError(sentence(kept.sentence), Exit.IMPOSSIBLE)
    if args.json:
        print_json({"id": folder.id, "folder": str(folder.path), "removed": True}, None)
    else:
        print(t("run {id} is deleted", id=folder.id))
    return Exit.OK


def _refusal(question: str, otherwise: str) -> str:
    """Nothing after a yes, else the sentence that says what was not done; without a terminal nothing asks."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return otherwise
    print(question, end="", file=sys.stderr, flush=True)
    return "" if sys.stdin.readline().strip().lower() in {"y", "yes", "是"} else otherwise
