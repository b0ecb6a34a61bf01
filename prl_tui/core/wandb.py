"""Curves sent to Weights & Biases from a job that has no terminal: its mode stands in the job's environment, and its key too.

Without either, wandb asks for a key at the start, and where nobody can answer it raises `UsageError: No API key configured`.
"""

from __future__ import annotations

from collections.abc import Iterator

from prl_tui.core import wordlist
from prl_tui.core.config import RunConfig, Source
from prl_tui.core.findings import Facts, Finding, Fix
from prl_tui.core.reporting import FLAGS
from prl_tui.i18n import t

MODE, KEY = "WANDB_MODE", "WANDB_API_KEY"
TARGET, WANDB = "report_to", "wandb"
"""The field that says where the curves go, and its value for wandb."""
WITHOUT_A_KEY = "offline"
"""The mode that asks nobody, and keeps the curves in the job's own folder."""


def headless(config: RunConfig) -> RunConfig:
    """The config as a job takes it: with a mode that asks nobody where wandb is used and no mode is set."""
    if MODE not in config.settings or not _used(config) or config.value(MODE) is not None or config.wrong(MODE):
        return config
    return config.with_values({MODE: WITHOUT_A_KEY}, Source.DEFAULT)


def findings(config: RunConfig, facts: Facts) -> Iterator[Finding]:
    """A warning where wandb would ask for a key, or where its mode is not the config's own."""
    if MODE in config.settings:
        if _used(config) and not config.wrong(MODE):
            yield from _by_field(config, facts)
        return
    variables = next((field.key for field in config.recipe.fields if field.type == "variables"), "")
    if variables and not config.wrong(variables) and _among_arguments(config):
        yield from _by_variables(config, variables, facts)


def _used(config: RunConfig) -> bool:
    """Whether the recipe's program sends its curves to wandb; one without a choice sends them to all that is installed."""
    return TARGET not in config.settings or config.value(TARGET) == WANDB


def _by_field(config: RunConfig, facts: Facts) -> Iterator[Finding]:
    mode, label = config.value(MODE), config.recipe.by_key[MODE].label
    fix = Fix({MODE: WITHOUT_A_KEY}, t("{label} {old} → {new}", label=label, old=mode or "–", new=WITHOUT_A_KEY))
    if mode is None:
        message = t("{name} is not set: the job gets {name}={mode}.", name=MODE, mode=WITHOUT_A_KEY)
        yield Finding("wandb-mode-missing", "warning", MODE, message, _asks(), (fix,))
    elif mode == "online" and not facts.wandb_key:
        yield Finding("wandb-key-missing", "warning", MODE, _key_wanted(), _asks(), (fix,))


def _by_variables(config: RunConfig, key: str, facts: Facts) -> Iterator[Finding]:
    """The same for a command of one's own, whose variables are free."""
    entries = tuple(config.value(key) or ())
    given = {name: value for name, _, value in (entry.partition("=") for entry in entries)}
    if KEY in given or given.get(MODE, "online") not in ("online", "") or facts.wandb_key:
        return
    if MODE in given and f"{MODE}={given[MODE]}" not in entries:
        return  # by its name alone: whoever starts the job says which
    kept = tuple(entry for entry in entries if entry.partition("=")[0] != MODE)
    fix = Fix(
        {key: wordlist.shown((*kept, f"{MODE}={WITHOUT_A_KEY}"))}, t("add {word}", word=f"{MODE}={WITHOUT_A_KEY}")
    )
    yield Finding("wandb-key-missing", "warning", key, _key_wanted(), _asks(), (fix,))


def _among_arguments(config: RunConfig) -> bool:
    """Whether free arguments send the curves to wandb by the HF Trainer's flag."""
    behind = False
    for field in config.recipe.fields:
        for word in (config.value(field.key) or ()) if field.type == "arguments" and not field.before else ():
            flag, _, given = word.partition("=")
            behind = flag in FLAGS if word.startswith("--") else behind
            if behind and "wandb" in (given, word):
                return True
    return False


def _key_wanted() -> str:
    return t("wandb online needs {key} in the job's environment.", key=KEY)


def _asks() -> str:
    return t("A job without a terminal cannot be asked for a key, and stops; offline keeps the curves in its folder.")
