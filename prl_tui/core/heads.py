"""The list of presets without the recipes: a start shows it at once, and builds the recipe that it opens on.

What the list says is kept in the cache. It holds while the built-in recipes and the rules are the same files; with a
person's own recipes or presets beside them everything is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prl_tui import __version__, regular
from prl_tui.core import catalog
from prl_tui.core.catalog import Catalog, Head, Problem
from prl_tui.core.config import RunConfig, resolve
from prl_tui.core.recipe import Recipe, SharedFile
from prl_tui.core.recipe_tables import text_of
from prl_tui.core.value import replace

if TYPE_CHECKING:
    from prl_tui.core.batch import Batch

NAME = "_heads.json"
"""The file in the cache; no recipe's is called so."""
RULES = Path(__file__).parent

Figures = tuple[int | None, ...]


def load(folders: Iterable[Path], cache: Path) -> Catalog:
    """`catalog.load`, with recipes that are built when they are asked for, where the cache has the list of them."""
    folders, problems = list(folders), list[Problem]()
    own = any(catalog.own_files(folder, problems) for folder in folders)
    if own or problems:
        return catalog.load(folders, cache=cache)
    stamp = _stamp()
    heads = _kept(cache / NAME, stamp)
    if heads is None:
        return replace(catalog.load(folders, cache=cache), stamp=stamp)
    return Catalog(Shelf(heads, cache), (), heads)


def of(loaded: Catalog) -> Mapping[str, Head]:
    """What a list shows of every recipe; presets without their numbers where these are not kept."""
    if loaded.heads:
        return loaded.heads
    return {name: Head(one.data.title, dict.fromkeys(one.presets)) for name, one in loaded.recipes.items()}


def figures(config: RunConfig, batch: Batch | None = None) -> Figures:
    """GPUs, batch per device, generations, global batch; `batch` is of the person's config files too."""
    from prl_tui.core import assess, checks

    batch = checks.figures(config) if batch is None else batch
    generations = config.number("num_generations") if "num_generations" in config.recipe.by_key else None
    return assess.gpus(config), batch.per_device, generations, batch.global_batch


def keep(loaded: Catalog, cache: Path) -> None:
    """Put the list into the cache for the next start, where it was not there and can be."""
    if not loaded.stamp or loaded.problems:
        return
    import contextlib

    from prl_tui import atomic

    table = {
        name: {
            "title": {"en": one.data.title.en, "zh": one.data.title.zh},
            "presets": {preset: figures(resolve(one, preset)) for preset in one.presets},
        }
        for name, one in loaded.recipes.items()
    }
    with contextlib.suppress(OSError, ValueError):  # a cache that cannot be written costs time, no more
        atomic.write_text(cache / NAME, json.dumps({"stamp": loaded.stamp, "recipes": table}))


class Shelf(Mapping[str, Recipe]):
    """The built-in recipes by name, each built when it is first asked for; from any thread, all get the same one."""

    def __init__(self, heads: Mapping[str, Head], cache: Path) -> None:
        self._heads = heads
        self._cache = cache
        self._built: dict[str, Recipe] = {}

    @cached_property
    def _shared(self) -> Mapping[str, SharedFile]:
        return catalog.shared_files([], self._cache)

    def __getitem__(self, name: str) -> Recipe:
        if name not in self._built:
            if name not in self._heads:
                raise KeyError(name)
            recipe = catalog.read_recipe(catalog.BUILT_IN / f"{name}.toml", self._shared, "", [], self._cache)
            if recipe is None:  # the file was replaced under us
                raise KeyError(name)
            self._built.setdefault(name, recipe)
        return self._built[name]

    def __contains__(self, name: object) -> bool:
        return name in self._heads

    def __iter__(self) -> Iterator[str]:
        return iter(self._heads)

    def __len__(self) -> int:
        return len(self._heads)


def _stamp() -> tuple[object, ...]:
    """What the list is made from: each recipe's file, and the rules."""
    files = [*catalog.built_in_files(), *sorted(RULES.glob("*.py"))]
    return __version__, *([str(path), (status := path.stat()).st_mtime_ns, status.st_size] for path in files)


def _kept(path: Path, stamp: tuple[object, ...]) -> dict[str, Head] | None:
    """The list in the cache, if it is one of these very files."""
    try:
        found: Any = json.loads(regular.read_bytes(path))
        if tuple(found["stamp"]) != stamp:
            return None
        return {name: _head(table) for name, table in found["recipes"].items()} or None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _head(table: Mapping[str, Any]) -> Head:
    return Head(text_of(table["title"]), {preset: tuple(numbers) for preset, numbers in table["presets"].items()})
