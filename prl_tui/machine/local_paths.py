"""Which values of hub fields are plainly paths of this box, and are not there."""

from __future__ import annotations

from pathlib import Path

from prl_tui import regular
from prl_tui.core import hub_paths
from prl_tui.core.config import RunConfig, fill, template_keys
from prl_tui.i18n import t
from prl_tui.machine import paths

LONGEST = 16
"""Words of one path at most."""


def missing(config: RunConfig, base: Path) -> dict[str, tuple[str, ...]]:
    """Field → its paths that are not there; `base` is where relative ones start."""
    found = {}
    for key in config.recipe.data.hub:
        if config.follows(key):  # told of the field that it follows
            continue
        names = tuple(name for name in _items(config, key) if hub_paths.is_path(name) and not _there(base, name))
        if names:
            found[key] = tuple(dict.fromkeys(names))
    return found


def odd(config: RunConfig, base: Path) -> dict[str, tuple[str, ...]]:
    """Field → a sentence for each of its paths that is a pipe, a socket or a device; "" for a file of no field's.

    A program would wait for a pipe, and each of its processes reads another part of it.
    """
    data = config.recipe.data
    keys = dict.fromkeys((*data.hub, *data.batch.rows, *data.batch.validation))
    named = [(key, name) for key in keys if key in config.settings and not config.follows(key)
             for name in _items(config, key)]  # fmt: skip
    for file in data.files:
        key = next((key for key in template_keys(file) if key in config.settings), "")
        named.append((key, fill(fill(file, config), config)))
    found: dict[str, list[str]] = {}
    for key, name in dict.fromkeys(named):
        for reading in hub_paths.readings(name):
            reason = regular.odd(base / paths.expanded(reading))
            if reason:
                found.setdefault(key, []).append(t("{path}: {reason}.", path=name, reason=reason))
                break
    return {key: tuple(sentences) for key, sentences in found.items()}


def cut(config: RunConfig, base: Path) -> dict[str, tuple[str, ...]]:
    """Field → its items with those joined by a blank that only together are there: one path that was not quoted."""
    found = {}
    for key in config.recipe.data.hub:
        items = _items(config, key)
        whole = _joined(items, base) if len(items) > 1 else items
        if whole != items:
            found[key] = whole
    return found


def _joined(items: tuple[str, ...], base: Path) -> tuple[str, ...]:
    left, made = list(items), []
    while left:
        best = 1
        if not _there(base, left[0]):
            ends = range(2, min(len(left), LONGEST) + 1)
            best = next((end for end in ends if _there(base, " ".join(left[:end]))), 1)
        made.append(" ".join(left[:best]))
        del left[:best]
    return tuple(made)


def _items(config: RunConfig, key: str) -> tuple[str, ...]:
    value = config.value(key)
    return tuple(map(str, value)) if isinstance(value, tuple) else (str(value),) if value else ()


def _there(base: Path, name: str) -> bool:
    return any(paths.exists(base / paths.expanded(reading)) for reading in hub_paths.readings(name))
