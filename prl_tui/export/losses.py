"""What an exported file cannot carry, or what will differ where it runs: one sentence for each."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from prl_tui.core import secrets, strategies
from prl_tui.core.plan import LaunchPlan
from prl_tui.i18n import t
from prl_tui.lists import listed

_OPENS, _CLOSES = r"""<{\[(`"'「『“‘（【《〈""", r""">}\])`"'」』”’）】》〉"""
"""Brackets and quotes, as they stand in a regular expression's class."""
_BEGINS, _ENDS = rf"(?:^|[\s/\\=:,{_OPENS}])", rf"(?:[/\\\s.{_CLOSES}]|$)"
_NOUNS = (
    "adapters?|base|cache|checkpoints?|ckpts?|configs?|csv|data|datasets?|dir|directory|env|eval|files?|folders?|hf|images?|"
    "jsonl?|local|logs?|lora|models?|my|outputs?|pretrained|reward|save|scripts?|test|the|tokenizer|train|training|val|"
    "vision|weights?|your"
)
"""What a guide's `path_to_` goes on with; `path_to_rome` is somebody's own."""
_ZH_NOUNS = "模型|基座|奖励|数据|路径|目录|文件|检查点|权重|输出|项目|脚本|配置"
_WHOLE, _OVER = r"(?:^|[/\\=])", r"(?=$|[/\\])"
"""Where a value or a part of a path begins, and where it ends."""
_SHAPES = (
    rf"{_BEGINS}path[/\\_-]to{_ENDS}",
    rf"{_BEGINS}path[_-]to[_-](?:[a-z]+[_-])?(?:{_NOUNS})(?![a-z])",
    rf"{_BEGINS}(?-i:PATH[_-]TO[_-][A-Z])",
    rf"{_BEGINS}your[_-]\w",
    rf"{_BEGINS}x{{3,}}{_ENDS}",
    r"(?:^|[/\\])your[/\\]\w",
    rf"{_WHOLE}[你您]的(?:{_ZH_NOUNS})[^{_CLOSES}/\\\s，。]{{0,12}}{_OVER}",
    rf"{_WHOLE}your\s+(?:{_NOUNS}){_OVER}",
    rf"{_WHOLE}[{_OPENS}]\s*(?:your\s+\w|[你您]的)[^{_CLOSES}]{{0,40}}[{_CLOSES}]{_OVER}",
    rf"{_WHOLE}<[^<>]{{0,20}}(?:path|model|dir|data|file|ckpt|checkpoint)[^<>]{{0,20}}>{_OVER}",
)
_PLACEHOLDER = re.compile("|".join(_SHAPES), re.IGNORECASE)
"""A word, or a part of a path, that stands in guides for a person's own: /path/to/model, path_to_model, your_model_path, runs/xxx.

With blanks only where that is a whole value, or a whole part of a path: a prompt may say “your” and 你的.
"""


def placeholders(plan: LaunchPlan) -> Iterator[str]:
    """Fields whose value is still a guide's placeholder."""
    config = plan.config
    for field in config.recipe.fields:
        if config.value(field.key) is not None and _PLACEHOLDER.search(config.text(field.key)):
            yield t("{key} still has a placeholder: {value}", key=field.key, value=config.text(field.key))


def unsealed() -> str:
    """For a format that has no place for a comment."""
    return t("It has no place for a head: later nobody can tell from it whether a hand changed it.")


def secret(plan: LaunchPlan) -> str:
    """One sentence that names the field whose value is a key, a token or a password, by its look or its flag; or ""."""
    config = plan.config
    for key, setting in config.settings.items():
        if setting.secret:
            return _kept(key)
    for argument in plan.arguments:
        if argument.key and secrets.hidden_words(argument.words) != argument.words:
            return _kept(argument.key)
    for field in config.recipe.fields:
        if config.value(field.key) is not None and secrets.looks_secret(config.text(field.key)):
            return _kept(field.key)
    return ""


def _kept(key: str) -> str:
    return t("{key} holds a secret, which no file keeps: give it by an environment variable that the program reads.",
             key=key)  # fmt: skip


def overriding(plan: LaunchPlan) -> str:
    """The variables that override fields, in words: `PRL_*`, and by name those that begin otherwise, such as DATASET."""
    bare = (field.override for field in plan.config.recipe.fields)
    return listed(("PRL_*", *(name for name in bare if not name.startswith("PRL_"))))


def fixed(names: str = "PRL_*") -> str:
    """For a format that holds one set of values; `names` are the variables that other formats let override."""
    return t("The variables {names} change nothing in this format: its values are fixed.", names=names)


def replaced(plan: LaunchPlan, told: Collection[str] = ()) -> Iterator[str]:
    """For a format that sets variables and says nothing where it runs: those that it takes from the shell.

    Not those that are `told` already: overriding variables that change nothing there.
    """
    if names := [name for name in dict(plan.env) if name not in told]:
        yield t("What the shell itself has for {names} is replaced, without a word there.", names=listed(names))


def fixed_values(plan: LaunchPlan) -> Iterator[str]:
    """For a format that holds one set of values and looks at nothing where it runs."""
    yield fixed(overriding(plan))
    yield from replaced(plan, [field.override for field in plan.config.recipe.fields])
    for field in plan.config.recipe.fields:
        if field.glob and any(mark in plan.config.text(field.key) for mark in "*?["):
            yield t("{key}: this format resolves no pattern; the program gets {value} as it stands.",
                    key=field.key, value=plan.config.text(field.key))  # fmt: skip


def surroundings(plan: LaunchPlan) -> Iterator[str]:
    """For a format that has no place for what surrounds the command."""
    if plan.activation.kind in {"conda", "venv", "python"}:
        yield t("The training environment is not activated here: {name}", name=plan.activation.name)
    if plan.workdir:
        yield t("The working directory is not entered here: {path}", path=plan.workdir)


def inherited(plan: LaunchPlan) -> tuple[str, ...]:
    """Names of variables that the launch must bring along, as secrets do."""
    free = {field.key for field in plan.config.recipe.fields if field.type == "variables"}
    return tuple(variable.name for variable in plan.variables if variable.key in free and variable.value is None)


def _between_saves(plan: LaunchPlan) -> tuple[bool, int | None]:
    """Whether there are checkpoints on the way, and the steps between two where they come by steps."""
    saving = strategies.saving(strategies.told(plan.config))
    by_steps = saving == strategies.STEPS and "save_steps" in plan.config.settings
    return saving != strategies.NEVER, plan.config.number("save_steps") if by_steps else None


def at_risk(plan: LaunchPlan) -> str:
    """What a killed job loses: the steps since its last checkpoint."""
    saves, steps = _between_saves(plan)
    if not saves:
        return t(
            "No signal comes before the time limit, and save_strategy no saves nothing on the way: all steps are lost."
        )
    if steps is None:
        return t("No signal comes before the time limit: steps since the last checkpoint are lost.")
    return t(
        "No signal comes before the time limit: up to {steps} {steps:step|steps} since the last checkpoint can be lost.",
        steps=steps,
    )


def at_deletion(plan: LaunchPlan) -> str:
    """What a job that is deleted or preempted loses: the engines save nothing on TERM."""
    saves, steps = _between_saves(plan)
    if not saves:
        return t("A job that is deleted or preempted loses all its steps: save_strategy no saves nothing on the way.")
    if steps is None:
        return t("A job that is deleted or preempted saves nothing more: steps since the last checkpoint are lost.")
    return t(
        "A job that is deleted or preempted saves nothing more: up to {steps} {steps:step|steps} since the last checkpoint can be lost.",
        steps=steps,
    )
