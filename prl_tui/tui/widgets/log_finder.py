"""The line in which a person types what to look for in a log, or which of its lines to show."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from textual.content import Content
from textual.widgets import Input, Static

from prl_tui.i18n import nt, t
from prl_tui.telemetry.line_tests import search_test
from prl_tui.tui.cells import fit

if TYPE_CHECKING:
    from prl_tui.tui.widgets.log_view import LogView

Purpose = Literal["find", "only", "without"]


class LogFinder(Input):
    """Over the log until enter or esc."""

    def __init__(self, purpose: Purpose, view: LogView) -> None:
        hints = {
            "find": t("find in the log; re: begins a regular expression"),
            "only": t("only lines with this; re: begins a regular expression; empty: all"),
            "without": t("no lines with this; re: begins a regular expression; empty: all"),
        }
        tests = {"find": None, "only": view.shown.only, "without": view.shown.without}
        test = tests[purpose]
        super().__init__(test.needle if test is not None else "", placeholder=hints[purpose], id="finder")
        self.purpose, self._view = purpose, view

    def apply(self) -> None:
        """Do with the log what was typed. ValueError, with a sentence, for a regular expression that is none."""
        if self.purpose == "find":
            self._view.search(self.value, backwards=True)
            return
        test = search_test(self.value) if self.value else None
        shown = self._view.shown
        self._view.narrow(replace(shown, only=test) if self.purpose == "only" else replace(shown, without=test))


class FilterLine(Static):
    """Which lines of a log are shown, where that is not all of them."""

    DEFAULT_CSS = "FilterLine { height: 1; padding: 0 1; color: $text-accent; display: none; }"

    def __init__(self) -> None:
        super().__init__(id="log-filter")
        self._said = ""

    def show(self, view: LogView, log: str) -> None:
        """Say it in one line, `log` first, which log it is; nothing where all lines are shown."""
        said = "" if view.filtered is None else f"{' · '.join([log, *view.shown.words()])}   {_how_many(view)}"
        width = max(0, self.size.width - 2) if self.display else max(0, self.screen.size.width - 4)
        said = _beside(said, t("esc clears") if view.shown else "", width) if said else ""
        if said != self._said:
            self._said = said
            self.display = bool(said)
            self.update(Content(said), layout=False)


def _beside(left: str, right: str, width: int) -> str:
    """Both in one line; the right one goes where there is no room for it."""
    whole = f"{left}   {right}".rstrip()
    return whole if fit(whole, width).rstrip() == whole else fit(left, width)


def _how_many(view: LogView) -> str:
    filtered = view.filtered
    if filtered is None:
        return ""
    n, total = filtered.lines, filtered.base.lines
    if filtered.scan.counted:
        return nt("{shown} of 1 line", "{shown} of {total} lines", total, shown=f"{n:,}", total=f"{total:,}")
    return t("≥ {shown} {shown:line|lines}, {share} % looked at", shown=f"{n:,}", share=int(100 * filtered.scan.share))
