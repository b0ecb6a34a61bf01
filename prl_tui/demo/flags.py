"""Command-line flags declared as dataclass fields: one line holds a flag's name, default, reader and help."""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING, Any, TypeVar

from prl_tui.i18n import t
from prl_tui.lists import listed

if TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")

_TRUE = {"true", "1", "yes"}
_FALSE = {"false", "0", "no"}


def flag(default: object, read: Callable[[str], object], explanation: str, metavar: str = "N") -> Any:
    """A dataclass field that is also the flag `--NAME`; a `truth` flag may stand without a value (true).

    `explanation` is a sentence marked for the catalogue.
    """
    return dataclasses.field(default=default, metadata={"read": read, "help": explanation, "metavar": metavar})


def whole(low: int) -> Callable[[str], int]:
    """A reader of whole numbers of at least `low`."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(t("'{text}' is not a whole number", text=text)) from None
        if number < low:
            raise argparse.ArgumentTypeError(t("{number} is less than {low}", number=number, low=low))
        return number

    return read


def real(text: str) -> float:
    """A finite number of at least 0."""
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(t("'{text}' is not a number", text=text)) from None
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(t("{text} is not a finite number of at least 0", text=text))
    return number


def truth(text: str) -> bool:
    """Either true or false, as ms-swift and transformers write them."""
    word = text.lower()
    if word not in _TRUE | _FALSE:
        raise argparse.ArgumentTypeError(t("'{text}' is neither true nor false", text=text))
    return word in _TRUE


def one_of(*choices: str) -> Callable[[str], str]:
    """A reader that takes only the given words."""

    def read(text: str) -> str:
        if text not in choices:
            names = listed(choices)
            raise argparse.ArgumentTypeError(t("'{text}' is none of: {names}", text=text, names=names))
        return text

    return read


def add_flags(group: argparse._ActionsContainer, owner: type[DataclassInstance]) -> None:
    """Add a flag for each declared field of `owner` to a parser or to a group of one."""
    for field in dataclasses.fields(owner):
        if "read" not in field.metadata:
            continue
        extra: dict[str, Any] = {"nargs": "?", "const": True} if field.metadata["read"] is truth else {}
        group.add_argument(
            f"--{field.name}",
            type=field.metadata["read"],
            default=field.default,
            metavar=field.metadata["metavar"],
            help=_help(field.metadata["help"], field.default),
            **extra,
        )


def picked(owner: type[T], namespace: argparse.Namespace, **others: object) -> T:
    """An `owner` made of the parsed flags; `others` are its fields that are no flags."""
    names = [field.name for field in dataclasses.fields(owner) if "read" in field.metadata]
    return owner(**{name: getattr(namespace, name) for name in names}, **others)


def _help(explanation: str, default: object) -> str:
    """The sentence for --help, with the default where it says something."""
    sentence = t(explanation).replace("%", "%%")
    if default in (None, ""):
        return sentence
    shown = str(default).lower() if isinstance(default, bool) else str(default)
    return t("{sentence} (default: {default})", sentence=sentence, default=shown)
