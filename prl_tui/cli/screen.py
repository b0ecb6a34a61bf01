"""The one way from a sub-command to the screens: whoever draws nothing never pays for it."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prl_tui.tui.app import PrlApp


def app_class() -> type[PrlApp]:
    """The app, imported. The collector rests until the app has settled and turns it on again (`PrlApp.on_mount`)."""
    gc.disable()
    from prl_tui.tui.app import PrlApp

    return PrlApp
