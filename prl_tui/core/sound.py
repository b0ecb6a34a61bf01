"""Whether a recipe's names, types and bounds fit together. A built-in that was found sound before costs nothing of this.

Everything here raises ValueError with one sentence without its full stop: the place in the file, what is wrong there,
and what would work. What it lets pass never ends a command later: neither a check, nor an export, nor a launch.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping

from prl_tui.core import stacks, templates, values
from prl_tui.core.assess import PARTS
from prl_tui.core.config import nearest
from prl_tui.core.recipe import Field, FieldType, RecipeFile, SharedFile, readable
from prl_tui.core.templates import PLACE
from prl_tui.core.value import replace
from prl_tui.i18n import t
from prl_tui.lists import listed

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*", re.ASCII)
_NAME = re.compile(r"\w[\w.-]{0,99}")
MOST = 10**15
"""A bound's greatest size: beyond it neither the form nor a script reads a whole number."""

_TEXTS: tuple[FieldType, ...] = ("str", "path", "choice", "gpus")
_NUMBERS: tuple[FieldType, ...] = ("int", "float")
_TYPES: dict[str, tuple[FieldType, ...]] = {
    **dict.fromkeys(("nproc_per_node", "nnodes", "node_rank", "master_port"), ("int",)),
    **dict.fromkeys(("master_addr", "workdir", "training_env", "conda_hook", "launcher", "stack"), _TEXTS),
    "cuda_visible_devices": ("gpus", "str", "path", "choice"),
}
"""Fields that every recipe's launch reads, by their key, and the types that it can read."""
_FLAGS = ("use_vllm", "use_lmdeploy", "async_generate")
_OTHERS = (
    *_TYPES,
    *_FLAGS,
    "eval_strategy",
    "save_strategy",
    "val_dataset",
    "split_dataset_ratio",
    "deepspeed",
    "vllm_mode",
)
"""Parts of a batch rule that are no counts."""


class NamesError(ValueError):
    """Names that stand for nothing in the file: `reasons` has a sentence for each, without its full stop."""

    def __init__(self, reasons: list[str]) -> None:
        super().__init__(reasons[0])
        self.reasons = tuple(reasons)


def recipe(data: RecipeFile, fields: Collection[Field], shared: Mapping[str, SharedFile]) -> None:
    """ValueError names the first thing that does not fit. `fields` are the file's own and the shared ones."""
    if not _NAME.fullmatch(data.name):
        raise ValueError(
            t("name: {name} is not a name of letters, digits, - and _ that begins with a letter or a digit; my-training "
              "would work", name=repr(data.name[:100]))
        )  # fmt: skip
    for name in data.shared:
        if name not in shared:
            raise ValueError(_unknown("shared", name, sorted(shared)))
    keys = [field.key for field in fields]
    twice = sorted({key for key in keys if keys.count(key) > 1})
    if twice:
        raise ValueError(t("field: {keys} is declared twice", keys=listed(twice)))
    _named(data, keys)
    _names(fields)
    for field in fields:
        _field(field, data, keys)
    _read_by_rules(data, {field.key: field for field in fields})
    templates.sound(data.write, [field.key for field in fields if field.flag], set(keys))
    readable(data.outputs)


def _unknown(place: str, name: str, known: Collection[str]) -> str:
    near, name = nearest(name, list(known)), values.cut(name)
    if near:
        return t("{place}: there is no {name}; did you mean {near}?", place=place, name=name, near=near)
    if 0 < len(known) <= 30:
        return t("{place}: there is no {name}; there are {known}", place=place, name=name, known=listed(known))
    return t("{place}: there is no {name}", place=place, name=name)


def no_field(place: str, name: str, keys: Collection[str]) -> str:
    """One sentence without its full stop: no field of that name, and the nearest one."""
    near, name = nearest(name, list(keys)), values.cut(name)
    if near:
        return t("{place}: there is no such field as {name}; did you mean {near}?", place=place, name=name, near=near)
    return t("{place}: there is no such field as {name}", place=place, name=name)


def _named(data: RecipeFile, keys: Collection[str]) -> None:
    """Every name that stands for something else in the file names something that is there."""
    strange = [no_field(place, key, keys) for place, key in _fields_named(data) if key not in keys]
    strange += [_unknown("batch.fields", part, PARTS) for part in data.batch.fields if part not in PARTS]
    if strange:
        raise NamesError(strange)
    if data.stack and data.stack not in stacks.STACKS:
        raise ValueError(t("stack: {reason}", reason=stacks.unknown(data.stack)))
    if data.launcher not in data.program:
        works = next(iter(data.program), "")
        raise ValueError(
            t('launcher: there is no table [program.{name}]; launcher = "{works}" would work',
              name=data.launcher, works=works)
            if works else t("launcher: the table [program.{name}] is missing", name=data.launcher)
        )  # fmt: skip
    if data.default_preset and data.default_preset not in data.presets:
        raise ValueError(_unknown("default_preset", data.default_preset, list(data.presets)))
    for entry in data.reasons:
        if entry not in data.files:
            raise ValueError(_unknown("reasons", entry, data.files))
    for name in data.presets:
        if not name.strip():
            raise ValueError(
                t("presets: {name} cannot be a preset's name; my-preset would work", name=repr(name[:100]))
            )


def _fields_named(data: RecipeFile) -> Iterator[tuple[str, str]]:
    """Each place that names a field, and the name."""
    for key in data.defaults:
        yield f"defaults.{values.cut(key)}", key
    for name, preset in data.presets.items():
        for key in preset.values:
            yield f"presets.{values.cut(name)}.values.{values.cut(key)}", key
    for place, key in (("cpu", data.cpu), ("batch.evaluator", data.batch.evaluator)):
        if key:
            yield place, key
    for n, need in enumerate(data.needs):
        yield from ((f"needs[{n}]", key) for key in (need.field, *need.instead, *need.where))
    for part, key in data.batch.fields.items():
        yield f"batch.fields.{values.cut(part)}", key
    for place, named in (
        ("smoke", data.smoke.keys),
        ("hub", data.hub),
        ("batch.rows", data.batch.rows),
        ("batch.validation", data.batch.validation),
    ):
        yield from ((place, key) for key in named)
    yield from _filled(data)


def _filled(data: RecipeFile) -> Iterator[tuple[str, str]]:
    """The same for places in texts that fields fill."""
    texts = [("files", text) for text in data.files]
    for launcher, program in data.program.items():
        texts += [(f"program.{launcher}.module", program.module), (f"program.{launcher}.script", program.script)]
    for place, text in texts:
        yield from ((place, key) for key in PLACE.findall(text))


def _names(fields: Collection[Field]) -> None:
    """Names become shell variables and words of a command line, so they must be nothing else."""
    followers = {field.key for field in fields if field.template}
    seen: dict[str, str] = {}
    for field in fields:
        if not _KEY.fullmatch(field.key):
            raise ValueError(t("field: key {key} is not a name of letters, digits, - and _", key=repr(field.key[:100])))
        for variable in (field.override, field.env or "_"):
            if not _VARIABLE.fullmatch(variable):
                raise ValueError(
                    t("field {key}: {name} is not the name of an environment variable",
                      key=field.key, name=repr(variable[:100]))
                )  # fmt: skip
        for taken in (field.override, "v_" + re.sub(r"\W", "_", field.key)):
            if seen.setdefault(taken, field.key) != field.key:
                raise ValueError(t("field {key}: shares its variable with {other}", key=field.key, other=seen[taken]))
        if followers.intersection(_followed(field)):
            raise ValueError(t("field {key}, default: a template cannot follow another template", key=field.key))


def _followed(field: Field) -> list[str]:
    return PLACE.findall(field.default) if field.template and isinstance(field.default, str) else []


def _place(field: Field, name: str) -> str:
    """Where a sentence about a field's key `name` begins."""
    return t("field {key}, {name}", key=field.key, name=name)


def _field(field: Field, data: RecipeFile, keys: Collection[str]) -> None:
    """Bounds that a script can compare, choices that exist, and a default that is one of the field's values."""
    for name, bound in (("min", field.min), ("max", field.max)):
        if bound is None:
            continue
        place = _place(field, name)
        if field.type not in _NUMBERS:
            raise ValueError(t("{place}: only int and float have bounds; leave it out", place=place))
        if not math.isfinite(bound):
            raise ValueError(t("{place}: a finite number is needed; leave it out for none", place=place))
        if field.type == "int" and (not float(bound).is_integer() or abs(bound) >= MOST):
            works = round(max(-MOST + 1, min(MOST - 1, bound)))
            raise ValueError(
                t(
                    "{place}: a whole number of at most 15 digits is needed; {works} would work",
                    place=place,
                    works=works,
                )
            )
    if field.min is not None and field.max is not None and field.min > field.max:
        raise ValueError(t("field {key}, min: it is more than max; no value would work", key=field.key))
    if field.multiple != 1 and (field.type != "int" or not 1 <= field.multiple < MOST):
        raise ValueError(t("field {key}, multiple: only int has it, from 1 on; leave it out", key=field.key))
    _known(field)
    if field.type == "choice" and not field.choices:
        raise ValueError(
            t('field {key}, choices: at least one is needed; choices = ["a", "b"] would work', key=field.key)
        )
    default = data.defaults.get(field.key, field.default)
    if field.template and isinstance(default, str):
        for key in PLACE.findall(default):
            if key not in keys:
                raise ValueError(no_field(_place(field, "default"), key, keys))
        return
    _, problem = values.parse(replace(field, default=None), default) if default != "" else (None, "")
    if problem:
        raise ValueError(t("default: {problem}", problem=problem.rstrip(".。")))


def _known(field: Field) -> None:
    """What the program takes by itself, and what is known to work, are values of the field."""
    for name, value in (("unset", field.unset), ("worked", field.worked)):
        if value is None:
            continue
        place = _place(field, name)
        if field.type not in _NUMBERS:
            raise ValueError(t("{place}: only int and float have it; leave it out", place=place))
        if not math.isfinite(value) or (field.type == "int" and not float(value).is_integer()):
            problem = t("{value} is not a whole number", value=value)
        else:
            problem = values.parse(replace(field, default=None), int(value) if field.type == "int" else value)[1]
        if problem:
            raise ValueError(t("{place}: {words}", place=place, words=problem.rstrip(".。")))


def _read_by_rules(data: RecipeFile, by_key: Mapping[str, Field]) -> None:
    """The types of the fields that the program itself reads."""
    wanted = dict(_TYPES)
    if data.batch.rule != "none":
        for part in PARTS:
            if part not in _OTHERS:
                wanted[data.batch.fields.get(part, part)] = ("int",)
        wanted |= dict.fromkeys(_FLAGS, ("bool",))
        wanted["split_dataset_ratio"] = _NUMBERS
    if data.cpu:
        wanted[data.cpu] = ("bool",)
    for key, types in wanted.items():
        field = by_key.get(key)
        if field is not None and field.type not in types:
            raise ValueError(
                t("field {key}, type: {type} cannot be read there; {works} would work",
                  key=key, type=field.type, works=types[0])
            )  # fmt: skip
    for name, known in (("stack", stacks.STACKS), ("launcher", data.program)):
        for choice in by_key[name].choices if name in by_key else ():
            if choice not in known:
                raise ValueError(_unknown(_place(by_key[name], "choices"), choice, list(known)))
