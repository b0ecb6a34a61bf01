"""When ms-swift saves and evaluates: every so many steps, at the end of each epoch, or never.

Judged by ms-swift 4.6.0, `SftArguments._init_eval_strategy`: evaluation follows saving where nobody says otherwise, and
without evaluation nothing is split off the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prl_tui.core.config import RunConfig

SAVING, EVALUATING = "save_strategy", "eval_strategy"
NEVER, EPOCH, STEPS = "no", "epoch", "steps"


def saving(value: Mapping[str, Any]) -> str:
    """`steps`, `epoch` or `no`."""
    return str(value.get(SAVING) or STEPS)


def evaluating(value: Mapping[str, Any]) -> str | None:
    """The same for evaluation; None where neither it nor saving is said."""
    found = value.get(EVALUATING) or value.get(SAVING)
    return None if found is None else str(found)


def told(config: RunConfig) -> dict[str, Any]:
    """What a config says of both; values that are wrong say nothing."""
    keys = [key for key in (SAVING, EVALUATING) if key in config.settings and not config.wrong(key)]
    return {key: config.value(key) for key in keys}
