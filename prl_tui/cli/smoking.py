"""launch --smoke N and launch RUN --promote: a short run first, then the same config in full."""

from __future__ import annotations

import argparse
import sys

from prl_tui import reasons
from prl_tui.cli import box, sources
from prl_tui.cli.exits import CommandError, Exit
from prl_tui.core import checks
from prl_tui.core.config import RunConfig
from prl_tui.i18n import t, visible
from prl_tui.lists import sentence
from prl_tui.machine import paths
from prl_tui.runs import overview, store
from prl_tui.runs import smoke as smokes
from prl_tui.runs.folder import RunFolder


def prepare(args: argparse.Namespace, config: RunConfig) -> tuple[RunConfig, dict[str, object]]:
    """The config to launch, and what its record keeps. CommandError where that is not possible."""
    if args.promote:
        return _promoted(args, config), {}
    if args.smoke < 1:
        raise CommandError(t("--smoke {n}: at least one step is needed; --smoke 2 would work.", n=args.smoke))
    stack, facts = sources.stack(args), box.facts_here(config, use_env=args.use_env)
    try:
        short, wanted = smokes.prepare(checks.check(config, facts, stack), facts, args.smoke, paths.here())
    except OSError as error:
        told = t("{path} cannot be written: {reason}", path=error.filename, reason=reasons.of(error))
        raise CommandError(told, Exit.IMPOSSIBLE) from None
    if wanted.watched:
        print(smokes.watched_words(config, wanted.steps), file=sys.stderr)
    if wanted.anew:
        print(visible(smokes.anew_words(wanted)), file=sys.stderr)
    return short, {smokes.KEY: smokes.record(wanted)}


def may_promote(args: argparse.Namespace) -> None:
    """CommandError with exit code 3 where --promote gets what is nothing at all, with 2 for what is no run."""
    source = args.source
    if args.smoke is not None:
        raise CommandError(t("--promote and --smoke do not go together: one makes the run long, the other short."))
    folder = store.find(paths.runs_dir(), source)
    if isinstance(folder, RunFolder):
        return
    if paths.exists(source) or sources.catalog(quiet=True).find(source.partition("/")[0]) is not None:
        raise CommandError(t("--promote needs the run of a smoke test as SOURCE; {name} is none.", name=source))
    raise CommandError(sentence(folder.sentence), Exit.NO_RUN)


def _promoted(args: argparse.Namespace, config: RunConfig) -> RunConfig:
    folder = store.find(paths.runs_dir(), args.source)
    if not isinstance(folder, RunFolder):  # it was removed just now
        raise CommandError(sentence(folder.sentence), Exit.NO_RUN)
    full = smokes.promoted(folder.info(), config)
    if full is None:
        raise CommandError(t("run {id} is no smoke test: `prl-tui launch {id}` starts it again.", id=folder.id))
    one = overview.overview(folder)
    if one.smoke is None:
        raise CommandError(t("the smoke test {id} has not ended yet.", id=folder.id), Exit.FINDINGS)
    if not one.smoke.passed:
        raise CommandError(sentence(one.smoke.words()), Exit.FINDINGS)
    return full
