"""The app's `q`: changed settings that are kept nowhere are asked about before they are gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prl_tui.i18n import nt, t

if TYPE_CHECKING:
    from prl_tui.tui.app import PrlApp


def ask(app: PrlApp) -> None:
    """Leave; first ask where that loses what a person has set. Runs go on in any case."""
    lost = app.unkept
    if not lost:
        app.action_leave()
        return
    from prl_tui.tui.screens.dialogs import Question

    question = nt("Quit? {n} changed setting is kept nowhere.",
                  "Quit? {n} changed settings are kept nowhere.", len(lost))  # fmt: skip
    keeps = nt("s on the configure screen keeps it as a preset.",
               "s on the configure screen keeps them as a preset.", len(lost))  # fmt: skip
    details = f"{keeps}\n{'  '.join(lost)}"
    app.push_screen(Question(question, t("quit"), t("stay"), details), lambda yes: app.action_leave() if yes else None)
