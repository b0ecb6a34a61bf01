"""All that is wrong with a run config's keys, recipe, preset and field names, told at once: each hides none of the others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from prl_tui.core import mistakes, shape
from prl_tui.core.catalog import Catalog
from prl_tui.core.config import find_key, nearest, resolve
from prl_tui.core.config_file import ConfigFile, no_field, no_preset, no_recipe, with_preset
from prl_tui.core.recipe import Recipe
from prl_tui.core.values import cut
from prl_tui.i18n import t

KEYS = ConfigFile.declared_fields
EXAMPLE = "prl-grpo"


def told(path: Path, table: Mapping[str, Any], catalog: Catalog, own: Path) -> list[str]:
    """A sentence for each mistake in a file's table, in reading order; `own` is the person's configuration folder."""
    meant = {key: name for name in table for key in [_meant(name, table)] if key}
    if "schema" in table and "recipe" not in meant:
        return [_other_kind(path, table, catalog, own)]
    keys = [_no_key(path, name, table) for name in table if name not in KEYS]
    mistyped = {key for key, name in meant.items() if key != name}
    return [*keys, *_below(path, {key: table[name] for key, name in meant.items()}, catalog, mistyped)]


def _meant(name: str, table: Mapping[str, Any]) -> str | None:
    """The key of a run config that a name in the file stands for; a near miss of one that is there too is none."""
    near = name if name in KEYS else nearest(name, list(KEYS))
    return None if near != name and near in table else near


def _below(path: Path, table: Mapping[str, Any], catalog: Catalog, mistyped: Collection[str]) -> Iterator[str]:
    """What is wrong behind the keys, once each goes by its right name.

    Of a mistyped one whose value is of another type nobody knows that it was meant: its name is told alone.
    """
    if "recipe" not in table:
        yield t("{path}: the key recipe is missing; recipe = {example} would work.", path=path, example=f'"{EXAMPLE}"')
    wrong = _misshapen(table)
    for key, (what, where) in wrong.items():
        if key in mistyped:
            continue
        yield t("{path}: {place}: {reason}.", path=path, place=where or key, reason=what)
    name, preset, values = (table.get(key) if key not in wrong else None for key in ("recipe", "preset", "values"))
    recipe = None
    if isinstance(name, str):
        recipe = catalog.find(name)
        if recipe is None:
            yield mistakes.at(path, "recipe", _no_recipe(name, catalog))
            recipe = catalog.find(name.partition("/")[0]) or catalog.find(nearest(name, list(catalog.recipes)) or "")
    if recipe is None:
        return
    if preset and preset not in recipe.presets:
        yield mistakes.at(path, "preset", no_preset(preset, recipe.name, list(recipe.presets)))
    yield from _fields(path, values or {}, recipe)


def _misshapen(table: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """What is wrong with the type of each key's value, and where; each is looked at alone."""
    wrong = {}
    for key, value in table.items():
        try:
            shape.check({"recipe": EXAMPLE, key: value}, ConfigFile)
        except shape.ShapeError as error:
            wrong[key] = (error.what, error.where)
    return wrong


def _fields(path: Path, values: Mapping[str, Any], recipe: Recipe) -> Iterator[str]:
    """Names that no field of the recipe has, and two names of one field."""
    config = resolve(recipe)
    named: dict[str, str] = {}
    for name in values:
        key = find_key(recipe, name)
        if key is None:
            yield mistakes.at(path, "values", no_field(config, name))
        elif named.setdefault(key, name) != name:
            yield t("{path}: values: {first} and {second} are one field, {key}; keep one of them.",
                    path=path, first=named[key], second=name, key=key)  # fmt: skip


def _no_recipe(name: str, catalog: Catalog) -> str:
    """A source of the command line, RECIPE/PRESET, is two keys here."""
    base, slash, preset = name.partition("/")
    recipe = catalog.find(base) if slash else None
    if recipe is None:
        own = [] if slash else [one for one in with_preset(name, catalog) if one.endswith(f"/{name}")]
        if len(own) != 1:
            return no_recipe(name, catalog)
        base, _, preset = own[0].partition("/")  # a preset alone
        recipe = catalog.recipes[base]
    if preset and preset not in recipe.presets:
        return no_preset(preset, base, list(recipe.presets))
    works = f'recipe = "{base}"' + (f', preset = "{preset}"' if preset else "")
    return t("there is no recipe named {name}; {example} would work.", name=cut(name), example=works)


def _no_key(path: Path, name: str, table: Mapping[str, Any]) -> str:
    if not name.strip():
        return t("{path}: a key is empty; settings belong in the table [values].", path=path)
    near, shown = nearest(name, list(KEYS)), cut(name)
    if name == "presets" and isinstance(table[name], dict):
        base = table.get("recipe")
        example = f'extends = "{cut(base) if isinstance(base, str) else EXAMPLE}"'
        hint = t(
            "presets of your own go into a file of their own, which begins with schema = 1 and {example}.",
            example=example,
        )
    elif near:
        hint = t("did you mean {near}?", near=near)
    elif name == "schema":  # recipes and presets have one
        hint = t("a run config has none: leave that line out.")
    else:
        hint = t("settings belong in the table [values].")
    return t("{path}: there is no key {name} here; {hint}", path=path, name=shown, hint=hint)


def _other_kind(path: Path, table: Mapping[str, Any], catalog: Catalog, own: Path) -> str:
    """A recipe or presets of one's own, given where a run config belongs."""
    base, presets = table.get("extends"), table.get("presets")
    if isinstance(base, str):
        if catalog.find(base) is None:
            return mistakes.at(path, "extends", no_recipe(base, catalog))
        first = cut(next(iter(presets), "")) if isinstance(presets, dict) else ""
        return t(
            "{path} holds presets of your own for {recipe}: put it into {folder} and name {source}.",
            path=path, recipe=cut(base), folder=own / "presets", source=f"{cut(base)}/{first}".rstrip("/"),
        )  # fmt: skip
    return t(
        "{path} holds a recipe of your own: put it into {folder} and name {source}.",
        path=path, folder=own / "recipes", source=cut(str(table.get("name", path.stem))),
    )  # fmt: skip
