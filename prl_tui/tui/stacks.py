"""Where each rank stands now, in a dialog; py-spy is asked on a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prl_tui.i18n import t
from prl_tui.tui.cells import safe_lines

if TYPE_CHECKING:
    from prl_tui.runs.folder import RunFolder
    from prl_tui.tui.app import PrlApp


def show(app: PrlApp, folder: RunFolder) -> None:
    """Read them, then open the dialog; what stands against it is said."""
    announced = t("Reading the stacks of every rank; it takes a few seconds.")

    def work() -> None:
        from prl_tui.runs import stacks

        if stacks.program(folder) is not None:
            app.call_later(app.tell, announced)
        try:
            text = "\n".join(stacks.lines(stacks.read(folder)))
        except stacks.StacksError as error:
            app.call_later(refused, str(error))
            return
        app.call_later(opened, safe_lines(text))

    def refused(reason: str) -> None:
        from prl_tui.tui import toasts

        toasts.take_back(app, announced)
        app.tell(reason, "error")

    def opened(text: str) -> None:
        from prl_tui.tui import toasts
        from prl_tui.tui.screens.dialogs import Help

        toasts.take_back(app, announced)
        app.push_screen(Help(text, wide=True))

    app.beside.do(f"stacks {folder.id}", work)
