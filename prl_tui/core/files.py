"""Files of a launch plan, made from a config's fields: texts with holes, so that an exported script can fill them again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from prl_tui.core import scalars, wordlist
from prl_tui.core.config import RunConfig, fill
from prl_tui.core.recipe import Field, Recipe
from prl_tui.core.templates import FILE, PLACE, Template
from prl_tui.core.value import Value

Kind = Literal["text", "number", "bool", "list", "json", "file"]
LAUNCH = frozenset({"nproc_per_node", "nnodes", "node_rank", "master_addr", "master_port", "workdir", "training_env",
                    "conda_hook", "launcher", "stack", "cuda_visible_devices"})  # fmt: skip
"""Fields that the launch itself carries."""


class Hole(Value):
    """A place in a file's text."""

    kind: Kind
    template: str
    """What fills it: `{field}`, a text with fields in it, or the name of another file."""
    scalar: str = ""
    """The value as it stands in the file now; for another file its path decides."""


Piece = str | Hole


class Written(Value):
    """One file that the plan writes before it starts."""

    name: str
    key: str
    """The field that names it on the command line, or ""."""
    pieces: tuple[Piece, ...]

    def text(self, folder: str) -> str:
        """The file as it stands in `folder`, where the plan's other files are too."""
        return "".join(piece if isinstance(piece, str) else _filled(piece, folder) for piece in self.pieces)

    @property
    def holes(self) -> tuple[Hole, ...]:
        """The places, in order."""
        return tuple(piece for piece in self.pieces if isinstance(piece, Hole))


def _filled(hole: Hole, folder: str) -> str:
    return scalars.text(f"{folder}/{hole.template}") if hole.kind == "file" else hole.scalar


def is_written(template: Template, config: RunConfig) -> bool:
    """Whether the plan writes the file, rather than the person's own being used."""
    return all(config.value(key) == value for key, value in template.when.items())


def written(config: RunConfig) -> tuple[Written, ...]:
    """The files of a config's plan. A field that is not set leaves its line out, and an empty mapping too."""
    templates = [template for template in config.recipe.data.write if is_written(template, config)]
    found = []
    for template in templates:
        tree = _tree(config, template.content)
        pieces = _json(tree, "") if template.is_json else _yaml(tree, "")
        found.append(Written(template.name, template.key, _joined([*pieces, "\n"] if template.is_json else pieces)))
    return tuple(found)


def replaced(config: RunConfig) -> frozenset[str]:
    """Fields that name a file which the plan writes: its own path goes in their place."""
    return frozenset(one.key for one in config.recipe.data.write if one.key and is_written(one, config))


def carried(recipe: Recipe) -> frozenset[str]:
    """Fields that reach the program through a file alone."""
    named = {key for template in recipe.data.write for key in template.named()}
    return frozenset(
        key
        for key in named - LAUNCH
        if not (recipe.by_key[key].flag or recipe.by_key[key].bare or recipe.by_key[key].env)
    )


def idle(config: RunConfig) -> frozenset[str]:
    """Fields of `carried` that reach nothing now: their file is the person's own."""
    used = {key for template in config.recipe.data.write if is_written(template, config) for key in template.named()}
    return carried(config.recipe) - used


Tree = dict[str, "Tree | list[Piece]"]


def _tree(config: RunConfig, table: Mapping[str, Any]) -> Tree:
    found: Tree = {}
    for key, leaf in table.items():
        node = _tree(config, leaf) if isinstance(leaf, dict) else _leaf(config, leaf)
        if node:
            found[key] = node
    return found


def _leaf(config: RunConfig, leaf: object) -> list[Piece]:
    if not isinstance(leaf, str) or "{" not in leaf:
        return [scalars.constant(leaf)]
    other = re.fullmatch(FILE, leaf)
    if other:
        return [Hole("file", other[1])]
    alone = PLACE.fullmatch(leaf)
    if not alone:
        return [Hole("text", leaf, scalars.text(fill(leaf, config)))]
    field = config.recipe.by_key[alone[1]]
    value = config.value(field.key)
    if value is None:
        return []
    kind = kind_of(field)
    return [Hole(kind, leaf, _scalar(config, field, kind, value))]


def kind_of(field: Field) -> Kind:
    """The form that a field's value takes in a file."""
    kinds: dict[str, Kind] = {"int": "number", "float": "number", "bool": "bool", "json": "json"}
    kinds |= dict.fromkeys(wordlist.TYPES, "list")
    return kinds.get(field.type, "text")


def _scalar(config: RunConfig, field: Field, kind: Kind, value: Any) -> str:
    if kind == "number":
        return scalars.number(config.text(field.key))
    if kind == "bool":
        return scalars.boolean(value)
    if kind == "list":
        return scalars.sequence(value)
    if kind == "json":
        return scalars.constant(json.loads(value))
    return scalars.text(config.text(field.key))


def _yaml(tree: Tree, indent: str) -> Iterator[Piece]:
    for key, node in tree.items():
        if isinstance(node, dict):
            yield f"{indent}{scalars.key(key)}:\n"
            yield from _yaml(node, indent + "  ")
        else:
            yield from (f"{indent}{scalars.key(key)}: ", *node, "\n")


def _json(tree: Tree, indent: str) -> Iterator[Piece]:
    inner, mark = indent + "  ", "{"
    for key, node in tree.items():
        yield f"{mark}\n{inner}{scalars.text(key)}: "
        yield from _json(node, inner) if isinstance(node, dict) else node
        mark = ","
    yield f"\n{indent}}}" if tree else "{}"


def _joined(pieces: Any) -> tuple[Piece, ...]:
    """Neighbouring texts as one."""
    found: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, str) and found and isinstance(found[-1], str):
            found[-1] += piece
        else:
            found.append(piece)
    return tuple(found)
