"""The one way from a sub-command to the screens: whoever draws nothing never pays for it."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING

from prl_tui.cli import streams

if TYPE_CHECKING:
    from prl_tui.runs.folder import RunFolder
    from prl_tui.tui.app import PrlApp


def app_class() -> type[PrlApp]:
    """The app, imported. The collector rests until the app has settled and turns it on again (`PrlApp.on_mount`)."""
    gc.disable()
    from prl_tui.tui.app import PrlApp

    return PrlApp


def shown(
    watch: RunFolder | None = None, leave_when_done: bool = False, runs_root: Path | None = None
) -> tuple[PrlApp, bool]:
    """The app (`PrlApp`), run until a person leaves it, and whether that went well.

    Not so: a fault of its own ended it. It has told why, and the command's code is `Exit.IMPOSSIBLE`.
    """
    screen = app_class()(watch=watch, leave_when_done=leave_when_done, runs_root=runs_root)
    with streams.as_they_were():
        screen.run()
    return screen, not screen.return_code
