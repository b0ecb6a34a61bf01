"""A config file of the person's own, as far as it is plain: what it says of the fields, and where it goes against them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from prl_tui.core import files, flat_yaml, values
from prl_tui.core.config import RunConfig, Source
from prl_tui.core.findings import Facts, Finding
from prl_tui.core.flat_yaml import Read
from prl_tui.core.templates import Template
from prl_tui.core.value import Value
from prl_tui.i18n import t
from prl_tui.lists import listed

NOTHING = Read({})
WITHOUT_ACCUMULATION = "mmdpo-rm"
"""The batch rule in which the accumulation changes nothing."""


class Given(Value):
    """One such file."""

    name: str
    """The template (`Template.name`) in whose place it stands."""
    path: str
    """As the person named it."""
    read: Read = NOTHING
    problem: str = ""
    """Why it could not be read, as a whole sentence."""
    beside: Read | None = None
    """DeepSpeed's own settings file, where an accelerate config names one."""


def wanted(config: RunConfig) -> Iterator[tuple[Template, str]]:
    """The files of the person's that the config names in place of written ones, and their paths."""
    for template in config.recipe.data.write:
        path = config.value(template.key) if template.key else None
        if path and not files.is_written(template, config):
            yield template, str(path)


def parse(template: Template, path: str, text: str) -> Given:
    """What a file says."""
    if not path.endswith(".json"):
        return Given(template.name, path, flat_yaml.read(text))
    try:
        return Given(template.name, path, flat_yaml.read_json(text))
    except (ValueError, RecursionError) as error:
        return Given(
            template.name, path, problem=t("{path} is not JSON: {reason}.", path=path, reason=str(error)[:200])
        )


def effective(config: RunConfig, facts: Facts) -> RunConfig:
    """The config as the program will see it: what only a file of the person's carries has that file's value, or none."""
    idle = files.idle(config)
    if not config.recipe.data.write:
        return config
    found: dict[str, Any] = dict.fromkeys(idle)
    for template, _ in wanted(config):
        known = find(facts.given, template)
        if known is not None:
            found |= values_of(config, template, known, idle)
    return config.with_values(found, Source.FILE) if found else config


def values_of(config: RunConfig, template: Template, given: Given, idle: frozenset[str]) -> dict[str, Any]:
    """What the file says of the fields that nothing else sets; None for what cannot be read."""
    found: dict[str, Any] = {}
    for path, key in template.fields():
        if key in files.LAUNCH or not (key in idle or config.value(key) is None):
            continue
        if path in given.read.values:
            value, problem = values.parse(config.recipe.by_key[key], given.read.values[path])
            found[key] = None if problem else value
        elif key in template.absent and not given.problem and not given.read.is_unread(path):
            found.setdefault(key, template.absent[key])
    return found


def find(given: tuple[Any, ...], template: Template) -> Given | None:
    """What is known of the file in a template's place; None where it was not read."""
    return next((one for one in given if one.name == template.name), None)


def findings(config: RunConfig, facts: Facts) -> Iterator[Finding]:
    """What is wrong with such files, and what of the config they leave without effect."""
    idle, replaced = files.idle(config), files.replaced(config)
    for key, setting in config.settings.items():
        if setting.source <= Source.PRESET or setting.value == config.baseline().settings[key].value:
            continue
        if key in idle:
            yield _without_effect(config, key, facts)
        elif key in replaced:
            label = config.recipe.by_key[key].label
            message = t("{label} has no effect: that file is written from these settings.", label=label)
            yield Finding("field-without-effect", "warning", key, message)
    if any(one.kind == "accelerate" and files.is_written(one, config) for one in config.recipe.data.write):
        from prl_tui.core import accelerate

        yield from accelerate.settings(config)
    for template, path in wanted(config):
        known = find(facts.given, template)
        if known is None:
            yield from _not_here(config, template, path)
            continue
        if known.problem:
            yield Finding("config-unreadable", "error", template.key, known.problem)
            continue
        yield from _bad_values(config, template, known)
        yield from _unread(config, template, known)
        if template.kind == "accelerate":
            from prl_tui.core import accelerate

            yield from accelerate.findings(config, template.key, path, known)


def _without_effect(config: RunConfig, key: str, facts: Facts) -> Finding:
    from prl_tui.core import write_instead

    template = next(one for one in config.recipe.data.write if key in one.named())
    path = config.text(template.key) if template.key else template.name
    label = config.recipe.by_key[key].label
    message = t("{label} has no effect: the program reads it from {path}.", label=label, path=path)
    return Finding("field-without-effect", "warning", key, message, "", write_instead.ways_out(config, template, facts))


def _bad_values(config: RunConfig, template: Template, given: Given) -> Iterator[Finding]:
    for path, key in template.fields():
        value = given.read.values.get(path)
        problem = values.parse(config.recipe.by_key[key], value)[1] if value is not None else ""
        if problem:
            message = t("{path}, {place}: {problem}", path=given.path, place=".".join(path), problem=problem)
            yield Finding("config-value", "warning", template.key, message)


def _multiplied(config: RunConfig) -> set[str]:
    """The fields that the batch is worked out from."""
    parts = ["batch_size", "per_device_train_batch_size"]
    if config.recipe.data.batch.rule != WITHOUT_ACCUMULATION:
        parts.append("gradient_accumulation_steps")
    return {config.recipe.part(part) for part in parts}


def _not_here(config: RunConfig, template: Template, path: str) -> Iterator[Finding]:
    """What of the batch stands in a file that was not read: the figures are without it."""
    needed, idle = _multiplied(config), files.idle(config)
    places = {
        ".".join(place): key
        for place, key in template.fields()
        if key in needed and key not in files.LAUNCH and (key in idle or config.value(key) is None)
    }
    if not places or any(config.wrong(key) for key in needed if key in config.settings):
        return
    if set(places.values()) == {config.recipe.part("gradient_accumulation_steps")}:
        message = t("{path} is not here to be read: its {keys} multiplies this batch.", path=path, keys=listed(places))
    else:
        message = t(
            "{path} is not here to be read: the batch is known only with its {keys}.", path=path, keys=listed(places)
        )
    yield Finding("config-not-here", "note", template.key, message)


def _unread(config: RunConfig, template: Template, given: Given) -> Iterator[Finding]:
    """Which of the values that the batch needs could not be understood."""
    needed = _multiplied(config)
    missing = [
        ".".join(path)
        for path, key in template.fields()
        if key in needed and path not in given.read.values and given.read.is_unread(path)
    ]
    if missing:
        message = t(
            "{path}: {keys} could not be read and is not part of the batch.", path=given.path, keys=listed(missing)
        )
        yield Finding("config-unread", "note", template.key, message)


def as_read(known: Mapping[str, Any]) -> Read:
    """Values by dotted key as a `Read`, for those who have them already."""
    return Read({tuple(key.split(".")): value for key, value in known.items()})
