"""A smoke test: the same config for a few steps that log, evaluate and save, and what it says about the full run.

The recipe names the fields that shorten a run (`[smoke]`); nothing else is changed, so that what passes is what runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prl_tui.core import assess
from prl_tui.core.config import RunConfig, Source
from prl_tui.core.value import Value
from prl_tui.i18n import nt, t


class Wanted(Value):
    """What a smoke test must have done, kept in its run's record."""

    steps: int
    evaluates: bool
    """The config has something to evaluate on."""
    before: Mapping[str, str | None]
    """Field → its text before; None where it was not set."""
    sources: Mapping[str, str]
    """Field → where its value came from before."""


class Result(Value):
    """How a smoke test went."""

    passed: bool
    reasons: tuple[str, ...]
    """Sentences: what is missing, or what was seen."""

    def words(self) -> str:
        """One line."""
        head = t("smoke test passed") if self.passed else t("smoke test failed")
        return f"{head}: {'; '.join(self.reasons)}"


def possible(config: RunConfig) -> bool:
    """Whether the recipe says how to shorten a run."""
    return bool(config.recipe.data.smoke.steps)


def changes(config: RunConfig, steps: int) -> dict[str, Any]:
    """The fields that make it short: so many steps, each of them logged, the last one evaluated and saved."""
    smoke = config.recipe.data.smoke
    made: dict[str, Any] = {smoke.steps: steps}
    if smoke.log:
        made[smoke.log] = 1
    if smoke.save:
        made[smoke.save] = steps
    if smoke.evaluate and evaluates(config):
        made[smoke.evaluate] = steps
        made.update({key: value for key, value in smoke.evaluating.items() if key in config.recipe.by_key})
    made.update({key: value for key, value in smoke.values.items() if key in config.recipe.by_key})
    return made


def shrink(config: RunConfig, steps: int) -> RunConfig:
    """The config of the smoke test."""
    return config.with_values(changes(config, steps), Source.SET)


def wanted(config: RunConfig, steps: int) -> Wanted:
    """What a smoke test of this config must do, and what it changes."""
    keys = changes(config, steps)
    settings = {key: config.settings[key] for key in keys}
    before = {key: config.text(key) if one.value is not None else None for key, one in settings.items()}
    return Wanted(steps, evaluates(config), before, {key: one.source.word for key, one in settings.items()})


def evaluates(config: RunConfig) -> bool:
    """Whether the trainer will evaluate: it has data for it, and nobody switched it off."""
    if not config.recipe.data.smoke.evaluate:
        return False
    if config.recipe.data.smoke.always_evaluates:
        return True
    stack = assess.stack_of(config)
    return assess.numbers(assess.case(config, stack, None)).eval_on


def restored(config: RunConfig, kept: Wanted) -> RunConfig:
    """The config of a smoke test's run as it was before: the full run, with nothing else changed."""
    words = {source.word: source for source in Source}
    settings = dict(config.settings)
    base = config.baseline()
    for key, text in kept.before.items():
        if key not in config.recipe.by_key:
            continue
        source = words.get(kept.sources.get(key, ""), Source.SET)
        if source <= Source.PRESET:
            settings[key] = base.settings[key]
        else:
            settings[key] = config.with_values({key: text}, source).settings[key]
    return RunConfig(config.recipe, config.preset, settings)


def judge(kept: Wanted, exit_code: int | None, logged: int, step: int | None, evaluated: bool, saved: bool) -> Result:
    """Pass or fail, from the exit code and what logging.jsonl and the log show. `logged`: training rows."""
    missing = []
    if exit_code != 0:
        missing.append(t("exit code {code}", code="–" if exit_code is None else exit_code))
    if not logged:
        missing.append(t("no step was logged"))
    elif (step or 0) < kept.steps:
        missing.append(t("{step} of {steps} steps", step=step or 0, steps=kept.steps))
    if kept.evaluates and not evaluated:
        missing.append(t("nothing was evaluated"))
    if not saved:
        missing.append(t("no checkpoint was saved"))
    if missing:
        return Result(False, tuple(missing))
    seen = [nt("{n} step logged", "{n} steps logged", kept.steps)]
    seen.append(t("evaluated") if kept.evaluates else t("nothing to evaluate on"))
    return Result(True, (*seen, t("a checkpoint saved"), t("exit code {code}", code=0)))
