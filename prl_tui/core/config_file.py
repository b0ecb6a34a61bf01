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
from prl_tui.core.values import cut
from prl_tui.i18n import t
from prl_tui.lists import listed


class ConfigFile(Value, kw_only=True):
    """The shape of a run config file."""

    recipe: str
    preset: str = ""
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    """Where each value came from when the file was written; a value without an entry is the file's own."""


def read(path: Path, catalog: Catalog) -> RunConfig:
    """The run config in a file; ValueError with one sentence that names the file and what is wrong in it."""
    table = catalogs.read_toml(path)
    from prl_tui.core import mistakes, shape

    try:
        shape.check(table, ConfigFile)
    except shape.ShapeError as error:
        if "schema" in table and "recipe" not in table:
            raise ValueError(_other_kind(path, table)) from None
        unknown = [key for key in table if key not in ConfigFile.declared_fields]
        if unknown:
            wrong = [_no_key(path, key) for key in unknown]
            raise mistakes.SeveralError([*wrong, *_strange(path, table, catalog)], path) from None
        raise ValueError(_shape(path, error.what, error.where)) from None
    data = ConfigFile(**table)
    recipe = catalog.find(data.recipe)
    if recipe is None:
        raise ValueError(f"{path}: recipe: {no_recipe(data.recipe, catalog)}")
    if data.preset and data.preset not in recipe.presets:
        raise ValueError(f"{path}: preset: {no_preset(data.preset, recipe.name, list(recipe.presets))}")
    config = resolve(recipe, data.preset)
    strange = _strange(path, table, catalog)
    if strange:
        raise mistakes.SeveralError(strange, path)
    changes: dict[str, object] = {}
    named: dict[str, str] = {}
    for name, raw in data.values.items():
        key = find_key(recipe, name) or name
        if named.setdefault(key, name) != name:
            raise ValueError(
                t("{path}: values: {first} and {second} are one field, {key}; keep one of them.",
                  path=path, first=named[key], second=name, key=key)
            )  # fmt: skip
        changes[key] = None if raw == "" and recipe.by_key[key].type not in {"str", "path"} else raw
    known = {key: raw for key, raw in changes.items() if not _same_as_preset(config, key, raw, data.sources)}
    return config.with_values(known, Source.FILE, dict.fromkeys(known, str(path)))


def _strange(path: Path, table: Mapping[str, Any], catalog: Catalog) -> list[str]:
    """A sentence for each name under `values` that no field of the recipe has, as far as the recipe is known."""
    found = catalog.find(str(table.get("recipe")))
    given = table.get("values")
    if found is None or not isinstance(given, dict):
        return []
    config = resolve(found)
    return [f"{path}: values: {no_field(config, name)}" for name in given if find_key(found, name) is None]


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
        return setting.text
    if isinstance(setting.value, tuple):
        return list(setting.value)
    if isinstance(setting.value, float) and setting.text.strip() != repr(setting.value):
        return setting.text.strip()
    return setting.value


def no_recipe(name: str, catalog: Catalog) -> str:
    """One sentence: there is no such recipe, and the nearest one that exists."""
    near, name = nearest(name, list(catalog.recipes)), cut(name)
    known = listed(sorted(catalog.recipes))
    if not name.strip():
        return t("the name of the recipe is empty; there are {known}.", known=known)
    if near:
        return t("there is no recipe named {name}; did you mean {near}?", name=name, near=near)
    return t("there is no recipe named {name}; there are {known}.", name=name, known=known)


def no_preset(name: str, recipe: str, known: list[str]) -> str:
    """One sentence: the recipe has no such preset, and the nearest one."""
    near, name = nearest(name, known), cut(name)
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


def _other_kind(path: Path, table: Mapping[str, Any]) -> str:
    """A recipe or presets of one's own, given where a run config belongs."""
    base, presets = table.get("extends"), table.get("presets")
    if isinstance(base, str):
        first = cut(next(iter(presets), "")) if isinstance(presets, dict) else ""
        return t(
            "{path} holds presets of your own for {recipe}: put it into {folder} and name {source}.",
            path=path, recipe=cut(base), folder="~/.config/prl-tui/presets/", source=f"{cut(base)}/{first}".rstrip("/"),
        )  # fmt: skip
    return t(
        "{path} holds a recipe of your own: put it into {folder} and name {source}.",
        path=path, folder="~/.config/prl-tui/recipes/", source=cut(str(table.get("name", path.stem))),
    )  # fmt: skip


def _no_key(path: Path, name: str) -> str:
    near, name = nearest(name, list(ConfigFile.declared_fields)), cut(name)
    hint = t("did you mean {near}?", near=near) if near else t("settings belong in the table [values].")
    return t("{path}: there is no key {name} here; {hint}", path=path, name=name, hint=hint)


def _shape(path: Path, what: str, place: str) -> str:
    if "missing required field `recipe`" in what:
        return t('{path}: the key recipe is missing; recipe = "prl-grpo" would work.', path=path)
    if not place:
        return t("{path}: {reason}.", path=path, reason=what)
    return t("{path}: {place}: {reason}.", path=path, place=place, reason=what)
