"""What earlier runs tell of a new one: their pace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

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


class Earlier(NamedTuple):
    """A run of the same recipe on as many processes."""

    folder: RunFolder
    values: Mapping[str, object]
    """Of its fields, as its record has them."""


def earlier(root: Path, config: RunConfig) -> tuple[Earlier, ...]:
    """The newest runs of the config's recipe on as many processes, newest first."""
    processes, found = config.number("nproc_per_node"), []
    for folder in store.list_runs(root)[:LOOK_AT]:
        info = folder.info()
        if isinstance(info, dict) and info.get("recipe") == config.recipe.name and info.get("nproc") == processes:
            kept = info.get("values")
            found.append(Earlier(folder, kept if isinstance(kept, dict) else {}))
    return tuple(found)


def pace(root: Path, config: RunConfig) -> Pace:
    """The pace of the nearest run of the same recipe on as many processes that did some steps, and what differs in it.

    Of several as near the newest.
    """
    return nearest(earlier(root, config), config, seconds)


def nearest(runs: Sequence[Earlier], config: RunConfig, seconds_of: Callable[[Earlier], float | None]) -> Pace:
    """The same of runs that were found before; `seconds_of` is asked of no more of them than it takes."""
    alike = [(_different(one.values, config), one) for one in runs]
    for differs, one in sorted(alike, key=lambda entry: len(entry[0])):
        each = seconds_of(one)
        if each is not None:
            return Pace(each, one.folder.id, differs)
    return NO_PACE


def seconds(one: Earlier) -> float | None:
    """Seconds per step of a run; None where it did too few steps to tell. Reads its log."""
    from prl_tui.runs import overview  # a first run does not pay for it

    progress = overview.overview(one.folder).view.progress
    return progress.seconds_per_step or None if progress is not None and progress.step >= LEAST else None


def _different(kept: Mapping[str, object], config: RunConfig) -> tuple[str, ...]:
    """The fields that change the time of a step and have another value in a run's record."""
    paced = (field for field in config.recipe.fields if field.changes_step_time)
    return tuple(field.key for field in paced if _value(field, kept.get(field.key)) != config.value(field.key))


def _value(field: Field, text: object) -> object:
    """A recorded value as the field reads it, so that 5e-1 and 0.5 are one."""
    return None if text is None else values.parse(field, text)[0]
