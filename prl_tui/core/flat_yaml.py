"""Reads the plain part of a YAML file: nested `key: scalar` lines, as configs of trainers have them.

What it gives is what PyYAML's `safe_load` gives (YAML 1.1: `5e-7` is a text there). Whatever is beyond it (lists, blocks,
anchors, tags, several documents) is named as unread and never guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from prl_tui.core.value import Value

Path = tuple[str, ...]
Scalar = str | int | float | bool | None

_ENTRY = r"""(?P<key>[^\W\d][\w.-]*|"[^"\\]*"|'[^']*')[ ]*:(?:[ ]+(?P<rest>\S.*)?)?$"""
_QUOTED = r"""(?:"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>(?:[^']|'')*)')[ ]*(?:[ ]#.*)?$"""
_WHOLE = r"[-+]?(?:0|[1-9][0-9]*)"
_DECIMAL = r"[-+]?[0-9]+\.[0-9]*(?:[eE][-+][0-9]+)?"
_SCIENTIFIC = r"[-+]?[0-9]+[eE][-+]?[0-9]+|[-+]?[0-9]+\.[0-9]*[eE][0-9]+"
_ODD_NUMBER = r"(?i:[-+]?\.?[0-9][0-9a-zA-Z_:. +-]*|[-+]?\.(?:inf|nan)|=|<<)"
_NOT_PLAIN = r"[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
_WORDS: dict[str, Scalar] = {
    **{word: True for base in ("yes", "true", "on") for word in (base, base.title(), base.upper())},
    **{word: False for base in ("no", "false", "off") for word in (base, base.title(), base.upper())},
    **dict.fromkeys(("~", "null", "Null", "NULL"), None),
}


class Read(Value):
    """What a file says, as far as it is plain."""

    values: Mapping[Path, Scalar]
    unread: tuple[str, ...] = ()
    """Dotted keys that are there and were not understood."""
    rest_from: int | None = None
    """The line from which on nothing was understood."""

    def is_unread(self, path: Path) -> bool:
        """Whether a key that has no value here may stand in the part that was not understood."""
        return self.rest_from is not None or any(".".join(path[:n]) in self.unread for n in range(1, len(path) + 1))


class _Stop(Exception):  # noqa: N818  (an end, not an error)
    """Nothing from here on can be understood."""


class _Odd(Exception):  # noqa: N818
    """One value cannot be understood."""


def read(text: str) -> Read:
    """The plain entries of a YAML text."""
    return _Reader().of(text.removeprefix("\ufeff"))


def read_json(text: str) -> Read:
    """The scalars of a JSON text; ValueError where it is none, or no object."""
    table = json.loads(text)
    if not isinstance(table, dict):
        raise ValueError("an object is needed")
    values: dict[Path, Scalar] = {}
    unread: list[str] = []
    _flatten(table, (), values, unread)
    return Read(values, tuple(unread))


def _flatten(table: Mapping[str, object], place: Path, values: dict[Path, Scalar], unread: list[str]) -> None:
    for key, value in table.items():
        path = (*place, key)
        if isinstance(value, dict):
            _flatten(value, path, values, unread)
        elif value is None or isinstance(value, (str, int, float)):
            values[path] = value
        else:
            unread.append(".".join(path))


class _Reader:
    def __init__(self) -> None:
        self.values: dict[Path, Scalar] = {}
        self.unread: list[str] = []
        self.open: list[tuple[int, Path]] = []
        """The mappings that a line may belong to: the column of their keys, and their place."""
        self.last: tuple[int, Path] | None = None
        """The newest key, with its column."""
        self.skipping: int | None = None
        """Lines beyond this column belong to a value that is not understood."""

    def of(self, text: str) -> Read:
        """Line by line; the first that cannot be understood ends it."""
        lines = text.split("\n")
        for number, line in enumerate(lines, 1):
            try:
                self._line(line.rstrip("\r "))
            except _Stop:
                self._forget("\n".join(lines[number - 1 :]))
                return Read(self.values, tuple(self.unread), number)
        return Read(self.values, tuple(self.unread))

    def _forget(self, rest: str) -> None:
        """Values that the part which is not understood may continue or replace."""
        if self.last is not None:
            self.values.pop(self.last[1], None)
        for path in [path for path in self.values if any(part in rest for part in path)]:
            del self.values[path]

    def _line(self, line: str) -> None:
        content = line.lstrip(" ")
        if not content or content.startswith("#"):
            return
        if re.search(_NOT_PLAIN, line) or content.startswith("\t"):
            raise _Stop
        if content == "---" and not self.open and not self.values:
            return
        column = len(line) - len(content)
        if self.skipping is not None:
            if column > self.skipping or (column == self.skipping and content.startswith("- ")):
                return
            self.skipping = None
        if content.startswith(("---", "...", "%")) and column == 0:
            raise _Stop
        if content == "-" or content.startswith("- "):
            self._give_up(column)
        else:
            self._entry(column, content)

    def _give_up(self, column: int) -> None:
        """A list below the newest key."""
        if self.last is None or column < self.last[0]:
            raise _Stop
        self._drop(self.last[1])
        self.unread.append(".".join(self.last[1]))
        self.skipping = self.last[0]

    def _entry(self, column: int, content: str) -> None:
        deeper = self.last is not None and column > self.last[0]
        if self.last is not None and deeper and self.values.get(self.last[1], "") is not None:
            if re.match(_ENTRY, content):
                raise _Stop  # a key below a scalar: no YAML
            self._give_up(column)  # a scalar that goes on over several lines
            return
        found = re.match(_ENTRY, content)
        if found is None:
            raise _Stop
        path = (*self._place(column, deeper), self._key(found["key"]))
        self._drop(path)
        self.last = (column, path)
        try:
            self.values[path] = self._value(found["rest"] or "")
        except _Odd:
            self.unread.append(".".join(path))
            self.skipping = column

    def _place(self, column: int, deeper: bool) -> Path:
        if not self.open or (deeper and self.last is not None):
            place = self.last[1] if self.last is not None else ()
            if place:
                del self.values[place]  # a mapping, no empty value
            self.open.append((column, place))
            return place
        while self.open and self.open[-1][0] > column:
            self.open.pop()
        if not self.open or self.open[-1][0] != column:
            raise _Stop
        return self.open[-1][1]

    def _key(self, text: str) -> str:
        if text[0] in "\"'":
            return text[1:-1]
        if text in _WORDS:
            raise _Stop
        return text

    def _drop(self, path: Path) -> None:
        """The last of two equal keys counts, with all below it."""
        for known in [known for known in self.values if known[: len(path)] == path]:
            del self.values[known]
        name = ".".join(path)
        self.unread = [one for one in self.unread if one != name and not one.startswith(f"{name}.")]

    def _value(self, rest: str) -> Scalar:
        if not rest or rest.startswith("#"):
            return None
        if rest[0] in "\"'":
            return _quoted(rest)
        if rest[0] in "[{":
            if _closed(rest):
                raise _Odd
            raise _Stop
        if rest[0] in "|>&*!" or "\t" in rest:
            raise _Odd
        if rest[0] in "@`%,]}" or rest[:2] in {"- ", "? "} or rest in {"-", "?"}:
            raise _Stop
        plain = re.split(r"[ ]+#", rest, maxsplit=1)[0]
        if ": " in plain or plain.endswith(":"):
            raise _Stop
        return _plain(plain)


def _quoted(rest: str) -> str:
    found = re.match(_QUOTED, rest)
    if found is None:
        raise _Stop
    if found["single"] is not None:
        return found["single"].replace("''", "'")
    try:
        value = json.loads(f'"{found["double"]}"')
    except ValueError:
        raise _Odd from None
    if not isinstance(value, str) or any("\ud800" <= c <= "\udfff" for c in value):
        raise _Odd
    return value


def _closed(rest: str) -> bool:
    """A flow collection that surely ends on its line: no quotes, no nesting, no comment."""
    return re.fullmatch(r"\[[^][{}\"'#]*\]|\{[^][{}\"'#]*\}", rest) is not None


def _plain(text: str) -> Scalar:
    if text in _WORDS:
        return _WORDS[text]
    if re.fullmatch(_WHOLE, text):
        if len(text) > 1000:
            raise _Odd
        return int(text)
    if re.fullmatch(_DECIMAL, text):
        return float(text)
    if re.fullmatch(_SCIENTIFIC, text):
        return text
    if re.fullmatch(_ODD_NUMBER, text):
        raise _Odd
    return text
