"""What earlier runs tell of a new one: their pace."""

from __future__ import annotations

from pathlib import Path

from prl_tui.core.config import RunConfig
from prl_tui.runs import store
from prl_tui.runs.folder import RunFolder

LOOK_AT = 30
"""Newest runs that are looked at."""
LEAST = 10
"""Steps that a run must have done before its pace says anything: the first ones load, compile and warm up."""


def pace(root: Path, config: RunConfig) -> tuple[float | None, str]:
    """`(seconds per step, run id)` of the newest run of the same recipe on as many processes that did some steps.

    `(None, "")` without one.
    """
    processes = config.number("nproc_per_node")
    for folder in store.list_runs(root)[:LOOK_AT]:
        if _alike(folder, config.recipe.name, processes):
            from prl_tui.runs import overview  # a first run does not pay for it

            progress = overview.overview(folder).view.progress
            if progress is not None and progress.step >= LEAST and progress.seconds_per_step:
                return progress.seconds_per_step, folder.id
    return None, ""


def _alike(folder: RunFolder, recipe: str, processes: int | None) -> bool:
    info = folder.info()
    return isinstance(info, dict) and info.get("recipe") == recipe and info.get("nproc") == processes
