"""A recipe's parts as the rules of a script name them: their variables, their numbers, a refusal, a warning."""

from __future__ import annotations

from prl_tui.core.plan import LaunchPlan
from prl_tui.export.shell import literal, name_of


def key(plan: LaunchPlan, part: str) -> str:
    """The field behind a part, or "" where the recipe has no such field."""
    name = plan.config.recipe.part(part)
    return name if name in plan.config.recipe.by_key else ""


def var(plan: LaunchPlan, part: str) -> str:
    """The bash variable behind a part, or "" where the recipe has no such field."""
    name = key(plan, part)
    return name_of(name) if name else ""


def override(plan: LaunchPlan, part: str) -> str:
    """The environment variable that a person sets for a part."""
    return plan.config.recipe.by_key[plan.config.recipe.part(part)].override


def number(plan: LaunchPlan, part: str, otherwise: str) -> str:
    """A part's value in arithmetic; where it is not set the program's own, else `otherwise`."""
    name = var(plan, part)
    unset = plan.config.recipe.by_key[key(plan, part)].unset if name else None
    otherwise = otherwise if unset is None else str(unset)
    return f"${{{name}:-{otherwise}}}" if name else otherwise


def yes(plan: LaunchPlan, part: str) -> str:
    """A test that a yes-or-no part says yes; `false` where the recipe has no such field."""
    name = key(plan, part)
    return f"[[ ${name_of(name)} == {literal(plan.config.recipe.by_key[name].words[0])} ]]" if name else "false"


def refuse(test: str, sentence: str) -> list[str]:
    """Lines that end the script with a sentence where a test holds."""
    return [f"if {test}; then", f'  fail "{sentence}"', "fi"]


def warn(test: str, sentence: str) -> list[str]:
    """Lines that say a sentence where a test holds, and go on."""
    return [f"if {test}; then", f"  printf '%s\\n' \"{sentence}\" >&2", "fi"]
