"""The formats by name. A new one is a file beside this one and a line here."""

from __future__ import annotations

from prl_tui.core.plan import LaunchPlan
from prl_tui.export import bash, bat, command, env, oneline, slurm, toml
from prl_tui.export.model import Format

FORMATS: dict[str, Format] = {
    one.name: one
    for one in (command.FORMAT, oneline.FORMAT, bash.FORMAT, env.FORMAT, toml.FORMAT, bat.FORMAT, slurm.FORMAT)
}

SUFFIX = {name: one.suffix for name, one in FORMATS.items()}


def fitting(plan: LaunchPlan) -> list[str]:
    """The names of the formats in which a plan can be written."""
    return [name for name, one in FORMATS.items() if not one.refusal(plan)]
