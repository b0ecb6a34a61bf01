"""What a recipe file says: the training program, its fields, its presets, its batch rule, its outputs.

A recipe is data (TOML). It is shape-checked here when it is read, and never changes afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from prl_tui import i18n
from prl_tui.core.templates import Template
from prl_tui.core.value import Value, replace

FieldType = Literal["int", "float", "str", "path", "bool", "choice", "list", "json", "gpus", "arguments", "variables"]
Launcher = Literal["torchrun", "accelerate", "swift", "python"]
Group = Literal["batch", "generation", "model", "data", "schedule", "faults", "launch", "environment"]
BatchRule = Literal[
    "grpo", "product", "global", "total", "minionerec-sft", "mmdpo-rm", "mmdpo-dpo", "deepspeed", "none"
]

GROUPS: tuple[Group, ...] = (
    "batch", "generation", "model", "data", "schedule", "faults", "launch", "environment",
)  # fmt: skip


class Text(Value):
    """A sentence in both languages; `str()` gives the one in force."""

    en: str
    zh: str = ""
    one: str = ""
    """A unit's English word for a single one."""

    def __str__(self) -> str:
        return self.zh if self.zh and i18n.language() == "zh" else self.en

    def counted(self, number: str) -> str:
        """A unit behind that number: `step` behind 1, else `steps`."""
        return self.one if self.one and number == "1" and i18n.language() == "en" else str(self)


EMPTY = Text(en="")


class Field(Value, kw_only=True):
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
    unset: int | None = None
    """The number that the program takes where it is not given one; None: unknown, or the rules do not read it."""
    template: bool = False
    """The default contains `{other_key}` and follows that field."""
    min: float | None = None
    max: float | None = None
    worked: float | None = None
    """The greatest value that is known to work, as the help says; a greater one is a warning."""
    multiple: int = 1
    """A whole number must be a multiple of it."""
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
    step_time: bool | None = None
    """A change of it changes how long a step takes; None: as in its group, where all but `schedule` do."""
    required: bool = False
    advanced: bool = False
    """Shown only when somebody looks for it."""
    before: bool = False
    """The flag is the launcher's own and stands before the program."""
    bare: bool = False
    """Its words stand in the command without a flag."""
    only_with: tuple[Launcher, ...] = ()
    """The flag exists only below these launchers; empty means all."""

    @property
    def changes_step_time(self) -> bool:
        """The pace of a run with another value of it is not this one's."""
        return self.group != "schedule" if self.step_time is None else self.step_time

    @property
    def override(self) -> str:
        """The environment variable that overrides this field in an exported script and with --use-env."""
        return self.variable or self.env or f"PRL_{self.key.upper()}"


class Preset(Value):
    """A named set of values for a recipe."""

    values: dict[str, Any]
    title: Text = EMPTY
    help: Text = EMPTY


class Program(Value):
    """What one launcher starts: a module, a script, or a sub-command of the launcher. `{key}`: what a field says.

    Where both are given by fields, the module counts when it is set, and else the script.
    """

    module: str = ""
    script: str = ""
    command: tuple[str, ...] = ()
    """The launcher's own sub-command, for example `rlhf` below `swift`."""


class Batch(Value):
    """Which batch rule holds, and which fields play its parts."""

    rule: BatchRule = "none"
    fields: dict[str, str] = {}
    """Part → field key, where the program's name differs from the usual one."""
    rows: tuple[str, ...] = ()
    """Fields that name the files of the training data, whose rows set the length of a run."""
    validation: tuple[str, ...] = ()
    """Fields that name the files of the validation data."""
    evaluator: str = ""
    """The field that says how many answers a second model gives to score one completion."""


class Need(Value, kw_only=True):
    """What the program asks of one field because of others: it stops, or does something else, where that is not given."""

    where: dict[str, str]
    """Field → the text of its value with which this holds, `*` for any; all of them together."""
    field: str
    """The field that must be set then."""
    values: tuple[str, ...] = ()
    """The values that it must have, the first one being offered; empty: any."""
    instead: tuple[str, ...] = ()
    """Fields of which one does as well."""
    positive: bool = False
    """The field is a whole number that counts as set only above 0."""
    unset: bool = False
    """The other way round: the field must not be set."""
    why: Text
    """What happens otherwise, and where that is known from."""
    severity: Literal["error", "warning"] = "error"
    code: str = "needed"
    """The finding's code."""


class Anchor(Value):
    """A console line that tells how far a run is."""

    key: str
    """A phase (ranks, arguments, model, dataset, ready, done) or `checkpoint`."""
    pattern: str
    """A regular expression; named groups become facts: metrics_path, checkpoint, world_size."""


class Outputs(Value):
    """What a run of the recipe leaves behind and how its log looks."""

    anchors: tuple[Anchor, ...] = ()
    """Empty: ms-swift's own."""
    bars: tuple[str, ...] = ()
    """Descriptions of the training's progress bar; empty: the usual ones."""
    curves: tuple[str, ...] = ("loss", "reward", "rewards/accuracies", "token_acc", "kl", "grad_norm")
    """Metrics worth a chart, the first ones first."""
    metric_lines: tuple[str, ...] = ()
    """Patterns of metrics that the program writes as plain lines (`telemetry.console.ConsoleFormat`)."""
    failures: tuple[str, ...] = ()
    """Patterns of lines that tell of a failure from which the program goes on, and ends with 0."""


class Smoke(Value):
    """The fields that make a run short, so that a few steps show whether it works. Without any it is watched and stopped."""

    steps: str = ""
    """The field that ends a run after this many optimizer steps."""
    epochs: str = ""
    """The field with the passes over the data, where the program takes a share of one."""
    rows: tuple[str, ...] = ()
    """For `epochs`: fields that name data with at most the rows of an epoch, where `batch.rows` has none."""
    cut: tuple[str, ...] = ()
    """Fields that name data of one record a line, which a smoke test cuts to the first ones."""
    log_every: int = 1
    """Micro-batches between two logged lines, where no field sets it."""
    by_epoch: bool = False
    """The log counts passes over the data, not steps."""
    log: str = ""
    """The field with the steps between two logged lines."""
    evaluate: str = ""
    """The field with the steps between two evaluations."""
    save: str = ""
    """The field with the steps between two checkpoints."""
    resume: str = ""
    """The field that names a checkpoint to go on from: a smoke test begins anew, since its steps count from 0."""
    saves_in: str = ""
    """The field that names the folder of `checkpoint-N`, for a program whose log does not name its checkpoints."""
    always_evaluates: bool = False
    """The program evaluates without being asked to."""
    evaluated: str = ""
    """The metric of a training row that an evaluation gives, for a program without rows of its own for that."""
    values: dict[str, Any] = {}
    """Other fields that saving by steps needs, such as `save_strategy = "steps"`."""
    evaluating: dict[str, Any] = {}
    """Other fields that evaluating by steps needs."""
    arguments: str = ""
    """The field of free arguments that get those of `words` too."""
    words: str = ""
    """The field with the arguments that a person gives for a smoke test; `{steps}` in them is its number of steps."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Every field that it names."""
        named = (
            self.steps, self.epochs, self.log, self.evaluate, self.save, self.resume, self.saves_in, self.arguments, self.words,
        )  # fmt: skip
        return tuple(key for key in (*named, *self.rows, *self.cut, *self.values, *self.evaluating) if key)


class RecipeFile(Value, kw_only=True):
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
    files: tuple[str, ...] = ()
    """Files that must be there when a run starts, with `{field}` for what a field says."""
    reasons: dict[str, Text] = {}
    """An entry of `files` → why the program needs it, where its field says something else."""
    needs: tuple[Need, ...] = ()
    """Fields that need each other, and values that the program fails with."""
    hub: tuple[str, ...] = ()
    """Fields that take a name on a hub or a path: what is plainly a path must be there when a run starts."""
    write: tuple[Template, ...] = ()
    """Files that the plan writes from the fields."""
    versions: dict[str, str] = {}
    """Package → the versions whose flags the recipe speaks, such as `>=4.0` or `<3.5`."""
    needs_gpu: bool = True
    """Each process needs a GPU of its own."""
    cpu: str = ""
    """The yes-or-no field that makes a run one without GPUs."""
    outputs: Outputs = Outputs()
    smoke: Smoke = Smoke()
    presets: dict[str, Preset] = {}
    default_preset: str = ""


class SharedFile(Value, kw_only=True):
    """The shape of a file of shared fields."""

    schema: Literal[1]
    field: tuple[Field, ...]


class PresetFile(Value, kw_only=True):
    """The shape of a person's own presets for a recipe that exists already."""

    schema: Literal[1]
    extends: str
    presets: dict[str, Preset]


class Recipe:
    """A training program that the tool knows: the file's data with its shared fields resolved."""

    __slots__ = (
        "baselines",
        "by_key",
        "data",
        "fields",
        "origin",
        "parts",
        "places",
        "presets",
        "templated",
        "types",
        "variables",
    )

    def __init__(
        self,
        data: RecipeFile,
        fields: tuple[Field, ...],
        presets: Mapping[str, Preset],
        origin: str,
        places: Mapping[str, str] | None = None,
    ) -> None:
        self.data = data
        self.fields = fields
        self.presets = dict(presets)
        self.origin = origin
        """The person's file that it is from; "" for a built-in one."""
        self.places = dict(places or {})
        """Preset → the file of the person's own that it is from; none for one of the recipe's own file."""
        self.by_key: dict[str, Field] = {field.key: field for field in fields}
        self.templated = frozenset(field.key for field in fields if field.template)
        """Fields whose default names other fields."""
        self.types = frozenset(field.type for field in fields)
        self.variables = frozenset(field.env for field in fields)
        self.baselines: dict[str, Any] = {}
        """Preset → its run config, made once (`config.resolve`)."""
        self.parts: dict[str, str] = {}
        """Part of the batch rule → the field that plays it, found once (`assess.case`)."""

    @property
    def name(self) -> str:
        """The recipe's name, as in `prl-grpo/standard-4gpu`."""
        return self.data.name

    def part(self, name: str) -> str:
        """The field key that plays a part of the batch rule, such as `per_device_train_batch_size`."""
        return self.data.batch.fields.get(name, name)

    def with_presets(self, extra: Mapping[str, Preset], place: str) -> Recipe:
        """The same recipe with more presets behind its own, those of the file `place`."""
        places = {**self.places, **dict.fromkeys(extra, place)}
        return Recipe(self.data, self.fields, {**self.presets, **extra}, self.origin, places)

    def place_of(self, preset: str) -> str:
        """The person's own file that a preset is from; "" for a built-in one, and where there is none of that name."""
        return self.places.get(preset, self.origin) if preset in self.presets else ""

    def on_stack(self, stack: str) -> Recipe:
        """The same recipe for another generation of its engine."""
        return Recipe(replace(self.data, stack=stack), self.fields, self.presets, self.origin, self.places)


def build(data: RecipeFile, shared: Mapping[str, SharedFile], origin: str, *, checked: bool = False) -> Recipe:
    """The recipe with its shared fields and their defaults; ValueError names a key that does not fit.

    `checked`: it was built from the very same file before, so names and patterns are known to be sound.
    """
    fields = list(data.field)
    own = {field.key for field in fields}
    fields += [f for name in data.shared if name in shared for f in shared[name].field if f.key not in own]
    if not checked:
        from prl_tui.core import sound

        sound.recipe(data, fields, shared)
    fields = [
        replace(field, default=data.defaults[field.key]) if field.key in data.defaults else field for field in fields
    ]
    fields.sort(key=lambda field: GROUPS.index(field.group))
    return Recipe(data, tuple(fields), data.presets, origin)


def readable(outputs: Outputs) -> None:
    """Every pattern compiles, so that a run's log can be read with it; ValueError names the one that does not."""
    patterns = {f"outputs.anchors.{anchor.key}": anchor.pattern for anchor in outputs.anchors}
    patterns.update({f"outputs.metric_lines.{n}": text for n, text in enumerate(outputs.metric_lines)})
    patterns.update({f"outputs.failures.{n}": text for n, text in enumerate(outputs.failures)})
    for place, pattern in patterns.items():
        try:
            re.compile(pattern)
            re.compile(pattern.encode())
        except re.error as error:
            told = i18n.t("{place}: {text} is not a regular expression: {reason}",
                     place=place, text=repr(pattern[:100]), reason=error)  # fmt: skip
            raise ValueError(told) from None
