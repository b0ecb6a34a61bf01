"""Without a command: the app."""

from __future__ import annotations

import sys

from prl_tui.cli.exits import CommandError, Exit
from prl_tui.cli.screen import shown
from prl_tui.i18n import t


def app(args: object) -> int:  # noqa: ARG001
    """`prl-tui`: configure, launch, watch. Needs a terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        told = t("the app needs a terminal; `prl-tui --help` lists what works without one.")
        raise CommandError(told, Exit.IMPOSSIBLE)
    screen, well = shown()
    if not well:
        return Exit.IMPOSSIBLE
    if screen.watched is not None:
        from prl_tui.cli import watching

        watching.tell_after(screen.watched)
    return Exit.OK
