"""Which recipes and presets exist: built-in, the person's own, the project's.

A broken file is named and skipped; the rest work. Nothing of a person's shadows a built-in silently.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from prl_tui import __version__, reasons, regular
from prl_tui.core.recipe import (
    Preset,
    PresetFile,
    Recipe,
    RecipeFile,
    SharedFile,
    Text,
    build,
)
from prl_tui.core.recipe_tables import field_of, preset_of, recipe_file_of
from prl_tui.core.value import Value
from prl_tui.core.values import cut
from prl_tui.i18n import t

_PACKAGE = Path(__file__).parent.parent
BUILT_IN = next((p for p in (_PACKAGE / "presets", _PACKAGE.parent / "presets") if p.is_dir()), _PACKAGE / "presets")
"""The recipes that ship: inside the wheel, or beside the package in a checkout."""


LAST = "custom"
"""The recipe that fits everything is listed behind those that know more."""


class Problem(Value):
    """One file, or one entry in it, that could not be used."""

    path: Path
    message: str
    """One sentence that names the file and the place in it."""


class Head(Value):
    """What a list of presets shows of a recipe."""

    title: Text
    presets: Mapping[str, tuple[int | None, ...] | None]
    """Preset → its numbers (`heads.figures`); None where they are not worked out yet."""


class Catalog(Value):
    """Every recipe by name, and what was skipped."""

    recipes: Mapping[str, Recipe]
    problems: tuple[Problem, ...] = ()
    heads: Mapping[str, Head] = {}
    """What a list shows of each recipe, where that is known without building them (`heads.load`)."""
    stamp: tuple[object, ...] = ()
    """The files as they were when it was read, where the list of it may be kept (`heads.keep`)."""

    def find(self, name: str) -> Recipe | None:
        """The recipe of that name."""
        return self.recipes.get(name)


_MOST = 32 << 20
"""Bytes that are read of one file at most."""


def read_toml(path: Path) -> dict[str, Any]:
    """The table in a TOML file; ValueError with one sentence that names the file, and the line for syntax."""
    try:
        data = regular.read_bytes(path, _MOST + 1)
    except FileNotFoundError:
        raise ValueError(t("{path}: there is no such file.", path=path)) from None
    except IsADirectoryError:
        raise ValueError(t("{path} is a directory; a TOML file is needed.", path=path)) from None
    except PermissionError:
        raise ValueError(t("{path}: no permission to read it.", path=path)) from None
    except OSError as error:
        raise ValueError(t("{path} cannot be read: {reason}.", path=path, reason=reasons.of(error))) from None
    if len(data) > _MOST:
        raise ValueError(t("{path} is too large to be a config.", path=path))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(t("{path}, line {line}: this is not UTF-8 text.", path=path, line=line)) from None
    if not text.strip():
        raise ValueError(t("{path} is empty.", path=path))
    try:
        table = parsed(text)
    except RecursionError:  # lists and tables nested by the thousand
        from prl_tui.core import toml_words

        place = toml_words.placed(path, toml_words.line_of(text, RecursionError))
        raise ValueError(t("{path}: lists or tables in one another, too deep for a config.", path=place)) from None
    except ValueError as error:  # tomllib's own is one; so is a number of 5,000 digits
        from prl_tui.core import script_head

        if text.startswith("#!") or (path.suffix != ".toml" and script_head.exported(text)):
            raise ValueError(script_head.instead(path, text)) from None
        raise ValueError(_syntax(path, text, str(error))) from None
    _measured(path, table)
    return table


def parsed(text: str) -> dict[str, Any]:
    """The table in a TOML text; the parser's ValueError, or RecursionError."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    table: dict[str, Any] = tomllib.loads(text)
    return table


_DEEP = 50
"""Tables in tables, at most: what walks through them goes as deep."""
_LONG = 256
"""Bits of a whole number, at most: Python writes no number of thousands of digits."""


def _measured(path: Path, table: dict[str, Any]) -> None:
    """ValueError for what TOML allows and no config has: tables in tables without end, numbers of thousands of digits."""
    level: list[tuple[str, object]] = list(table.items())
    for _ in range(_DEEP):
        below: list[tuple[str, object]] = []
        for key, one in level:
            if isinstance(one, int) and one.bit_length() > _LONG:
                raise ValueError(t("{path}: {key}: this number has too many digits.", path=path, key=cut(key)))
            if isinstance(one, dict):
                below += one.items()
            elif isinstance(one, list):
                below += [(key, item) for item in one]
        level = below
    if level:
        key = cut(level[0][0])
        raise ValueError(t("{path}: {key}: tables in tables, too deep for a config.", path=path, key=key))


def _syntax(path: Path, text: str, reason: str) -> str:
    from prl_tui.core import toml_words

    found = re.search(r"\(at line (\d+), column (\d+)\)", reason)
    end = reason.find(toml_words.AT_END)
    line = toml_words.line_of(text, ValueError) if not found and end < 0 else None
    if found:
        line, what = int(found.group(1)), reason[: found.start()].strip()
    elif end >= 0:
        line, what = text.rstrip().count("\n") + 1, reason[:end].strip()
    else:
        what = reason
    return t("{path}: not TOML: {reason}.", path=toml_words.placed(path, line), reason=toml_words.told(what))


def load(folders: Iterable[Path] = (), only: str | None = None, cache: Path | None = None) -> Catalog:
    """The built-in recipes and those of a person's folders.

    `only` reads no other built-in. `cache` is a folder for tables that were read and checked before.
    """
    problems: list[Problem] = []
    shared = shared_files(problems, cache)
    recipes: dict[str, Recipe] = {}
    for path in built_in_files():
        if path.stem.startswith("_") or (
            only is not None and (BUILT_IN / f"{only}.toml").exists() and path.stem != only
        ):
            continue
        recipe = read_recipe(path, shared, "", problems, cache)
        if recipe is not None:
            recipes[recipe.name] = recipe
    names = {path.stem for path in BUILT_IN.glob("*.toml")}
    for folder in folders:
        for path in own_files(folder, problems):
            _take_in(path, recipes, names, shared, problems)
    return Catalog(recipes, tuple(problems))


def built_in_files() -> list[Path]:
    """What ships, in the order of the lists; files of shared fields too."""
    return sorted(BUILT_IN.glob("*.toml"), key=lambda path: (path.stem == LAST, path.stem))


def own_files(folder: Path, problems: list[Problem]) -> list[Path]:
    """The TOML files in a person's folder."""
    try:
        return sorted(p for p in folder.iterdir() if p.suffix == ".toml")
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        reason = reasons.of(error)
        problems.append(Problem(folder, t("{path} cannot be read: {reason}.", path=folder, reason=reason)))
        return []


def shared_files(problems: list[Problem], cache: Path | None) -> dict[str, SharedFile]:
    """The built-in files of shared fields, by name."""
    found = {}
    for path in BUILT_IN.glob("_*.toml"):
        kept = _Kept(cache, path)
        table = kept.table or _shaped(path, SharedFile, problems)
        if table is not None:
            kept.keep(table)
            found[path.stem[1:]] = SharedFile(schema=1, field=tuple(field_of(field) for field in table["field"]))
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
        _extend(path, table, recipes, built_in, problems)
        return
    if not {"program", "field"}.intersection(table):
        from prl_tui.core import mistakes

        problems.append(Problem(path, mistakes.neither(path, table, recipes)))
        return
    recipe = read_recipe(path, shared, str(path), problems)
    if recipe is None:
        return
    if recipe.name in built_in or recipe.name in recipes:
        problems.append(Problem(path, _recipe_there(path, recipe.name, recipes)))
        return
    recipes[recipe.name] = recipe


def _extend(
    path: Path, table: dict[str, Any], recipes: dict[str, Recipe], built_in: set[str], problems: list[Problem]
) -> None:
    """Take in a person's own presets: all mistakes of the file are told, and the presets without one are there."""
    from prl_tui.core import mistakes, shape

    wrong = mistakes.told(path, table, PresetFile)
    given, base = table.get("presets"), table["extends"]
    presets = {name: one for name, one in given.items() if isinstance(one, dict)} if isinstance(given, dict) else {}
    sound = {name: preset_of(one) for name, one in presets.items() if not shape.reason(one, Preset)}
    recipe = recipes.get(base) if isinstance(base, str) else None
    if recipe is None:
        if isinstance(base, str) and base not in built_in:  # else a built-in that this command did not need to read
            wrong.append(_no_base(path, base, {*recipes, *built_in}))
    else:
        for name, one in presets.items():
            values = one.get("values")
            unknown = [key for key in values if key not in recipe.by_key] if isinstance(values, dict) else []
            if name in recipe.presets:
                wrong.append(_preset_there(path, name, recipe))
            wrong += [_no_field(path, name, key, recipe) for key in unknown]
            if unknown or name in recipe.presets:
                sound.pop(name, None)
        if not shape.reason({**table, "presets": {}}, PresetFile) and isinstance(given, dict):
            recipes[recipe.name] = recipe.with_presets(sound, str(path))
    problems += [Problem(path, sentence) for sentence in mistakes.few(wrong, path)]


def _recipe_there(path: Path, name: str, recipes: Mapping[str, Recipe]) -> str:
    """One sentence for a recipe whose name another has, with that one's file."""
    if (there := recipes.get(name)) is not None and there.origin:
        return t("{path}: name: there is a recipe named {name} already, in {place}, so this one is skipped; another name "
                 "would work.", path=path, name=name, place=there.origin)  # fmt: skip
    return t("{path}: name: there is a recipe named {name} already, a built-in one, so this one is skipped; another name "
             "would work.", path=path, name=name)  # fmt: skip


def _preset_there(path: Path, name: str, recipe: Recipe) -> str:
    """One sentence for a preset whose name another of its recipe has, with that one's file."""
    if place := recipe.place_of(name):
        return t("{path}: presets.{name}: {recipe} has a preset of that name already, in {place}; another name would work.",
                 path=path, name=cut(name), recipe=recipe.name, place=place)  # fmt: skip
    return t("{path}: presets.{name}: {recipe} has a preset of that name already, a built-in one; another name would work.",
             path=path, name=cut(name), recipe=recipe.name)  # fmt: skip


def _no_base(path: Path, name: str, known: set[str]) -> str:
    """One sentence for presets of a recipe that does not exist, with the nearest one."""
    from prl_tui.core.config import nearest

    if not name:
        return t("{path}: extends: the name of the recipe is empty.", path=path)
    if near := nearest(name, sorted(known)):
        return t("{path}: extends: there is no recipe named {name}; did you mean {near}?",
                 path=path, name=cut(name), near=near)  # fmt: skip
    return t("{path}: extends: there is no recipe named {name}.", path=path, name=cut(name))


def _no_field(path: Path, preset: str, key: str, recipe: Recipe) -> str:
    """One sentence for a preset's key that no field has, with the nearest one."""
    from prl_tui.core.config import nearest_key

    if not key:
        return t("{path}: {place}: the name of a field is empty.", path=path, place=f"presets.{cut(preset)}.values")
    place, near = f"presets.{cut(preset)}.values.{cut(key)}", nearest_key(recipe, key)
    if near:
        return t("{path}: {place}: {recipe} has no such field; did you mean {near}?",
                 path=path, place=place, recipe=recipe.name, near=near)  # fmt: skip
    return t("{path}: {place}: {recipe} has no such field.", path=path, place=place, recipe=recipe.name)


def read_recipe(
    path: Path, shared: Mapping[str, SharedFile], origin: str, problems: list[Problem], cache: Path | None = None
) -> Recipe | None:
    """A recipe from its file; None, and problems, where it is broken."""
    kept = _Kept(cache, path)
    table = kept.table or _shaped(path, RecipeFile, problems)
    if table is None:
        return None
    try:
        recipe = build(recipe_file_of(table), shared, origin, checked=kept.table is not None)
    except ValueError as error:
        from prl_tui.core import mistakes

        sentences = [
            t("{path}: {reason}" if reason.endswith(("?", "？")) else "{path}: {reason}.", path=path, reason=reason)
            for reason in getattr(error, "reasons", (str(error),))
        ]
        problems += [Problem(path, sentence) for sentence in mistakes.few(sentences, path)]
        return None
    kept.keep(table)
    return recipe


def _shaped(path: Path, declared: type[Value], problems: list[Problem]) -> dict[str, Any] | None:
    """The table in a file once it has the declared shape; None, and a problem that names the key path, otherwise."""
    try:
        table = read_toml(path)
    except ValueError as error:
        problems.append(Problem(path, str(error)))
        return None
    from prl_tui.core import shape

    if not shape.reason(table, declared):
        return table
    from prl_tui.core import mistakes

    wrong = mistakes.told(path, table, declared)
    problems += [Problem(path, sentence) for sentence in mistakes.few(wrong, path)]
    return None


class _Kept:
    """A table that was read and checked before, in the cache; it holds while the file and the program are the same."""

    def __init__(self, cache: Path | None, path: Path) -> None:
        self._place = cache / f"{path.stem}.json" if cache is not None else None
        self._stamp: list[object] | None = None
        self.table: dict[str, Any] | None = None
        if self._place is None:
            return
        import json

        try:
            status = path.stat()
            self._stamp = [__version__, str(path), status.st_mtime_ns, status.st_size]
            found = json.loads(regular.read_bytes(self._place))
        except (OSError, ValueError):
            return
        if isinstance(found, dict) and found.get("stamp") == self._stamp and isinstance(found.get("table"), dict):
            self.table = found["table"]

    def keep(self, table: dict[str, Any]) -> None:
        """Remember a table that passed every check."""
        if self._place is None or self._stamp is None or self.table is not None:
            return
        import contextlib
        import json

        from prl_tui import atomic

        with contextlib.suppress(OSError, TypeError, ValueError):  # a cache that cannot be written costs time, no more
            self._place.parent.mkdir(parents=True, exist_ok=True)
            atomic.write_text(self._place, json.dumps({"stamp": self._stamp, "table": table}))
