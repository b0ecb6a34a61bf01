"""What is wrong with this box and the config's environment, in a dialog; looked at beside the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prl_tui.i18n import t
from prl_tui.tui.cells import safe_lines

if TYPE_CHECKING:
    from prl_tui.tui.app import PrlApp


def show(app: PrlApp) -> None:
    """Look, then open the dialog."""
    config = app.session.config
    env, hook = (config.text(key) if key in config.settings else "" for key in ("training_env", "conda_hook"))
    announced = t("Looking at this box; it takes a few seconds.")
    app.tell(announced)

    def work() -> str:
        from prl_tui.machine import doctor_report

        return safe_lines("\n".join(doctor_report.lines(doctor_report.look(env, hook))))

    def then(text: str) -> None:
        from prl_tui.tui import toasts
        from prl_tui.tui.screens.dialogs import Help

        toasts.take_back(app, announced)
        app.push_screen(Help(text, wide=True))

    app.beside.do("doctor", work, then)
