"""Checks a table from a file against a declared value, and names the place of the mistake. Uses msgspec, only here."""

from __future__ import annotations

import types
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

from prl_tui.core.value import Value

_structs: dict[type, type[msgspec.Struct]] = {}


class ShapeError(ValueError):
    """A table of the wrong shape: what is wrong, and where (a key path such as `field[3].type`; "" for the top)."""

    def __init__(self, what: str, where: str) -> None:
        super().__init__(f"{where}: {what}" if where else what)
        self.what, self.where = what, where


def check(table: object, declared: type[Value]) -> None:
    """ShapeError where the table is not what the value declares; unknown keys are mistakes too."""
    try:
        msgspec.convert(table, _struct_of(declared))
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        raise ShapeError(what, where.rstrip("`").lstrip(".")) from None


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
