"""A run that is a smoke test: what its record keeps, how it went, and the full run that it stands for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prl_tui.core import smoke
from prl_tui.core.config import RunConfig
from prl_tui.core.smoke import Result, Wanted
from prl_tui.runs.state import ALIVE, RunStatus
from prl_tui.telemetry.run_view import RunView

KEY = "smoke"
"""Where run.json keeps it."""


def record(wanted: Wanted) -> dict[str, Any]:
    """Plain data for a run's record."""
    return {"steps": wanted.steps, "evaluates": wanted.evaluates, "before": dict(wanted.before),
            "sources": dict(wanted.sources)}  # fmt: skip


def kept(info: Mapping[str, object] | object) -> Wanted | None:
    """What a run's record says of its smoke test; None for a run that is none."""
    data = info.get(KEY) if isinstance(info, dict) else None
    if not isinstance(data, dict):
        return None
    steps, before, sources = data.get("steps"), data.get("before"), data.get("sources")
    if not isinstance(steps, int) or not isinstance(before, dict) or not isinstance(sources, dict):
        return None
    texts = {str(key): None if value is None else str(value) for key, value in before.items()}
    return Wanted(steps, bool(data.get("evaluates")), texts, {str(key): str(value) for key, value in sources.items()})


def result(info: object, status: RunStatus, view: RunView, cwd: Path) -> Result | None:
    """How a smoke test went; None for a run that is none, or has not ended."""
    wanted = kept(info)
    if wanted is None or status.state in ALIVE:
        return None
    train = view.last_row
    saved = any((cwd / one.path).exists() for one in view.checkpoints)
    step = train.step if train is not None else None
    rows = 0 if train is None else view.rows
    return smoke.judge(wanted, status.exit_code, rows, step, view.last_eval is not None, saved)


def promoted(info: object, config: RunConfig) -> RunConfig | None:
    """The full run of a smoke test's run; None for a run that is none."""
    wanted = kept(info)
    return smoke.restored(config, wanted) if wanted is not None else None
