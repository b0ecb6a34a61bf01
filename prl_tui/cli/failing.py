"""Why a run failed, as lines for a person and as data: the first cause, the lines that show it, and where all of them are."""

from __future__ import annotations

import sys
from typing import Any

from prl_tui.i18n import t
from prl_tui.runs.overview import Overview
from prl_tui.telemetry import cause as causes

BAD = frozenset({"failed", "finished-with-exit-error", "lost"})
"""States of a run that failed."""


def failed(one: Overview) -> bool:
    """Whether there is something to explain: the run failed, or it is a smoke test that did not pass."""
    return one.status.state in BAD or one.cause is not None or (one.smoke is not None and not one.smoke.passed)


def tell(one: Overview, see: bool = True) -> None:
    """Say on stderr why a run failed; nothing for one that did not. `see`: and the command that shows its log."""
    for line in lines(one, see):
        print(line, file=sys.stderr)


def lines(one: Overview, see: bool = True) -> list[str]:
    """The first cause with its rank, the lines that show it, and where the whole log is."""
    if not failed(one):
        return []
    why = _why(one)
    path = why["file"]
    if one.cause is not None:
        told = [t("✗ the first cause: {reason}", reason=one.cause.words())]
    else:
        told = ["  " + (t("the last lines of its log:") if why["lines"] else t("it wrote nothing"))]
    told += [f"  │ {line}" for line in why["lines"]]
    if path:
        told.append("  " + t("the whole log: {path}, line {n}", path=path, n=why["line"]))
    if see and (path or one.cause is not None):
        told.append("  " + see_words(one))
    return told


def see_words(one: Overview) -> str:
    """`see: prl-tui logs ID --rank 1`: the command that shows the log in which the cause stands."""
    rank = f" --rank {one.cause.rank}" if one.cause is not None and one.cause.rank is not None else ""
    return t("see: prl-tui logs {id}{rank}", id=one.id, rank=rank)


def as_data(one: Overview) -> dict[str, Any] | None:
    """The same as plain data; None for a run that did not fail."""
    return _why(one) if failed(one) else None


def _why(one: Overview) -> dict[str, Any]:
    """The cause that the watch screen's `d` goes to; where the logs show none, the end of what was said last."""
    cause = one.cause
    path = cause.path if cause is not None and cause.path is not None else one.folder.output
    number = cause.line if cause is not None and cause.path is not None else None
    shown, line = causes.shown(path, number)
    return {
        "text": cause.text if cause is not None else "",
        "rank": cause.rank if cause is not None else None,
        "file": str(path) if shown else "",
        "line": line + 1 if shown else None,
        "lines": list(shown),
    }
