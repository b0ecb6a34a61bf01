"""Every mistyped name in a file at once, each as a sentence: who mends one by one runs a command once for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from prl_tui.core.config import nearest
from prl_tui.core.value import Value
from prl_tui.core.values import cut
from prl_tui.i18n import nt, t
from prl_tui.lists import listed

if TYPE_CHECKING:
    from prl_tui.core.recipe import Recipe

MOST = 10
"""Sentences about one source; behind them stands how many more there are."""
_NAMED = 30
"""Names that a sentence lists at most."""
_LONG = 200
"""Letters of what is wrong at one place, at most."""


class SeveralError(ValueError):
    """What is wrong in one file, a whole sentence for each mistake; at least one."""

    def __init__(self, sentences: Sequence[str], path: object) -> None:
        self.sentences = few(sentences, path)
        super().__init__("\n".join(self.sentences))


class Mistake(Value):
    """A name in a table that its declaration does not have."""

    place: str
    """Key path with the names of the file, such as `presets.night`; "" for the top."""
    name: str
    known: tuple[str, ...]
    """What may stand there."""
    is_key: bool
    """It is a key; otherwise one of few possible values."""

    @property
    def reason(self) -> str:
        """What is wrong and what would work, as a whole sentence without the place."""
        near, name, known = nearest(self.name, list(self.known)), cut(self.name), listed(self.known[:_NAMED])
        if self.is_key:
            if not name.strip():
                return t("a key is empty; there are {known}.", known=known)
            if near:
                return t("there is no key {name} here; did you mean {near}?", name=name, near=near)
            return t("there is no key {name} here; there are {known}.", name=name, known=known)
        if near and len(self.known) > 1:
            return t("{name} is none of {known}; did you mean {near}?", name=name, known=known, near=near)
        if len(self.known) == 1:
            return t("{name} does not work here; {known} would.", name=name, known=known)
        return t("{name} is none of {known}.", name=name, known=known)


def few(sentences: Sequence[str], path: object = "") -> tuple[str, ...]:
    """The first ten sentences, and one that says how many more there are, in the file of that path."""
    more = len(sentences) - MOST
    if more <= 0:
        return tuple(sentences)
    rest = nt("{n} more is like these.", "{n} more are like these.", more)
    return (*sentences[:MOST], t("{path}: {reason}", path=path, reason=rest) if path else rest)


def found(table: object, declared: type[Value]) -> list[Mistake]:
    """The names in a table from a file that a declared value does not have, in the file's order."""
    return list(_walk(table, declared, ""))


def neither(path: object, table: Mapping[str, object], recipes: Mapping[str, Recipe]) -> str:
    """One sentence for a file that is neither a recipe nor presets for one: what would make it either."""
    given = table.get("presets")
    values = [one.get("values") for one in given.values() if isinstance(one, dict)] if isinstance(given, dict) else []
    keys = {key for one in values if isinstance(one, dict) for key in one}
    fits = [name for name, recipe in recipes.items() if keys and keys.issubset(recipe.by_key)]
    named = Path(str(path)).stem
    base = named if named in (fits or recipes) else next(iter(fits), "prl-grpo")
    line = f'extends = "{base}"'
    typed = next((key for key in table if nearest(key, ["extends"])), "")
    if typed:
        told = t("there is no key {name} here; did you mean {near}?", name=cut(typed), near="extends")
    elif isinstance(given, dict):
        told = t("extends is missing: {line} would add its presets to that recipe; a recipe of its own needs name, title "
                 "and a table [program.torchrun].", line=line)  # fmt: skip
    else:
        told = t("it is neither presets nor a recipe: {line} with tables [presets.NAME.values] would be the one; name, title "
                 "and a table [program.torchrun] the other.", line=line)  # fmt: skip
    return at(path, "", told)


def told(path: object, table: object, declared: type[Value]) -> list[str]:
    """A sentence for each mistake in the shape of a file's table: names that it does not have, and values of another type."""
    names = found(table, declared)
    meant = {(one.place, nearest(one.name, list(one.known))) for one in names if one.is_key}
    few_of_them = {one.place for one in names if not one.is_key}
    sentences = [at(path, one.place, one.reason) for one in names]
    for place, missing, what in _misshapen(table, declared, ""):
        if (place, missing) not in meant and place not in few_of_them:
            reason = what if len(what) <= _LONG else what[: _LONG - 3] + "…"
            sentences.append(at(path, place, t("{reason}.", reason=reason)))
    return sentences


def at(path: object, place: str, sentence: str) -> str:
    """A whole sentence behind the file and the place in it, with the colons of the language in force."""
    if not place:
        return t("{path}: {reason}", path=path, reason=sentence)
    return t("{path}: {place}: {reason}", path=path, place=place, reason=sentence)


def _misshapen(table: object, hint: Any, before: str) -> Iterator[tuple[str, str, str]]:
    """Where a value is not of its type, which key is missing there or "", and what is wrong; each is looked at alone."""
    from prl_tui.core import shape

    origin, inner = get_origin(hint), get_args(hint)
    if isinstance(hint, type) and issubclass(hint, Value) and isinstance(table, dict):
        hints = get_type_hints(hint)
        for key in hints:
            if key in table:
                yield from _misshapen(table[key], hints[key], f"{before}{key}.")
            elif key not in hint.declared_defaults:
                yield _place(before), key, t("the key {name} is missing", name=key)
    elif origin is dict and isinstance(table, dict):
        for key, one in table.items():
            if get_origin(inner[0]) is not Literal or key in get_args(inner[0]):
                yield from _misshapen(one, inner[1], f"{before}{cut(key)}.")
    elif origin is tuple and Ellipsis in inner and isinstance(table, list):
        for index, one in enumerate(table):
            yield from _misshapen(one, inner[0], _entry(before, index, one))
    elif what := shape.reason(table, hint):
        yield _place(before), "", what


def _walk(table: object, hint: Any, before: str) -> Iterator[Mistake]:
    """`before` is the path to the table with what stands between it and a key: `presets.night.`, `field lr, `."""
    origin, inner = get_origin(hint), get_args(hint)
    if isinstance(hint, type) and issubclass(hint, Value):
        yield from _value(table, hint, before)
    elif origin is Literal:
        if isinstance(table, (str, int, float)) and table not in inner:
            words = any(isinstance(one, str) for one in inner)
            shown = f'"{table}"' if isinstance(table, str) and not words else str(table)
            yield Mistake(_place(before), shown, tuple(map(str, inner)), False)
    elif origin is dict:
        for key, one in _entries(table):
            if get_origin(inner[0]) is Literal and key not in get_args(inner[0]):
                yield Mistake(_place(before), key, get_args(inner[0]), True)
            else:
                yield from _walk(one, inner[1], f"{before}{cut(key)}.")
    elif origin is tuple and isinstance(table, list):
        for index, one in enumerate(table):
            if Ellipsis in inner or index < len(inner):
                yield from _walk(one, inner[0] if Ellipsis in inner else inner[index], _entry(before, index, one))


def _value(table: object, declared: type[Value], before: str) -> Iterator[Mistake]:
    hints = get_type_hints(declared)
    for key, one in _entries(table):
        if key in hints:
            yield from _walk(one, hints[key], f"{before}{key}.")
        else:
            yield Mistake(_place(before), key, declared.declared_fields, True)


def _entries(table: object) -> Iterable[tuple[str, object]]:
    return table.items() if isinstance(table, dict) else ()


def _place(before: str) -> str:
    return before.removesuffix(".").removesuffix(", ")


def _entry(before: str, index: int, one: object) -> str:
    """`field lr, ` where the entry says its key or name, and `field[3].` otherwise."""
    names = [one.get(key) for key in ("key", "name")] if isinstance(one, dict) else []
    name = next((name for name in names if isinstance(name, str) and name), "")
    return f"{_place(before)} {cut(name)}, " if name else f"{_place(before)}[{index}]."
