"""demo: a real two-rank torchrun run on this box, watched to its end; exits with the run's code."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys

from prl_tui.cli import running, sources, watching
from prl_tui.cli.exits import CommandError, Exit
from prl_tui.cli.screen import shown
from prl_tui.core import checks
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.i18n import t
from prl_tui.machine import paths


def config(sets: list[str]) -> RunConfig:
    """The demo's run config, as the app has it; where nobody may write, its outputs lie beside the runs."""
    recipe = sources.catalog(only="demo", quiet=True).recipes["demo"]
    base = resolve(recipe, recipe.data.default_preset)
    if not os.access(paths.here(), os.W_OK):
        base = base.with_values({"output_dir": str(paths.state_dir() / "demo")}, Source.SET)
    return sources.change(base, sets, [])


def demo(args: argparse.Namespace) -> int:
    """`prl-tui demo`: check, launch, watch."""
    if importlib.util.find_spec("torch") is None:
        told = t('the demo needs torch in this environment: python -m pip install "prl-tui[demo]" brings it.')
        raise CommandError(told, Exit.IMPOSSIBLE)
    report = checks.check(config(args.set or []))
    if not report.ok:
        from prl_tui.cli.settings import lines

        print("\n".join(lines(report)), file=sys.stderr)
        return Exit.FINDINGS
    folder = running.begin(running.job_of(report))
    if args.plain or not sys.stdout.isatty():
        return watching.follow_plain(folder)
    screen, well = shown(watch=folder, leave_when_done=True)
    watching.tell_after(folder)
    from prl_tui.tui.calm_end import NO_CODE  # textual is there by now

    code = screen.return_value
    return Exit.IMPOSSIBLE if not well or code == NO_CODE else Exit.OK if code is None else code
