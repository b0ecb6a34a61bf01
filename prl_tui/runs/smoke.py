"""A run that is a smoke test: how it is made short, what its record keeps, how it went, the full run that it stands for."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prl_tui.core import files, smoke
from prl_tui.core.config import RunConfig
from prl_tui.core.findings import Facts, Report
from prl_tui.core.smoke import Result, Seen, Wanted
from prl_tui.core.value import replace
from prl_tui.i18n import nt, t
from prl_tui.machine import paths
from prl_tui.runs.folder import Ended, RunFolder, known_end
from prl_tui.runs.state import RunStatus

if TYPE_CHECKING:
    from prl_tui.telemetry.run_view import RunView

KEY = "smoke"
"""Where run.json keeps it."""
WATCHER = "smoke test"
"""Who asked for the stop of a run that had shown its steps (`stop.stop`)."""


def prepare(report: Report, facts: Facts, steps: int, here: Path) -> tuple[RunConfig, Wanted]:
    """The short config and what it must do; `here` is where relative paths start. OSError where data cannot be cut."""
    from prl_tui.core import checks  # a run that is only looked at never pays for these
    from prl_tui.machine import paths, rows
    from prl_tui.runs import smoke_data

    config, known = report.config, smoke.sizes(report)
    counted = rows.of_fields(config, config.recipe.data.smoke.rows, here)
    if counted is not None:
        known = smoke.sizes(checks.check(config, replace(facts, rows=counted), report.stack.name))
    data = smoke_data.cut(config, smoke.cuts(config, steps, known), here, paths.state_dir() / "smoke-data")
    return smoke.shrink(config, steps, known, data), smoke.wanted(config, steps, known, data)


def watched_words(config: RunConfig, steps: int) -> str:
    """That a program has no end of its own after so few steps, and what is done about it."""
    told = nt(
        "{recipe} has no setting that ends it after {n} step: it is stopped once its log shows that one.",
        "{recipe} has no setting that ends it after {n} steps: it is stopped once its log shows them.",
        steps,
        recipe=config.recipe.name,
    )
    words = config.recipe.data.smoke.words
    if words:
        return told + " " + t("{key} takes the arguments that would end it.", key=words)
    given = [one for one in config.recipe.data.write if one.when and not files.is_written(one, config)]
    for key, value in given[0].when.items() if given else ():
        told += " " + t("With {key}={value} more of it can be set.", key=key, value=value)
    return told


def anew_words(wanted: Wanted) -> str:
    """That a smoke test does not go on from the checkpoint that its full run goes on from; "" where there is none."""
    if not wanted.anew:
        return ""
    return t(
        "The smoke test begins anew, not from {checkpoint}: its steps count from 0. The full run goes on from there.",
        checkpoint=wanted.anew,
    )


def record(wanted: Wanted) -> dict[str, Any]:
    """Plain data for a run's record."""
    return {"steps": wanted.steps, "evaluates": wanted.evaluates, "before": dict(wanted.before),
            "sources": dict(wanted.sources), "saves": wanted.saves, "watched": wanted.watched,
            "evaluated": wanted.evaluated, "failures": list(wanted.failures), "saves_in": wanted.saves_in,
            "anew": wanted.anew, "count": wanted.count}  # fmt: skip


def kept(info: Mapping[str, object] | object) -> Wanted | None:
    """What a run's record says of its smoke test; None for a run that is none."""
    data = info.get(KEY) if isinstance(info, dict) else None
    if not isinstance(data, dict):
        return None
    steps, before, sources = data.get("steps"), data.get("before"), data.get("sources")
    if not isinstance(steps, int) or not isinstance(before, dict) or not isinstance(sources, dict):
        return None
    texts = {str(key): None if value is None else str(value) for key, value in before.items()}
    failures = data.get("failures")
    return Wanted(
        steps,
        bool(data.get("evaluates")),
        texts,
        {str(key): str(value) for key, value in sources.items()},
        bool(data.get("saves", True)),
        bool(data.get("watched")),
        str(data.get("evaluated") or ""),
        tuple(str(one) for one in failures) if isinstance(failures, list) else (),
        str(data.get("saves_in") or ""),
        str(data.get("anew") or ""),
        count if isinstance(count := data.get("count"), int) else 0,
    )


def step_of(view: RunView) -> int | None:
    """The last step that a run shows: by its metrics, else by its bar."""
    shown = [view.last_row.step if view.last_row is not None else None]
    shown.append(view.progress.step if view.progress is not None else None)
    return max((step for step in shown if step is not None), default=None)


def result(folder: RunFolder, info: object, status: RunStatus, view: RunView, cwd: Path) -> Result | None:
    """How a smoke test went; None for a run that is none, or has not ended."""
    wanted = kept(info)
    if wanted is None or not status.over:
        return None
    ended, _ = known_end(folder)
    train = view.last_row
    known = train is not None and wanted.evaluated in train.values
    seen = Seen(
        status.exit_code,
        0 if train is None else view.rows,
        step_of(view),
        view.last_eval is not None or known,
        any(paths.exists(cwd / one.path) for one in view.checkpoints) or _saved(cwd, wanted.saves_in, status.started),
        isinstance(ended, Ended) and ended.stopped_by == WATCHER,
        _failure(folder, wanted.failures),
        _no_number(view),
    )
    return smoke.judge(wanted, seen)


_LOSS = re.compile(r"(train_)?loss|loss_.*")
"""How programs name what they minimise; an evaluation's loss is none of them."""


def _no_number(view: RunView) -> str:
    """The first loss of which no step gave a number, with what it was last."""
    for name, series in view.series.items():
        found = [value for _, value in series] if _LOSS.fullmatch(name) else []
        if found and not any(map(math.isfinite, found)):
            return f"{name} {found[-1]}"
    return ""


def _saved(cwd: Path, folder: str, since: float | None) -> bool:
    """Whether a folder has a `checkpoint-N` of this run."""
    try:
        made = [one.stat().st_mtime for one in (cwd / folder).glob("checkpoint-*")] if folder else []
    except OSError:
        return False
    return any(moment >= (since or 0.0) - 1.0 for moment in made)  # clocks of file systems are coarse


def _failure(folder: RunFolder, patterns: tuple[str, ...]) -> str:
    """The first line of the log that tells of a failed step; the log of so few steps is short."""
    from prl_tui.core import secrets  # not for those who only launch
    from prl_tui.telemetry.escapes import plain

    try:
        found = [re.compile(pattern) for pattern in patterns]
        with folder.output.open("rb") as file:
            lines = (plain(line) for part in file for line in part.split(b"\r")) if found else iter(())
            hits = (line[match.start() :] for line in lines for one in found if (match := one.search(line)))
            return secrets.hidden_said(next(hits, "").strip())[:400]
    except (OSError, re.error):
        return ""


def promoted(info: object, config: RunConfig) -> RunConfig | None:
    """The full run of a smoke test's run; None for a run that is none."""
    wanted = kept(info)
    return smoke.restored(config, wanted) if wanted is not None else None
