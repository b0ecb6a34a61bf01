"""The facts of this box, looked up at once: a command waits for them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from prl_tui import reasons
from prl_tui.core.config import RunConfig
from prl_tui.core.findings import NO_PACE, Facts
from prl_tui.core.value import replace
from prl_tui.machine import facts, paths
from prl_tui.runs import claims, history, reserved

if TYPE_CHECKING:
    from prl_tui.machine.sampler_child import SamplerChild


def facts_here(
    config: RunConfig,
    rows: int | None = None,
    use_env: bool = False,
    share: bool = False,
    asked: SamplerChild | None = None,
    paced: bool = True,
) -> Facts:
    """GPUs, files, runs and the training environment; `rows` stands for the counted ones.

    `share`: GPUs that a run has reserved may be used all the same. `asked`: who is looking at the GPUs already.
    `paced`: earlier runs are asked how long a step takes; their logs are read for that.
    """
    from prl_tui.machine.gpu_feed import once

    unseen = ""
    pace = NO_PACE
    reserved_ones: list[claims.Claim] = []
    try:
        pace = history.pace(paths.runs_dir(), config) if paced else NO_PACE
        reserved_ones = claims.held(paths.runs_dir())
    except OSError as error:
        unseen = reasons.of_file(error)
    known = facts.look_up(config, paths.here(), pace)
    if unseen and not known.unseen:
        known = replace(known, unseen=unseen)
    if rows is not None:
        known = replace(known, rows=rows)
    found = reserved.known(facts.here(config, once(child=asked), known, claims.run_of), config, reserved_ones, share)
    return replace(found, inherited=facts.inherited(os.environ, overrides=True)) if use_env else found


def with_pace(facts: Facts, config: RunConfig) -> Facts:
    """The facts with what earlier runs tell of a step's time."""
    try:
        pace = history.pace(paths.runs_dir(), config)
    except OSError:
        return facts
    return replace(facts, seconds_per_step=pace.seconds, pace_source=pace.run, pace_differs=pace.differs)
