"""Files that a recipe lets the plan write: their name, when, and what stands in them, as data.

A leaf of the content is a constant, a field (`"{batch_size}"` gives its value as its type, nothing where it is not set), a text
with fields in it (`"out/{task}"`), or another written file's path (`"{file:deepspeed.json}"`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal

from prl_tui.core.value import Value
from prl_tui.i18n import t

Path = tuple[str, ...]
PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""A place in a template that a field fills."""
FILE = r"\{file:([A-Za-z0-9_.-]+)\}"
"""A leaf that is another file's path. Compiled where a recipe has one: every start reads this module."""
_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]*\.(?:yaml|yml|json)"


class Template(Value, kw_only=True):
    """One file that the plan writes."""

    name: str
    """Its name; the ending says whether it is YAML or JSON."""
    content: dict[str, Any]
    key: str = ""
    """The field that names the file on the command line: it gets the written one's path."""
    when: dict[str, Any] = {}
    """Field → the value with which the file is written; otherwise the person's own file is used."""
    kind: Literal["", "accelerate", "deepspeed"] = ""
    """What else is checked in a file of the person's."""
    absent: dict[str, Any] = {}
    """Field → what the program takes where a file of the person's does not say."""

    @property
    def is_json(self) -> bool:
        """JSON rather than YAML."""
        return self.name.endswith(".json")

    def leaves(self) -> Iterator[tuple[Path, Any]]:
        """Every value of the content with its place."""
        yield from _leaves(self.content, ())

    def fields(self) -> Iterator[tuple[Path, str]]:
        """Every place that holds one field's value, and the field."""
        for path, leaf in self.leaves():
            found = PLACE.fullmatch(leaf) if isinstance(leaf, str) else None
            if found:
                yield path, found[1]

    def named(self) -> set[str]:
        """Every field that the content names."""
        return {key for _, leaf in self.leaves() if isinstance(leaf, str) for key in PLACE.findall(leaf)}


def _leaves(table: Mapping[str, Any], place: Path) -> Iterator[tuple[Path, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*place, key))
        else:
            yield (*place, key), value


def template_of(table: Mapping[str, Any]) -> Template:
    """A template from its table, which has been shape-checked."""
    return Template(**table)


def sound(templates: Collection[Template], flagged: Collection[str], known: Collection[str]) -> None:
    """Names and places fit together; ValueError names what does not. `flagged` are the fields with a flag."""
    names = [template.name for template in templates]
    for template in templates:
        place = f"write {template.name[:100]}"
        if not re.fullmatch(_NAME, template.name):
            raise ValueError(
                t("{place}: the name needs letters, digits, - or _, and ends in .yaml, .yml or .json", place=place)
            )
        if names.count(template.name) > 1:
            raise ValueError(t("{place}: there are two files of that name", place=place))
        if template.key and template.key not in flagged:
            raise ValueError(t("{place}, key: there is no field {key} with a flag", place=place, key=template.key))
        for key in (*template.when, *template.absent, *template.named()):
            if key not in known:
                raise ValueError(t("{place}: there is no field {key}", place=place, key=key))
        for path, leaf in template.leaves():
            _sound_leaf(f"{place}, {'.'.join(path)}", leaf, names)


def _sound_leaf(place: str, leaf: object, names: Collection[str]) -> None:
    if isinstance(leaf, list):
        if any(isinstance(item, (dict, list)) or (isinstance(item, str) and "{" in item) for item in leaf):
            raise ValueError(t("{place}: a list holds constants only; a field of type list gives one", place=place))
        return
    if not isinstance(leaf, (str, int, float)) or (isinstance(leaf, float) and not math.isfinite(leaf)):
        raise ValueError(t("{place}: a text, a number, true or false is needed", place=place))
    if not isinstance(leaf, str) or "{" not in leaf:
        return
    found = re.fullmatch(FILE, leaf)
    if found and found[1] not in names:
        raise ValueError(t("{place}: no file {name} is written", place=place, name=found[1]))
    if not found and "{" in PLACE.sub("", leaf):
        raise ValueError(t("{place}: {text} has a brace that names no field", place=place, text=repr(leaf[:100])))
