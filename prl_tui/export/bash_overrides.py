"""What a script's head says of the variables that override its values: an example that this very script takes, and
which values it does not let change.
"""

from __future__ import annotations

from collections.abc import Collection
from textwrap import wrap

from prl_tui.core import flags, overriding
from prl_tui.core.assess import stack_of
from prl_tui.core.plan import LaunchPlan
from prl_tui.export import bash_files
from prl_tui.export.model import one_line
from prl_tui.export.shell import literal
from prl_tui.i18n import t

STRUCTURE = frozenset({"launcher", "training_env", "stack"})
"""Fields that decide the script's shape: fixed in the file, and a variable that wants another is refused."""


def fixed(plan: LaunchPlan) -> frozenset[str]:
    """Fields whose value a variable cannot change; a script refuses one that wants another."""
    return STRUCTURE | bash_files.settled(plan)


def flagless(plan: LaunchPlan) -> dict[str, str]:
    """Field without a value → why a variable can give it none: the script's engine has no such flag."""
    return flags.not_for(plan, stack_of(plan.config))


def _kept(plan: LaunchPlan) -> frozenset[str]:
    return fixed(plan) | bash_files.silent(plan).keys() | flagless(plan).keys()


def example_of(plan: LaunchPlan, given: Collection[str] = ()) -> str:
    """NAME=VALUE with which the plan's script starts, as a shell's word; or "" where there is none.

    `given` are fields whose value comes from what runs the script.
    """
    found = overriding.example(plan, _kept(plan) | set(given))
    return f"{found.variable}={literal(found.value)}" if found else ""


def told(plan: LaunchPlan, example: str, given: Collection[str]) -> list[str]:
    """A script's comment on what a variable changes, and what none does."""
    rule = (
        t("Values can be overridden by their variables, for example {example}; an empty one counts as unset.",
          example=example)
        if example
        else t("Values can be overridden by their variables; an empty one counts as unset.")
    )  # fmt: skip
    kept = _kept(plan)
    fields = plan.config.recipe.fields
    refused = [field.override for field in fields if field.key in kept]
    placed = [field.override for field in fields if field.key in given and field.key not in kept]
    lines = [rule]
    for sentence, names in (
        (t("Not these, for which it refuses another value than its own:"), refused),
        (t("Not these, which the platform gives:"), placed),
    ):
        lines += [sentence, *(f"  {line}" for line in wrap(" ".join(names), 112))] if names else []
    return [one_line(f"# {line}") for line in lines]
