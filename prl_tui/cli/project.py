"""Asks once whether the working directory's own recipes may be used."""

from __future__ import annotations

import sys
from pathlib import Path

from prl_tui.i18n import t
from prl_tui.machine import paths


def folders(ask: bool = True) -> list[Path]:
    """Where recipes and presets are read from."""
    project = paths.project_dir(paths.here())
    if not paths.is_dir(project):
        return paths.own_recipe_dirs()
    from prl_tui.machine import trust

    if ask and trust.known(project) is None:
        _ask(project)
    return trust.recipe_folders(project)


def _ask(project: Path) -> None:
    from prl_tui.machine import trust

    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        told = t("{path} is not used: nobody has allowed it. `prl-tui recipes --trust yes` allows it.", path=project)
        print(told, file=sys.stderr)
        return
    print(f"{trust.question(project)} [y/N] ", end="", file=sys.stderr, flush=True)
    not_kept = trust.remember(project, sys.stdin.readline().strip().lower() in {"y", "yes", "是"})
    if not_kept:
        print(not_kept, file=sys.stderr)
