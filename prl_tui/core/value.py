"""Frozen values with named fields, as cheap to declare as a headless command needs: no code is made before first use.

A dataclass costs about a millisecond of every start, and a command declares some sixty values; a shape checker's
own classes cost their library. `shape` checks tables from files against these same declarations. A value made of
another one has that one's fields first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: object):  # noqa: ANN201
        """Only type checkers read it."""
        return lambda cls: cls


_T = TypeVar("_T", bound="Value")


class _Declared(type):
    """Turns annotations into slots and remembers the defaults."""

    declared_fields: tuple[str, ...]
    declared_defaults: dict[str, Any]
    keywords_only: bool
    built: int

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], kw_only: bool = False) -> _Declared:
        own = tuple(namespace.get("__annotations__", {})) if bases else ()
        namespace["__slots__"] = own
        defaults = {field: namespace.pop(field) for field in own if field in namespace}
        cls = super().__new__(mcs, name, bases, namespace)
        base = next((one for one in bases if isinstance(one, _Declared)), None)
        cls.declared_fields = (*(base.declared_fields if base else ()), *own)
        cls.declared_defaults = {**(base.declared_defaults if base else {}), **defaults}
        cls.keywords_only = kw_only
        cls.built = 0
        return cls

    def __call__(cls, *args: Any, **keywords: Any) -> Any:
        if "__init__" in cls.__dict__:
            return super().__call__(*args, **keywords)
        cls.built += 1
        if cls.built > _OFTEN:
            cls.__init__ = _initializer(cls)  # type: ignore[misc]
            return super().__call__(*args, **keywords)
        return _fill(cls, args, keywords)


_OFTEN = 4
"""Instances of a class after which it gets an initializer of its own: making one takes as long as filling many."""


def _fill(cls: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """A value built without an initializer; TypeError as a call would raise it."""
    given = dict(zip(cls.declared_fields, args, strict=False))
    if len(args) > len(cls.declared_fields) or (args and cls.keywords_only) or given.keys() & keywords.keys():
        raise TypeError(f"{cls.__name__}() got too many values or one twice")
    given |= keywords
    value = object.__new__(cls)
    for field in cls.declared_fields:
        if field in given:
            object.__setattr__(value, field, given.pop(field))
        elif field in cls.declared_defaults:
            object.__setattr__(value, field, cls.declared_defaults[field])
        else:
            raise TypeError(f"{cls.__name__}() needs {field}")
    if given:
        raise TypeError(f"{cls.__name__}() has no field {next(iter(given))}")
    return value


def _initializer(cls: _Declared) -> Any:
    """An __init__ for the fields of a class, made when the first one is built."""
    scope: dict[str, Any] = {}
    heads, lines = [], []
    for field in cls.declared_fields:
        scope[f"_set_{field}"] = getattr(cls, field).__set__
        if field in cls.declared_defaults:
            scope[f"_default_{field}"] = cls.declared_defaults[field]
            heads.append(f"{field}=_default_{field}")
        else:
            heads.append(field)
        lines.append(f" _set_{field}(self, {field})")
    star = "*, " if cls.keywords_only and heads else ""
    text = f"def __init__(self, {star}{', '.join(heads)}):\n" + "\n".join(lines or [" pass"])
    exec(text, scope)  # noqa: S102  (names of our own fields only)
    return scope["__init__"]


@dataclass_transform(frozen_default=True)
class Value(metaclass=_Declared):
    """Base of the frozen values. `class Case(Value): rule: str; swift: bool = False`."""

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, field) == getattr(other, field) for field in type(self).declared_fields)

    def __hash__(self) -> int:
        return hash((type(self), *(getattr(self, field) for field in type(self).declared_fields)))

    def __repr__(self) -> str:
        inside = ", ".join(f"{field}={getattr(self, field)!r}" for field in type(self).declared_fields)
        return f"{type(self).__name__}({inside})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), as_dict(self))


def as_dict(value: Value) -> dict[str, Any]:
    """The fields of a value by name, not descending into them."""
    return {field: getattr(value, field) for field in type(value).declared_fields}


def replace(value: _T, /, **changes: Any) -> _T:
    """The value with some fields changed."""
    return type(value)(**{**as_dict(value), **changes})


def plain(value: object) -> Any:
    """A value and all inside it as dicts, lists and scalars."""
    if isinstance(value, Value):
        return {field: plain(inner) for field, inner in as_dict(value).items()}
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value


def _rebuild(cls: type[Value], fields: dict[str, Any]) -> Value:
    return cls(**fields)
