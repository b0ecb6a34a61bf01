"""The formats by name. A new one is a file beside this one and a line here."""

from __future__ import annotations

from prl_tui.core.plan import LaunchPlan
from prl_tui.export import (
    accelerate,
    bash,
    bat,
    command,
    dlc,
    dstack,
    env,
    oneline,
    pytorchjob,
    skypilot,
    slurm,
    toml,
    trainjob,
)
from prl_tui.export.model import Format

FORMATS: dict[str, Format] = {
    one.name: one
    for one in (
        command.FORMAT,
        oneline.FORMAT,
        bash.FORMAT,
        env.FORMAT,
        toml.FORMAT,
        bat.FORMAT,
        slurm.FORMAT,
        trainjob.FORMAT,
        pytorchjob.FORMAT,
        skypilot.FORMAT,
        dstack.FORMAT,
        dlc.FORMAT,
        accelerate.ACCELERATE,
        accelerate.DEEPSPEED,
    )
}

SUFFIX = {name: one.suffix for name, one in FORMATS.items()}


def fitting(plan: LaunchPlan) -> list[str]:
    """The names of the formats in which a plan can be written."""
    return [name for name, one in FORMATS.items() if not one.refusal(plan)]


def of_file(name: str) -> Format | None:
    """The format that a file's ending says: the longest that fits, since `.dlc.sh` is no plain `.sh`."""
    fits = [one for one in FORMATS.values() if name.endswith(one.suffix)]
    return max(fits, key=lambda one: len(one.suffix), default=None)
