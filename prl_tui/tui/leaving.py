"""The app's `q`: changed settings that are kept nowhere are asked about before they are gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prl_tui.i18n import nt, t
from prl_tui.lists import listed

if TYPE_CHECKING:
    from prl_tui.tui.app import PrlApp
    from prl_tui.tui.session import Session


def ask(app: PrlApp, session: Session | None) -> None:
    """Leave; first ask where that loses what a person has set. Runs go on in any case."""
    lost = session.unkept if session is not None else ()
    if not lost:
        app.action_leave()
        return
    from prl_tui.tui.screens.dialogs import Question

    question = nt("Quit? {n} changed setting is kept nowhere.",
                  "Quit? {n} changed settings are kept nowhere.", len(lost))  # fmt: skip
    details = f"{listed(lost)}\n{t('s on the configure screen keeps them as a preset.')}"
    app.push_screen(Question(question, t("quit"), t("stay"), details), lambda yes: app.action_leave() if yes else None)
