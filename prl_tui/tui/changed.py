"""What changed since the last run of the same recipe, in a dialog; read on a thread, since it lies in files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prl_tui.i18n import t
from prl_tui.tui.cells import safe_lines

if TYPE_CHECKING:
    from prl_tui.runs.changes import Changes
    from prl_tui.runs.folder import RunFolder
    from prl_tui.tui.app import PrlApp


def show(app: PrlApp, folder: RunFolder) -> None:
    """Read both runs, then open the dialog; a recipe's first run only says so."""

    def work() -> Changes | None:
        from prl_tui.runs import changes

        return changes.since_last(folder.path.parent, folder)

    awaited = t("Comparing run {id} …", id=folder.id)
    app.beside.do(f"changes {folder.id}", work, lambda found: _open(app, folder.id, found), awaited=awaited)


def _open(app: PrlApp, run: str, found: Changes | None) -> None:
    from prl_tui.runs import changes
    from prl_tui.tui.screens.dialogs import Help

    if found is None:
        app.tell(t("Run {id} is the first of its recipe.", id=run))
        return
    head = t("What changed in run {after} since run {before}", after=found.after, before=found.before)
    app.push_screen(Help(safe_lines("\n".join([head, "", *changes.lines(found)])), wide=True))
