"""How many lines of a log were found, and which of them is the current one, in the few words that the row of logs has room for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prl_tui.i18n import nt, t

if TYPE_CHECKING:
    from prl_tui.telemetry.line_scan import LineScan
    from prl_tui.tui.widgets.log_filter import FilterPane


def of_text(view: FilterPane, count: LineScan) -> str:
    """Of the lines with a text."""
    place, total, n = _place(view, count)
    if not count.counted:
        return t("≥ {n} {n:match|matches}", n=n)
    return t("{place} of {n}", place=place, n=n) if place else nt("1 match", "{count} matches", total, count=n)


def of_level(view: FilterPane, count: LineScan, errors: bool) -> str:
    """Of the lines that look like errors, or that are warnings."""
    place, total, n = _place(view, count)
    if not count.counted:
        return t("≥ {n} {n:error|errors}", n=n) if errors else t("≥ {n} {n:warning|warnings}", n=n)
    if place:
        return t("error {place} of {n}", place=place, n=n) if errors else t("warning {place} of {n}", place=place, n=n)
    if errors:
        return nt("1 error", "{count} errors", total, count=n)
    return nt("1 warning", "{count} warnings", total, count=n)


def _place(view: FilterPane, count: LineScan) -> tuple[str, int, str]:
    """Which one the current line is, from 1, or nothing; how many there are, as a number and as text."""
    unfinished = count.unfinished()
    total = len(count.lines) + len(unfinished)
    if view.current_line is not None:
        number = view.number_of(view.current_line)
        if number in count.lines or number in unfinished:
            at = count.lines.before(number) + sum(line < number for line in unfinished) + 1
            return f"{at:,}", total, f"{total:,}"
    return "", total, f"{total:,}"
