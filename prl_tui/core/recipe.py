"""What a recipe file says: the training program, its fields, its presets, its batch rule, its outputs.

A recipe is data (TOML). It is shape-checked here when it is read, and never changes afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from prl_tui import i18n

FieldType = Literal["int", "float", "str", "path", "bool", "choice", "list", "json", "gpus"]
Launcher = Literal["torchrun", "accelerate", "swift", "python"]
Group = Literal["batch", "generation", "model", "data", "schedule", "faults", "launch", "environment"]
BatchRule = Literal["grpo", "product", "global", "total", "minionerec-sft", "deepspeed", "none"]

GROUPS: tuple[Group, ...] = (
    "batch", "generation", "model", "data", "schedule", "faults", "launch", "environment",
)  # fmt: skip


class Text(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sentence in both languages; `str()` gives the one in force."""

    en: str
    zh: str = ""

    def __str__(self) -> str:
        return self.zh if self.zh and i18n.language() == "zh" else self.en


EMPTY = Text(en="")


class Field(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One setting of a recipe. It drives the form, the flag, the script and the docs."""

    key: str
    """The program's own name for it."""
    type: FieldType
    label: Text
    help: Text = EMPTY
    group: Group
    unit: Text = EMPTY
    default: Any = None
    """None: not passed unless somebody sets it."""
    template: bool = False
    """The default contains `{other_key}` and follows that field."""
    min: float | None = None
    max: float | None = None
    choices: tuple[str, ...] = ()
    flag: str = ""
    """The command-line flag that carries it."""
    env: str = ""
    """The environment variable that carries it."""
    variable: str = ""
    """The environment variable that overrides it in an exported script; by default PRL_ and the key."""
    glob: bool = False
    """A pattern that must match one file where the job runs."""
    words: tuple[str, str] = ("true", "false")
    """How the program writes yes and no."""
    required: bool = False
    advanced: bool = False
    """Shown only when somebody looks for it."""
    only_with: tuple[Launcher, ...] = ()
    """The flag exists only below these launchers; empty means all."""

    @property
    def override(self) -> str:
        """The environment variable that overrides this field in an exported script and with --use-env."""
        return self.variable or self.env or f"PRL_{self.key.upper()}"


class Preset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A named set of values for a recipe."""

    values: dict[str, Any]
    title: Text = EMPTY
    help: Text = EMPTY


class Program(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one launcher starts: a module, a script, or a sub-command of the launcher."""

    module: str = ""
    script: str = ""
    command: tuple[str, ...] = ()
    """The launcher's own sub-command, for example `rlhf` below `swift`."""


class Batch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which batch rule holds, and which fields play its parts."""

    rule: BatchRule = "none"
    fields: dict[str, str] = {}
    """Part → field key, where the program's name differs from the usual one."""
    rows: tuple[str, ...] = ()
    """Fields that name the files of the training data, whose rows set the length of a run."""
    evaluator: str = ""
    """The field that says how many answers a second model gives to score one completion."""


class Anchor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A console line that tells how far a run is."""

    key: str
    """A phase (ranks, arguments, model, dataset, ready, done) or `checkpoint`."""
    pattern: str
    """A regular expression; named groups become facts: metrics_path, checkpoint, world_size."""


class Outputs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a run of the recipe leaves behind and how its log looks."""

    anchors: tuple[Anchor, ...] = ()
    """Empty: ms-swift's own."""
    bars: tuple[str, ...] = ()
    """Descriptions of the training's progress bar; empty: the usual ones."""
    curves: tuple[str, ...] = ("loss",)
    """Metrics worth a chart, the first ones first."""


class RecipeFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The shape of one recipe file."""

    schema: Literal[1]
    name: str
    title: Text
    help: Text = EMPTY
    stack: str = ""
    launcher: Launcher = "torchrun"
    program: dict[Launcher, Program]
    arguments: tuple[str, ...] = ()
    """Fixed arguments, before every flag."""
    shared: tuple[str, ...] = ("launch",)
    """Files of shared fields (`_NAME.toml`) that the recipe takes in."""
    defaults: dict[str, Any] = {}
    """Defaults of shared fields, where the recipe has its own."""
    field: tuple[Field, ...] = ()
    batch: Batch = Batch()
    needs_gpu: bool = True
    """Each process needs a GPU of its own."""
    outputs: Outputs = Outputs()
    presets: dict[str, Preset] = {}
    default_preset: str = ""


class SharedFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The shape of a file of shared fields."""

    schema: Literal[1]
    field: tuple[Field, ...]


class PresetFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The shape of a person's own presets for a recipe that exists already."""

    schema: Literal[1]
    extends: str
    presets: dict[str, Preset]


class Recipe:
    """A training program that the tool knows: the file's data with its shared fields resolved."""

    __slots__ = ("baselines", "by_key", "data", "fields", "origin", "presets")

    def __init__(self, data: RecipeFile, fields: tuple[Field, ...], presets: Mapping[str, Preset], origin: str) -> None:
        self.data = data
        self.fields = fields
        self.presets = dict(presets)
        self.origin = origin
        self.by_key: dict[str, Field] = {field.key: field for field in fields}
        self.baselines: dict[str, Any] = {}
        """Preset → its run config, made once (`config.resolve`)."""

    @property
    def name(self) -> str:
        """The recipe's name, as in `prl-grpo/standard-4gpu`."""
        return self.data.name

    def part(self, name: str) -> str:
        """The field key that plays a part of the batch rule, such as `per_device_train_batch_size`."""
        return self.data.batch.fields.get(name, name)

    def with_presets(self, extra: Mapping[str, Preset]) -> Recipe:
        """The same recipe with more presets behind its own."""
        return Recipe(self.data, self.fields, {**self.presets, **extra}, self.origin)


def build(data: RecipeFile, shared: Mapping[str, SharedFile], origin: str) -> Recipe:
    """The recipe with its shared fields and their defaults; ValueError names a key that does not fit."""
    fields = list(data.field)
    own = {field.key for field in fields}
    for name in data.shared:
        if name not in shared:
            raise ValueError(f"shared: there is no file of shared fields named {name}")
        fields += [field for field in shared[name].field if field.key not in own]
    known = {field.key for field in fields}
    if len(known) != len(fields):
        twice = sorted({f.key for f in fields if sum(g.key == f.key for g in fields) > 1})
        raise ValueError(f"field: {', '.join(twice)} is declared twice")
    for key in data.defaults:
        if key not in known:
            raise ValueError(f"defaults.{key}: there is no such field")
    for preset_name, preset in data.presets.items():
        for key in preset.values:
            if key not in known:
                raise ValueError(f"presets.{preset_name}.values.{key}: there is no such field")
    fields = [
        msgspec.structs.replace(field, default=data.defaults[field.key]) if field.key in data.defaults else field
        for field in fields
    ]
    fields.sort(key=lambda field: GROUPS.index(field.group))
    return Recipe(data, tuple(fields), data.presets, origin)
