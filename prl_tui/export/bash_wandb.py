"""A mode for wandb in bash that asks nobody, where a variable sends the curves there (`core.wandb`)."""

from __future__ import annotations

from prl_tui.core import wandb
from prl_tui.core.plan import LaunchPlan
from prl_tui.export import bash_files, bash_overrides
from prl_tui.export.shell import literal, name_of
from prl_tui.i18n import t


def rules(plan: LaunchPlan) -> list[str]:
    """Lines that fill in the mode; none where the file has one already, or where no variable decides who gets the curves.

    A mode of the job's own environment stays, also where another variable overrides the field.
    """
    mode, target = wandb.MODE, wandb.TARGET
    kept = bash_overrides.fixed(plan) | bash_files.silent(plan).keys()
    free = {mode, target} <= plan.config.recipe.by_key.keys() - kept
    if not free or plan.config.value(mode) is not None:
        return []
    name, told = name_of(mode), t("{name} is not set: the job gets {name}={mode}.", name=mode, mode=wandb.WITHOUT_A_KEY)
    return [
        f"if [[ ${name_of(target)} == {wandb.WANDB} && -z ${name} && -z ${{{mode}-}} ]]; then",
        f"  {name}={wandb.WITHOUT_A_KEY}; printf '%s\\n' {literal(told)}",
        "fi",
    ]
