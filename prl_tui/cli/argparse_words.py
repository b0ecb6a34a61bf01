"""argparse's own words in the language in force: its headings, its usage line, its errors.

argparse asks gettext for each of them under a name of its own module, by the sentences that stand here (Python 3.10 to
3.14); one that is not here stays English.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from prl_tui.i18n import language, mark, t
from prl_tui.lists import listed

WORDS = {
    "usage: ": mark("usage: "),
    "positional arguments": mark("positional arguments"),
    "options": mark("options"),
    "show this help message and exit": mark("show this help message and exit"),
    "show program's version number and exit": mark("show program's version number and exit"),
    "%(prog)s: error: %(message)s\n": mark("%(prog)s: error: %(message)s\n"),
    "argument %(argument_name)s: %(message)s": mark("argument %(argument_name)s: %(message)s"),
    "invalid choice: %(value)r (choose from %(choices)s)": mark("invalid choice: %(value)r (choose from %(choices)s)"),
    "invalid %(type)s value: %(value)r": mark("invalid %(type)s value: %(value)r"),
    "unrecognized arguments: %s": mark("unrecognized arguments: %s"),
    "the following arguments are required: %s": mark("the following arguments are required: %s"),
    "one of the arguments %s is required": mark("one of the arguments %s is required"),
    "not allowed with argument %s": mark("not allowed with argument %s"),
    "ignored explicit argument %r": mark("ignored explicit argument %r"),
    "expected one argument": mark("expected one argument"),
    "expected at most one argument": mark("expected at most one argument"),
    "expected at least one argument": mark("expected at least one argument"),
    "expected %s argument": mark("expected %s argument"),
    "expected %s arguments": mark("expected %s arguments"),
    "ambiguous option: %(option)s could match %(matches)s": mark(
        "ambiguous option: %(option)s could match %(matches)s"
    ),
}
"""By argparse's own sentences."""

_SHOWN = "__str__"
"""Of an argparse error: the one sentence for which Python 3.10 does not ask gettext."""


_LISTS = frozenset({"choices", "matches"})
"""Of what argparse fills in: names that it has joined in its own way."""
_REQUIRED = "the following arguments are required: %s"


class _Sentence(str):
    """A translation whose lists stand as its language separates them: argparse hands them over joined, and quoted."""

    __slots__ = ("one_list",)
    one_list: bool

    def __new__(cls, text: str, one_list: bool) -> _Sentence:
        """`one_list`: the one value that is filled in is a list."""
        made = super().__new__(cls, text)
        made.one_list = one_list
        return made

    def __mod__(self, values: object) -> str:
        """The sentence with its values filled in."""
        if isinstance(values, Mapping):
            values = {name: _relisted(value) if name in _LISTS else value for name, value in values.items()}
        return str(self).__mod__(_relisted(values) if self.one_list else values)


def _relisted(value: object) -> str:
    return listed(word.strip("'") for word in str(value).split(", "))


def _said(sentence: str) -> str:
    return _Sentence(t(WORDS[sentence]), sentence == _REQUIRED) if sentence in WORDS else sentence


def _as_it_stands(sentence: str) -> str:
    return sentence


def _by_number(one: str, many: str, n: int) -> str:
    return one if n == 1 else many


def _counted(one: str, many: str, n: int) -> str:
    return _said(one if n == 1 else many)


def _fault(self: argparse.ArgumentError) -> str:
    if self.argument_name is None:
        return self.message
    words = {"argument_name": self.argument_name, "message": self.message}
    return _said("argument %(argument_name)s: %(message)s") % words


def speak() -> None:
    """Have argparse speak the language in force; English is its own, and gettext would look for a translation of it."""
    if language() == "en" and not hasattr(argparse, "_prl_spoken"):
        vars(argparse).update(_=_as_it_stands, ngettext=_by_number)
        return
    for name, function in (("_", _said), ("ngettext", _counted), ("_prl_spoken", True)):
        setattr(argparse, name, function)
    setattr(argparse.ArgumentError, _SHOWN, _fault)
