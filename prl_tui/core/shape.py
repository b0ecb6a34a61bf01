"""Checks a table from a file against a declared value, and names the place of the mistake. Uses msgspec, only here."""

from __future__ import annotations

import re
import types
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

from prl_tui.core.value import Value
from prl_tui.i18n import mark, t

WANTED = {
    "str": mark("a text in quotes"),
    "int": mark("a whole number"),
    "float": mark("a number"),
    "bool": mark("true or false"),
    "array": mark("a list in brackets"),
    "object": mark("a table"),
}
"""msgspec's name of a type → how TOML writes it."""

FOUND = {
    "str": mark("a text"),
    "int": mark("a whole number"),
    "float": mark("a number with a point"),
    "bool": mark("true or false"),
    "array": mark("a list"),
    "object": mark("a table"),
    "date": mark("a date"),
    "datetime": mark("a date"),
    "time": mark("a time of day"),
}
"""msgspec's name of a type → what stands in the file."""

_structs: dict[type, type[msgspec.Struct]] = {}


class ShapeError(ValueError):
    """A table of the wrong shape: what is wrong, and where (a key path such as `field[3].type`; "" for the top).

    `what` is words for a person, but for a key that is unknown or missing: there it is msgspec's, and `told` has the words.
    A value that is none of few is msgspec's too: `core.mistakes` names it, with all others like it.
    """

    def __init__(self, what: str, where: str) -> None:
        super().__init__(f"{where}: {what}" if where else what)
        self.what, self.where = what, where


def check(table: object, declared: type[Value]) -> None:
    """ShapeError where the table is not what the value declares; unknown keys are mistakes too."""
    try:
        msgspec.convert(table, _struct_of(declared))
    except msgspec.ValidationError as error:
        what, where = _parted(error)
        raise ShapeError(_words(what), _named(where, table, declared)) from None


def _parted(error: msgspec.ValidationError) -> tuple[str, str]:
    what = str(error)
    place = re.search(r" - at `(?:key` in `)?\$\.?(.*)`$", what)
    return (what[: place.start()], place.group(1)) if place else (what, "")


def _named(where: str, table: object, declared: type[Value]) -> str:
    """The place with the name of the key of a free table, which msgspec writes as `[...]`."""
    from prl_tui.core.values import cut  # which reads what is declared with this module

    name, dots, rest = where.partition("[...]")
    inner = table.get(name) if isinstance(table, dict) else None
    if not dots or not isinstance(inner, dict):
        return where
    for key, value in inner.items():
        try:
            msgspec.convert({**table, name: {key: value}}, _struct_of(declared))  # type: ignore[dict-item]
        except msgspec.ValidationError as error:
            if _parted(error)[1] == where:
                return f"{name}.{cut(str(key))}{rest}"
    return where


def reason(value: object, hint: Any) -> str:
    """What is wrong with one value from a file, in words; "" where it is as its hint says."""
    try:
        msgspec.convert(value, _swapped(hint))
    except msgspec.ValidationError as error:
        return told(_words(re.sub(r" - at `.*`$", "", str(error))))
    return ""


def told(what: str) -> str:
    """A ShapeError's `what` where it is about a key that is unknown or missing; any other as it is."""
    unknown = re.fullmatch(r"Object contains unknown field `(.*)`", what, re.DOTALL)
    if unknown:
        return t("there is no key {name} here", name=unknown.group(1))
    missing = re.fullmatch(r"Object missing required field `(.*)`", what)
    return t("the key {name} is missing", name=missing.group(1)) if missing else what


def _words(what: str) -> str:
    """Msgspec's message in words; a key's, and one that is not known, as it is."""
    kind = re.fullmatch(r"Expected `([\w |]+)`, got `(\w+)`", what)
    wanted = [name for name in kind.group(1).split(" | ") if name != "null"] if kind else []
    if kind and len(wanted) == 1 and wanted[0] in WANTED and kind.group(2) in FOUND:
        return t("it must be {wanted}, and is {found}", wanted=t(WANTED[wanted[0]]), found=t(FOUND[kind.group(2)]))
    length = re.fullmatch(r"Expected `array` of length (\d+), got (\d+)", what)
    if length:
        return t("it must be a list of {wanted}, and has {found}", wanted=length.group(1), found=length.group(2))
    return what


def _struct_of(declared: type[Value]) -> type[msgspec.Struct]:
    if declared not in _structs:
        fields: list[Any] = []
        for name, hint in get_type_hints(declared).items():
            kind = _swapped(hint)
            fields.append((name, kind, None) if name in declared.declared_defaults else (name, kind))
        _structs[declared] = msgspec.defstruct(declared.__name__, fields, forbid_unknown_fields=True, kw_only=True)
    return _structs[declared]


def _swapped(hint: Any) -> Any:
    """The hint with every declared value in it as its struct."""
    if isinstance(hint, type) and issubclass(hint, Value):
        return _struct_of(hint)
    arguments = get_args(hint)
    if not arguments:
        return hint
    swapped = tuple(argument if argument is Ellipsis else _swapped(argument) for argument in arguments)
    if isinstance(hint, types.UnionType) or get_origin(hint) is Union:
        return Union[swapped]  # noqa: UP007  (made at run time)
    if swapped == arguments:
        return hint
    return get_origin(hint)[swapped]
