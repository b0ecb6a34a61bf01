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
    told = [t("✗ the first cause: {reason}", reason=one.cause.words())] if one.cause is not None else []
    if one.why:
        told.append(f"  {one.why}")
    if one.cause is None:
        told.append("  " + (t("the last lines of its log:") if why["lines"] else t("it wrote nothing")))
    told += [f"  │ {line}" for line in why["lines"]]
    if path:
        told.append("  " + t("the whole log: {path}, line {n}", path=path, n=why["line"]))
    if see and (path or one.cause is not None):
        told.append("  " + see_words(one))
        if (rank := _speechless(one)) is not None:
            told.append("  " + t("what rank {rank} said last: prl-tui logs {id} --rank {rank}", id=one.id, rank=rank))
    return told


def see_words(one: Overview) -> str:
    """`see: prl-tui logs ID --rank 1`: the command that shows the log in which the cause stands."""
    cause = one.cause
    rank = f" --rank {cause.rank}" if cause is not None and cause.path not in {None, one.folder.output} else ""
    return t("see: prl-tui logs {id}{rank}", id=one.id, rank=rank)


def _speechless(one: Overview) -> int | None:
    """The rank that failed and whose own log does not say why, where it has one."""
    rank = one.cause.rank if one.cause is not None and one.cause.path == one.folder.output else None
    return rank if rank in {log.rank for log in one.view.ranks} else None


def as_data(one: Overview) -> dict[str, Any] | None:
    """The same as plain data; None for a run that did not fail."""
    return _why(one) if failed(one) else None


def _why(one: Overview) -> dict[str, Any]:
    """The cause that the watch screen's `d` goes to; where the logs show none, the end of what was said last."""
    cause = one.cause
    path = cause.path if cause is not None and cause.path is not None else one.folder.output
    shown, at = causes.shown(path, cause.at if cause is not None and cause.path is not None else None)
    line = causes.line_at(path, at) if shown else None
    return {
        "text": cause.text if cause is not None else "",
        "why": one.why,
        "rank": cause.rank if cause is not None else None,
        "file": str(path) if shown else "",
        "line": line + 1 if line is not None else None,
        "lines": list(shown),
    }
