"""Stopping a run from a screen: asked first, done off the screen's thread, over only when nothing is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prl_tui.i18n import t
from prl_tui.runs import stop as stopping
from prl_tui.runs.bare import BareRun
from prl_tui.runs.overview import Overview
from prl_tui.runs.state import ALIVE
from prl_tui.tui.screens.dialogs import Question

if TYPE_CHECKING:
    from prl_tui.tui.app import PrlApp


def ask(app: PrlApp, one: Overview) -> None:
    """Ask, then stop."""
    if isinstance(one.folder, BareRun):
        app.tell(t("prl-tui did not start {id}: it cannot be stopped from here.", id=one.id))
        return
    if one.status.state not in ALIVE and one.status.state != "unknown":
        app.tell(t("run {id} has ended already", id=one.id))
        return

    def answered(yes: bool | None) -> None:
        if yes:
            app.run_worker(
                lambda: _work(app, one), name="stop", description="stop a run", thread=True, exit_on_error=False
            )

    details = t("Every process that it started gets INT, then TERM, then KILL.")
    app.push_screen(Question(t("Stop run {id}?", id=one.id), t("stop"), t("let it run"), details), answered)


def _work(app: PrlApp, one: Overview) -> None:
    result = stopping.stop(one.folder, by="prl-tui")
    app.call_later(app.tell, result.sentence, "warning" if result.refused else "information")
