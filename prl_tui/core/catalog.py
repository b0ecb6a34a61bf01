"""Which recipes and presets exist: built-in, the person's own, the project's.

A broken file is named and skipped; the rest work. Nothing of a person's shadows a built-in silently.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from prl_tui.core.recipe import PresetFile, Recipe, RecipeFile, SharedFile, build
from prl_tui.i18n import t

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_PACKAGE = Path(__file__).parent.parent
BUILT_IN = next((p for p in (_PACKAGE / "presets", _PACKAGE.parent / "presets") if p.is_dir()), _PACKAGE / "presets")
"""The recipes that ship: inside the wheel, or beside the package in a checkout."""


class Problem(msgspec.Struct, frozen=True):
    """One file, or one entry in it, that could not be used."""

    path: Path
    message: str
    """One sentence that names the file and the place in it."""


class Catalog(msgspec.Struct, frozen=True):
    """Every recipe by name, and what was skipped."""

    recipes: Mapping[str, Recipe]
    problems: tuple[Problem, ...] = ()

    def find(self, name: str) -> Recipe | None:
        """The recipe of that name."""
        return self.recipes.get(name)


def read_toml(path: Path) -> dict[str, object]:
    """The table in a TOML file; ValueError with one sentence that names the file, and the line for syntax."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ValueError(t("{path}: there is no such file.", path=path)) from None
    except IsADirectoryError:
        raise ValueError(t("{path} is a directory; a TOML file is needed.", path=path)) from None
    except PermissionError:
        raise ValueError(t("{path}: no permission to read it.", path=path)) from None
    except OSError as error:
        raise ValueError(t("{path} cannot be read: {reason}.", path=path, reason=error.strerror or error)) from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(t("{path}, line {line}: this is not UTF-8 text.", path=path, line=line)) from None
    if not text.strip():
        raise ValueError(t("{path} is empty.", path=path))
    try:
        table: dict[str, object] = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # tomllib's own is a ValueError; so is a number of 5,000 digits
        raise ValueError(_syntax(path, text, str(error))) from None
    return table


def _syntax(path: Path, text: str, reason: str) -> str:
    found = re.search(r"\(at line (\d+), column (\d+)\)", reason)
    line = int(found.group(1)) if found else text.count("\n") + 1
    what = reason[: found.start()].strip() if found else reason.split("(at end")[0].strip()
    return t("{path}, line {line}: not TOML: {reason}.", path=path, line=line, reason=what[:200])


def load(folders: Iterable[Path] = (), only: str | None = None) -> Catalog:
    """The built-in recipes and those of a person's folders; `only` reads no other built-in (headless commands)."""
    problems: list[Problem] = []
    shared = _shared(problems)
    recipes: dict[str, Recipe] = {}
    for path in sorted(BUILT_IN.glob("*.toml")):
        if path.stem.startswith("_") or (
            only is not None and (BUILT_IN / f"{only}.toml").exists() and path.stem != only
        ):
            continue
        recipe = _read_recipe(path, shared, "", problems)
        if recipe is not None:
            recipes[recipe.name] = recipe
    names = {path.stem for path in BUILT_IN.glob("*.toml")}
    for folder in folders:
        for path in _files(folder, problems):
            _take_in(path, recipes, names, shared, problems)
    return Catalog(recipes, tuple(problems))


def _files(folder: Path, problems: list[Problem]) -> list[Path]:
    try:
        return sorted(p for p in folder.iterdir() if p.suffix == ".toml")
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        reason = error.strerror or str(error)
        problems.append(Problem(folder, t("{path} cannot be read: {reason}.", path=folder, reason=reason)))
        return []


def _shared(problems: list[Problem]) -> dict[str, SharedFile]:
    found = {}
    for path in BUILT_IN.glob("_*.toml"):
        value = _shaped(path, SharedFile, problems)
        if value is not None:
            found[path.stem[1:]] = value
    return found


def _take_in(
    path: Path,
    recipes: dict[str, Recipe],
    built_in: set[str],
    shared: Mapping[str, SharedFile],
    problems: list[Problem],
) -> None:
    """A person's own file: a recipe, or presets for a recipe that exists."""
    try:
        table = read_toml(path)
    except ValueError as error:
        problems.append(Problem(path, str(error)))
        return
    if "extends" in table:
        _extend(path, recipes, built_in, problems)
        return
    recipe = _read_recipe(path, shared, str(path), problems)
    if recipe is None:
        return
    if recipe.name in built_in or recipe.name in recipes:
        message = t(
            "{path}: name: there is a recipe named {name} already, so this one is skipped; another name would work.",
            path=path,
            name=recipe.name,
        )
        problems.append(Problem(path, message))
        return
    recipes[recipe.name] = recipe


def _extend(path: Path, recipes: dict[str, Recipe], built_in: set[str], problems: list[Problem]) -> None:
    extra = _shaped(path, PresetFile, problems)
    if extra is None:
        return
    recipe = recipes.get(extra.extends)
    if recipe is None:
        if extra.extends not in built_in:  # a built-in that this command did not need to read
            message = t("{path}: extends: there is no recipe named {name}.", path=path, name=extra.extends)
            problems.append(Problem(path, message))
        return
    good = {}
    for name, preset in extra.presets.items():
        unknown = next((key for key in preset.values if key not in recipe.by_key), None)
        if name in recipe.presets:
            message = t(
                "{path}: presets.{name}: {recipe} has a preset of that name already; another name would work.",
                path=path,
                name=name,
                recipe=recipe.name,
            )
        elif unknown is not None:
            message = t(
                "{path}: presets.{name}.values.{key}: {recipe} has no such field.",
                path=path,
                name=name,
                key=unknown,
                recipe=recipe.name,
            )
        else:
            good[name] = preset
            continue
        problems.append(Problem(path, message))
    recipes[recipe.name] = recipe.with_presets(good)


def _read_recipe(path: Path, shared: Mapping[str, SharedFile], origin: str, problems: list[Problem]) -> Recipe | None:
    data = _shaped(path, RecipeFile, problems)
    if data is None:
        return None
    try:
        return build(data, shared, origin)
    except ValueError as error:
        problems.append(Problem(path, t("{path}: {reason}.", path=path, reason=error)))
        return None


_Shape = RecipeFile | SharedFile | PresetFile


def _shaped(path: Path, shape: type[msgspec.Struct], problems: list[Problem]):  # type: ignore[no-untyped-def]  # noqa: ANN202
    """The file as its shape, or None with a problem that names the key path."""
    try:
        table = read_toml(path)
    except ValueError as error:
        problems.append(Problem(path, str(error)))
        return None
    try:
        return msgspec.convert(table, shape)
    except msgspec.ValidationError as error:
        problems.append(Problem(path, _shape_sentence(path, str(error), table)))
        return None


def _shape_sentence(path: Path, reason: str, table: dict[str, object]) -> str:
    """`presets/x.toml: field num_generations, type: …` from the shape checker's `$.field[3].type`."""
    what, _, where = reason.partition(" - at `$")
    place = where.rstrip("`").lstrip(".")
    found = re.match(r"field\[(\d+)\]\.?(.*)", place)
    fields = table.get("field")
    if found and isinstance(fields, list) and isinstance(fields[int(found.group(1))], dict):
        key = fields[int(found.group(1))].get("key", found.group(1))
        place = f"field {key}" + (f", {found.group(2)}" if found.group(2) else "")
    if not place:
        return t("{path}: {reason}.", path=path, reason=what)
    return t("{path}: {place}: {reason}.", path=path, place=place, reason=what)
