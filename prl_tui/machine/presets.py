"""A person's own preset files: edited with their comments kept, each preset in the file that it is from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prl_tui import atomic, reasons, regular
from prl_tui.core import catalog as catalogs
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.core.value import Value
from prl_tui.core.values import cut
from prl_tui.i18n import t
from prl_tui.machine import paths

if TYPE_CHECKING:
    from tomlkit.items import AbstractTable

_NAME = re.compile(r"[\w.-]{1,60}")


class Change(Value):
    """What a field says in the preset that is there, and what it would say; "" where it is not set."""

    key: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.key}: {self.before or '–'} → {self.after or '–'}"


class Target(Value):
    """Where a preset of some name is written to."""

    path: Path
    changes: tuple[Change, ...] = ()
    """What differs from the preset of that name which is there; none where there is none."""
    asks: bool = False
    """Whether that preset is another than the one in the form, so that replacing it needs a yes."""


def own(config: RunConfig) -> str:
    """The name of the preset in the form where it is one of the person's own; "" otherwise."""
    return config.preset if config.recipe.place_of(config.preset) else ""


def target(usual: Path, config: RunConfig, name: str) -> Target:
    """Where the preset `name` goes: the file that it is from, else `usual`; ValueError with why it cannot be saved."""
    if nothing := nothing_to_save(config):
        raise ValueError(nothing)
    if wrong := next((one.problem for one in config.settings.values() if one.problem), ""):
        raise ValueError(t("Not saved: {problem}", problem=wrong))
    if not _NAME.fullmatch(name):
        raise ValueError(t("“{name}” cannot be a preset's name; letters, digits, - and _ would work.", name=cut(name)))
    place = config.recipe.place_of(name)
    if name in config.recipe.presets and not place:
        raise ValueError(t("{recipe} has a built-in preset named {name}; another name would work.",
                           recipe=config.recipe.name, name=name))  # fmt: skip
    path = Path(place or usual)
    there = _values_of(_table(path, config), name)
    if there is None:
        return Target(path)
    changes = _changes(there, config)
    is_open = name == config.preset and config.recipe.presets[name].values == there
    return Target(path, changes, bool(changes) and not is_open)


def save(usual: Path, config: RunConfig, name: str) -> Target:
    """Add or replace the preset `name`; what was done, or ValueError with one sentence when that is impossible."""
    found = target(usual, config, name)
    try:
        text = _edited(found.path, config, name)
        found.path.parent.mkdir(parents=True, exist_ok=True)
        atomic.write_behind(found.path, text)
    except OSError as error:
        raise ValueError(t("{path} cannot be written: {reason}.", path=found.path, reason=reasons.of(error))) from None
    return found


def nothing_to_save(config: RunConfig) -> str:
    """One sentence where no setting differs from the preset in the form, "" otherwise."""
    if config.changed():
        return ""
    if config.preset:
        return t("Nothing to save: no setting differs from the preset {preset}.", preset=config.preset)
    return t("Nothing to save: no setting differs from the defaults of {recipe}.", recipe=config.recipe.name)


def _table(path: Path, config: RunConfig) -> dict[str, Any]:
    """What the file says, {} where there is none; ValueError where it is broken, or not one of this recipe's presets."""
    if not paths.exists(path):
        return {}
    table = catalogs.read_toml(path)
    recipe = config.recipe.name
    its_own = str(path) == config.recipe.origin
    base = recipe if its_own else table.get("extends", table.get("name", recipe))
    if base != recipe:
        raise ValueError(t("{path} is a file of {other}, so no preset of {recipe} can be put there: give that file another "
                           "name.", path=path, other=cut(str(base)), recipe=recipe))  # fmt: skip
    return table


def _values_of(table: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """What a file's preset sets; None without one."""
    presets = table.get("presets")
    found = presets.get(name) if isinstance(presets, dict) else None
    if found is None:
        return None
    values = found.get("values") if isinstance(found, dict) else None
    return values if isinstance(values, dict) else {}


def _as_config(config: RunConfig, values: Mapping[str, Any]) -> RunConfig:
    """A preset's values over the recipe's defaults, without those of no field."""
    known = {key: value for key, value in values.items() if key in config.settings}
    return resolve(config.recipe).with_values(known, Source.PRESET)


def _changes(there: Mapping[str, Any], config: RunConfig) -> tuple[Change, ...]:
    before = _as_config(config, there)
    found = [
        Change(key, before.text(key), config.text(key))
        for key in config.settings
        if before.differs(key, config) and config.differs(key, before)
    ]
    lost = [Change(key, str(value), "") for key, value in there.items() if key not in config.settings]
    return (*found, *lost)


def _edited(path: Path, config: RunConfig, name: str) -> str:
    """The file's text with the preset in it; ValueError where that would change anything else of it."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    old = _table(path, config)
    text = regular.read_bytes(path).decode("utf-8-sig") if old else ""
    wanted = _kept(_values_of(old, name) or {}, config)
    try:
        document = tomlkit.parse(text)
        if str(path) != config.recipe.origin:
            document["schema"], document["extends"] = 1, config.recipe.name
        table = document.setdefault("presets", tomlkit.table(is_super_table=True))
        _put(table, name, wanted)
        new = tomlkit.dumps(document)
        expected = _expected(old, config, name, wanted, path)
        whole = catalogs.parsed(new) == expected
    except (TOMLKitError, ValueError, TypeError, KeyError, AttributeError):  # what only an editor for TOML trips over
        whole = False
    if not whole:
        raise ValueError(t("{path} cannot be changed here without a loss: change presets.{name} in an editor.",
                           path=path, name=name))  # fmt: skip
    return new


def _put(table: AbstractTable, name: str, wanted: Mapping[str, Any]) -> None:
    """Change the values of a preset one by one, so that comments, its title and its help stay."""
    if name not in table or "values" not in table[name]:
        table[name] = {**table.get(name, {}), "values": dict(wanted)}
        return
    values = table[name]["values"]
    for key in [key for key in values if key not in wanted]:
        del values[key]
    for key, value in wanted.items():
        if key not in values or values[key] != value:
            values[key] = value


def _expected(old: Mapping[str, Any], config: RunConfig, name: str, wanted: Mapping[str, Any], path: Path) -> object:
    head = {} if str(path) == config.recipe.origin else {"schema": 1, "extends": config.recipe.name}
    presets = dict(old.get("presets", {}))
    presets[name] = {**presets.get(name, {}), "values": dict(wanted)}
    return {**old, **head, "presets": presets}


def _kept(there: Mapping[str, Any], config: RunConfig) -> dict[str, Any]:
    """What the preset will say: what means the same stays as the person wrote it."""
    before, new = _as_config(config, there), _values(config)
    kept = {}
    for key, value in there.items():
        if key in config.settings and not before.differs(key, config) and not config.differs(key, before):
            kept[key] = value
    return {**kept, **{key: value for key, value in new.items() if key not in kept}}


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
