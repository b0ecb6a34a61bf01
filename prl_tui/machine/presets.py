"""A person's own preset files: edited with their comments kept."""

from __future__ import annotations

import re
from pathlib import Path

from prl_tui import atomic, reasons, regular
from prl_tui.core.catalog import read_toml
from prl_tui.core.config import RunConfig, resolve
from prl_tui.core.values import cut
from prl_tui.i18n import t
from prl_tui.machine import paths

_NAME = re.compile(r"[\w.-]{1,60}")


def save(path: Path, config: RunConfig, name: str) -> None:
    """Add or replace the preset `name` in a file; ValueError with one sentence when that is impossible."""
    import tomlkit

    if nothing := nothing_to_save(config):
        raise ValueError(nothing)
    if not _NAME.fullmatch(name):
        raise ValueError(t("“{name}” cannot be a preset's name; letters, digits, - and _ would work.", name=cut(name)))
    if name in config.recipe.presets and not _is_own(path, name):
        raise ValueError(t("{recipe} has a built-in preset named {name}; another name would work.",
                           recipe=config.recipe.name, name=name))  # fmt: skip
    document = tomlkit.document()
    if paths.exists(path):
        read_toml(path)  # its sentence, should the file be broken
        document = tomlkit.parse(regular.read_text(path))
    document["schema"] = 1
    document["extends"] = config.recipe.name
    table = document.setdefault("presets", tomlkit.table())
    table[name] = {"values": _values(config)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic.write_behind(path, tomlkit.dumps(document))
    except OSError as error:
        raise ValueError(t("{path} cannot be written: {reason}.", path=path, reason=reasons.of(error))) from None


def nothing_to_save(config: RunConfig) -> str:
    """One sentence where no setting differs from the preset in the form, "" otherwise."""
    if config.changed():
        return ""
    if config.preset:
        return t("Nothing to save: no setting differs from the preset {preset}.", preset=config.preset)
    return t("Nothing to save: no setting differs from the defaults of {recipe}.", recipe=config.recipe.name)


def _is_own(path: Path, name: str) -> bool:
    try:
        presets = read_toml(path).get("presets")
    except ValueError:
        return False
    return isinstance(presets, dict) and name in presets


def _values(config: RunConfig) -> dict[str, object]:
    """What differs from the recipe's defaults; "" unsets."""
    base = resolve(config.recipe)
    found: dict[str, object] = {}
    for key, setting in config.settings.items():
        if setting.value == base.settings[key].value and not setting.problem:
            continue
        value = setting.value
        found[key] = "" if value is None else list(value) if isinstance(value, tuple) else _number_or_text(config, key)
    return found


def _number_or_text(config: RunConfig, key: str) -> object:
    value = config.settings[key].value
    return value if isinstance(value, (bool, int)) else config.text(key)
