"""A fault of this program itself: one sentence for the person, the traceback in a file for whoever mends it."""

from __future__ import annotations

import traceback

from prl_tui.core import secrets
from prl_tui.i18n import t
from prl_tui.machine import paths

FILE = "crash.log"
"""In the state folder; the last fault's."""


def record(error: BaseException) -> str:
    """Write the traceback down, without the secrets that are in it; the sentence that says what happened and where the details are."""
    path = paths.state_dir() / FILE
    name = type(error).__name__
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(secrets.hidden_code("".join(traceback.format_exception(error))), "utf-8", "backslashreplace")
    except OSError:
        return t("an unexpected fault: {reason}.", reason=secrets.hidden_text(f"{name}: {error}"))
    return t("an unexpected fault: {reason}; the details are in {path}.", reason=name, path=path)
