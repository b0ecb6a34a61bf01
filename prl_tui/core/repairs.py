"""A right value for a field whose own value is wrong: the preset's, else the recipe's, else the nearest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from prl_tui.core import values, wordlist
from prl_tui.core.config import RunConfig, Source, fill, nearest, resolve
from prl_tui.core.recipe import Field

_NOTHING: Any = object()


def plain(config: RunConfig, searched: Iterable[str]) -> dict[str, Any]:
    """Key → right value for each wrong field that no rule between fields is about (`searched` are the parts of those)."""
    apart = {config.recipe.part(part) for part in searched}
    found = {}
    for field in config.recipe.fields:
        key = field.key
        number = key in apart and field.type == "int"
        if config.settings[key].problem and not number:
            value = _right(config, field)
            if value is not _NOTHING:
                found[key] = value
    return found


def applied(config: RunConfig, changes: Mapping[str, Any]) -> RunConfig:
    """The config with these changes."""
    return config.with_values(changes, Source.FIX) if changes else config


def preset_value(config: RunConfig, key: str) -> Any:
    """A field's value in the preset; one that follows another field is filled in."""
    base = config.baseline()
    return base.value(key) if base.follows(key) else base.settings[key].value


def meant_number(config: RunConfig, part: str) -> int | None:
    """The number that stands alone in a list in the place of a part's, else `preset_number`."""
    key = config.recipe.part(part)
    held = _held(config, config.recipe.by_key[key])
    return held if isinstance(held, int) and not isinstance(held, bool) else preset_number(config, part)


def _held(config: RunConfig, field: Field) -> Any:
    """The one right value in a list that stands where a single value is wanted, or None."""
    setting = config.settings[field.key]
    return None if not setting.problem or setting.value is not None else values.lone(field, setting.text)


def preset_number(config: RunConfig, part: str) -> int | None:
    """The preset's value of a part, where it is a number that is right."""
    key = config.recipe.part(part)
    base = config.baseline()
    return base.number(key) if not base.settings[key].problem else None


SHORT = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "half": "float16", "tb": "tensorboard"}
"""What people write for a number format, or for where curves go."""


def _meant(field: Field, text: str) -> str | None:
    """The choice that a mistyped one stands for, where that is plain."""
    word = text.strip().lower()
    folded = {choice.lower(): choice for choice in field.choices}
    long = SHORT.get(word, "")
    short = next((choice for choice, full in SHORT.items() if full == word), "")
    near = nearest(word, list(folded))
    return next((folded[one] for one in (word, long, short, near) if one in folded), None)


def whole(field: Field, near: float) -> int:
    """The multiple that a field takes below a number within its bounds, or else the first one above."""
    below = int(near) // field.multiple * field.multiple
    return below if field.min is None or below >= field.min else below + field.multiple


def _quoted(config: RunConfig, field: Field) -> str | None:
    """A list of words whose quote was left open, with that quote closed."""
    setting = config.settings[field.key]
    if field.type not in wordlist.TYPES or setting.value is not None or setting.secret or not setting.text:
        return None
    from prl_tui.core import open_quote

    mended = open_quote.mended(setting.text)
    return mended if mended and not values.parse(field, mended)[1] else None


def _right(config: RunConfig, field: Field) -> Any:
    """A value that is right by itself; _NOTHING where none is known."""
    choice = _meant(field, config.settings[field.key].text) if field.choices else None
    for read in (_held(config, field), choice, _quoted(config, field)):
        if read is not None:
            return read
    for base in (config.baseline(), resolve(config.recipe)):
        setting = base.settings[field.key]
        if not setting.problem and setting.value is not None:
            filled = fill(setting.value, config) if base.follows(field.key) else setting.value
            return values.parse(field, filled)[0]
    if not field.required:
        return None
    if field.type in {"int", "float"}:
        now = config.settings[field.key].value
        low = field.min if field.min is not None else 1
        high = field.max if field.max is not None else None
        nearest = now if isinstance(now, (int, float)) else low
        nearest = max(low, nearest if high is None else min(high, nearest))
        return whole(field, nearest) if field.type == "int" else nearest
    if field.type in {"choice", "bool"}:
        return values.parse(field, values.example(field))[0]
    return _NOTHING
