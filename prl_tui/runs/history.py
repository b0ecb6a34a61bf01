"""What earlier runs tell of a new one: their pace."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from prl_tui.core import values
from prl_tui.core.config import RunConfig
from prl_tui.core.findings import NO_PACE, Pace
from prl_tui.core.recipe import Field
from prl_tui.runs import store
from prl_tui.runs.folder import RunFolder

LOOK_AT = 30
"""Newest runs that are looked at."""
LEAST = 10
"""Steps that a run must have done before its pace says anything: the first ones load, compile and warm up."""


def pace(root: Path, config: RunConfig) -> Pace:
    """The pace of the nearest run of the same recipe on as many processes that did some steps, and what differs in it.

    Of several as near the newest.
    """
    processes = config.number("nproc_per_node")
    alike: list[tuple[tuple[str, ...], RunFolder]] = []
    for folder in store.list_runs(root)[:LOOK_AT]:
        info = folder.info()
        if isinstance(info, dict) and info.get("recipe") == config.recipe.name and info.get("nproc") == processes:
            alike.append((_different(info, config), folder))
    for differs, folder in sorted(alike, key=lambda one: len(one[0])):
        from prl_tui.runs import overview  # a first run does not pay for it

        progress = overview.overview(folder).view.progress
        if progress is not None and progress.step >= LEAST and progress.seconds_per_step:
            return Pace(progress.seconds_per_step, folder.id, differs)
    return NO_PACE


def _different(info: Mapping[str, object], config: RunConfig) -> tuple[str, ...]:
    """The fields that change the time of a step and have another value in a run's record."""
    kept = info.get("values")
    kept = kept if isinstance(kept, dict) else {}
    paced = (field for field in config.recipe.fields if field.changes_step_time)
    return tuple(field.key for field in paced if _value(field, kept.get(field.key)) != config.value(field.key))


def _value(field: Field, text: object) -> object:
    """A recorded value as the field reads it, so that 5e-1 and 0.5 are one."""
    return None if text is None else values.parse(field, text)[0]
