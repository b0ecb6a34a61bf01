"""Run configs as TOML: what `export --format toml` writes and a SOURCE that is a file reads back, losslessly."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prl_tui import regular
from prl_tui.core import catalog as catalogs
from prl_tui.core.catalog import Catalog
from prl_tui.core.config import RunConfig, Source, find_key, nearest, nearest_key, resolve
from prl_tui.core.value import Value
from prl_tui.core.values import cut, typed
from prl_tui.i18n import t
from prl_tui.lists import listed


class ConfigFile(Value, kw_only=True):
    """The shape of a run config file."""

    recipe: str
    preset: str = ""
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    """Where each value came from when the file was written; a value without an entry is the file's own."""


def read(path: Path, catalog: Catalog, own: Path = Path("~/.config/prl-tui")) -> RunConfig:
    """The run config in a file; ValueError with a sentence for each thing that is wrong in it.

    `own` is the person's configuration folder: what belongs there, and is given here, is sent there.
    """
    table = catalogs.read_toml(path)
    from prl_tui.core import config_mistakes, mistakes

    wrong = config_mistakes.told(path, table, catalog, own)
    if wrong:
        raise mistakes.SeveralError(wrong, path)
    data = ConfigFile(**table)
    recipe = catalog.recipes[data.recipe]
    config = resolve(recipe, data.preset)
    changes: dict[str, object] = {}
    for name, raw in data.values.items():
        key = find_key(recipe, name) or name
        changes[key] = None if raw == "" and recipe.by_key[key].type not in {"str", "path"} else raw
    known = {key: raw for key, raw in changes.items() if not _same_as_preset(config, key, raw, data.sources)}
    return config.with_values(known, Source.FILE, dict.fromkeys(known, str(path)))


def edited(path: Path) -> bool:
    """Whether an exported file was changed by hand since; False for one that no export wrote, or that cannot be read."""
    from prl_tui.core import seal

    try:
        return seal.edited(regular.read_bytes(path).decode("utf-8-sig", "replace")) is True
    except OSError:
        return False


def _same_as_preset(config: RunConfig, key: str, raw: object, sources: Mapping[str, str]) -> bool:
    """The file only repeats what the preset or the default says, and says so."""
    if sources.get(key) not in {"default", "preset"}:
        return False
    trial = config.with_values({key: raw}, Source.FILE).settings[key]
    return (trial.value, trial.problem) == (config.settings[key].value, config.settings[key].problem)


def dump(config: RunConfig, comment: str = "") -> str:
    """The config as TOML text, every value written out so that a later change of the preset changes nothing."""
    import tomli_w

    written = {}
    sources = {}
    for key, setting in config.settings.items():
        if setting.source is Source.DEFAULT and (
            config.follows(key) or (setting.value is None and not setting.problem)
        ):
            continue
        written[key] = _plain(config, key)
        sources[key] = setting.source.word
    table: dict[str, Any] = {"recipe": config.recipe.name}
    if config.preset:
        table["preset"] = config.preset
    table["values"] = written
    table["sources"] = sources
    head = "".join(f"# {line}\n" if line else "#\n" for line in comment.splitlines())
    return head + tomli_w.dumps(table, multiline_strings=False)


def digest(config: RunConfig) -> str:
    """SHA-256 over the recipe and every value: the same however the values came about."""
    import hashlib
    import json

    values = {key: _plain(config, key) for key, one in config.settings.items() if one.value is not None or one.problem}
    text = json.dumps([config.recipe.name, values], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _plain(config: RunConfig, key: str) -> Any:
    """The value as TOML writes it: numbers that a person typed in another form keep that form."""
    setting = config.settings[key]
    if setting.value is None:
        return _list(setting.text) if setting.problem and not setting.secret else setting.text
    if isinstance(setting.value, tuple):
        return list(setting.value)
    if isinstance(setting.value, float) and setting.text.strip() != repr(setting.value):
        return setting.text.strip()
    return setting.value


def _list(text: str) -> Any:
    """A list that stands where a text belongs, as the list that it was: as a text it would be right, and mean another thing."""
    import json

    if not text.startswith("["):
        return text
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):
        return text
    plain = all(isinstance(item, (str, int, float)) for item in items)
    return items if plain and typed(items) == text else text  # what was a text itself stays one


def with_preset(name: str, catalog: Catalog) -> list[str]:
    """Each RECIPE/PRESET whose preset has that name; else those that begin so, or of the name that it most resembles."""
    known = dict.fromkeys(preset for recipe in catalog.recipes.values() for preset in recipe.presets)
    begun = {preset for preset in known if len(name) > 2 and preset.startswith(f"{name}-")}
    meant = {name} if name in known else begun or {nearest(name, list(known)) or ""}
    return [
        f"{recipe.name}/{preset}" for recipe in catalog.recipes.values() for preset in recipe.presets if preset in meant
    ]


def no_source(source: str, catalog: Catalog) -> str:
    """One sentence: there is no such RECIPE or RECIPE/PRESET, and what may be meant: a preset alone names no recipe."""
    name, _, preset = source.partition("/")
    near = nearest(name, list(catalog.recipes))
    found = with_preset(preset or name, catalog)
    if near and preset:
        found = [f"{near}/{preset}"] if preset in catalog.recipes[near].presets else []
    elif near and not any(one.endswith(f"/{name}") for one in found):
        found = []  # the name of a recipe, nearly, rather than a preset's
    if not found:
        return no_recipe(name, catalog)
    return t("there is no recipe named {name}; did you mean {near}?", name=cut(name), near=t(" or ").join(found))


def no_recipe(name: str, catalog: Catalog) -> str:
    """One sentence: there is no such recipe, and the nearest one that exists."""
    near, name = nearest(name, list(catalog.recipes)), cut(name)
    known = listed(sorted(catalog.recipes))
    if not name.strip():
        return t("the name of the recipe is empty; there are {known}.", known=known)
    if near:
        return t("there is no recipe named {name}; did you mean {near}?", name=name, near=near)
    return t("there is no recipe named {name}; there are {known}.", name=name, known=known)


def no_preset(name: str, recipe: str, known: list[str], catalog: Catalog | None = None) -> str:
    """One sentence: the recipe has no such preset, and the nearest one, or those of that name in a catalog's other recipes."""
    if not name.strip():
        return t("the name of the preset is empty; {recipe} has {known}.", recipe=recipe, known=listed(known))
    near = nearest(name, known)
    if not near and catalog is not None:
        near = t(" or ").join(one for one in with_preset(name, catalog) if one.endswith(f"/{name}"))
    name = cut(name)
    if near:
        return t("{recipe} has no preset named {name}; did you mean {near}?", recipe=recipe, name=name, near=near)
    return t("{recipe} has no preset named {name}; it has {known}.", recipe=recipe, name=name, known=listed(known))


def no_field(config: RunConfig, name: str) -> str:
    """One sentence: the recipe has no such field, and the nearest one."""
    if not name.strip():
        return t("the name of a field is empty; `prl-tui presets {recipe}` lists them.", recipe=config.recipe.name)
    near, name = nearest_key(config.recipe, name), cut(name)
    recipe = config.recipe.name
    if near:
        return t("{recipe} has no field named {name}; did you mean {near}?", recipe=recipe, name=name, near=near)
    return t(
        "{recipe} has no field named {name}; `prl-tui presets {recipe}` lists its fields.", recipe=recipe, name=name
    )
