"""Sweep in the app: look on a thread, ask with the safe answer first, end on a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prl_tui.i18n import nt, t

if TYPE_CHECKING:
    from prl_tui.runs.sweep import Orphans, Swept
    from prl_tui.tui.app import PrlApp


def look(app: PrlApp) -> None:
    """Find them and ask."""

    def work() -> tuple[list[Orphans], list[str]]:
        from prl_tui.machine import paths
        from prl_tui.runs import sweep

        found = sweep.find(paths.runs_dir())
        return found, sweep.notes(paths.runs_dir(), found)

    awaited = t("Looking for processes of earlier runs …")
    app.beside.do("look for orphans", work, lambda seen: _ask(app, *seen), awaited=awaited)


def _ask(app: PrlApp, found: list[Orphans], notes: list[str]) -> None:
    from prl_tui.runs import sweep
    from prl_tui.tui.screens.dialogs import Question

    for note in notes:
        app.tell(note, "warning")
    count = sum(len(one.processes) for one in found)
    if not count:
        if not notes:
            app.tell(t("No process of an earlier run is left."))
        return

    def answered(yes: bool | None) -> None:
        if yes:
            _end(app, found)

    question = nt("End {n} process that outlived its run?", "End {n} processes that outlived their runs?", count)
    app.push_screen(Question(question, t("end them"), t("leave them"), "\n".join(sweep.lines(found))), answered)


def _end(app: PrlApp, found: list[Orphans]) -> None:
    def work() -> list[Swept]:
        from prl_tui.runs import sweep

        return [sweep.end(one) for one in found]

    app.beside.unfinished.orphans.update({one.id: one.folder for one in found})
    app.beside.do("end orphans", work, lambda swept: _tell(app, swept), finishes=True)


def _tell(app: PrlApp, swept: list[Swept]) -> None:
    for one in swept:
        app.beside.unfinished.orphans.pop(one.id, None)
    left = sum(one.left for one in swept)
    if left:
        app.tell(nt("{n} process could not be ended.", "{n} processes could not be ended.", left), "error")
    else:
        ended = sum(one.ended for one in swept)
        app.tell(nt("{n} process ended", "{n} processes ended", ended))
