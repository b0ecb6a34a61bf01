"""From a run config to the figures of its rules and what they violate. Quick: fixes are found by trying it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prl_tui.core import batch as batches
from prl_tui.core import devices, layout, stacks, strategies
from prl_tui.core.batch import Batch, Numbers, Violation
from prl_tui.core.config import RunConfig, template_keys
from prl_tui.core.devices import Devices
from prl_tui.core.recipe import Recipe
from prl_tui.core.stacks import Stack
from prl_tui.core.value import Value, replace

PARTS = (
    "nproc_per_node", "nnodes", "node_rank", "master_addr", "fail_rank", "hang_rank",
    "per_device_train_batch_size", "gradient_accumulation_steps", "num_generations",
    "num_generations_eval", "steps_per_generation", "generation_batch_size", "per_device_eval_batch_size",
    "global_batch_size", "batch_size", "micro_batch_size", "train_batch_size", "sequence_parallel_size",
    "eval_strategy", "save_strategy", "val_dataset", "split_dataset_ratio", "cuda_visible_devices",
    "num_infer_workers", "use_vllm", "vllm_mode", "use_lmdeploy", "deepspeed",
    "vllm_tensor_parallel_size", "tensor_parallel_size", "async_generate",
)  # fmt: skip


DEVICES = "cuda_visible_devices"

RANKS = ("fail_rank", "hang_rank")
"""Parts that name one process among those of all nodes, from 0."""


COUNTS = frozenset(
    {"nnodes", "gradient_accumulation_steps", "steps_per_generation", "generation_batch_size", "sequence_parallel_size"}
)
"""Parts in whose place the rules take a number of their own where they are not set."""
TOTALS = frozenset({"global_batch_size", "batch_size", "train_batch_size"})
"""Parts that hold a batch for all processes together."""
ABOUT_ONE = frozenset({"num-generations-min", "steps-per-generation-positive"})
"""Rules that say of one value alone why it is wrong."""
EVALUATION = frozenset({"eval_strategy", "save_strategy", "val_dataset", "split_dataset_ratio", "num_generations_eval"})
"""Parts that say whether and how there is an evaluation."""
_ROLLOUT = frozenset({"use_vllm", "use_lmdeploy", "async_generate", "deepspeed"})


class Assessment(Value):
    """The figures of a config."""

    numbers: Numbers
    devices: Devices
    batch: Batch
    violations: tuple[Violation, ...]

    @property
    def errors(self) -> int:
        """How many rules are broken outright."""
        return sum(violation.severity == "error" for violation in self.violations)


class Case(Value):
    """A config reduced to the values that the rules read, so that a change can be tried in microseconds."""

    rule: str
    stack: Stack
    values: Mapping[str, Any]
    """Part → value."""
    node_gpus: int | None = None
    node_uuids: tuple[str, ...] | None = None
    around: str | None = None
    """The list of GPUs around the launch, which the job keeps while the config has none of its own."""
    gpu_order: tuple[int, ...] | None = None
    """The node's GPUs in the order in which a list of them is offered; None for the first ones."""
    needs_gpu: bool = False
    on_cpu: bool = False
    """The person said to do without GPUs, where each process would need one."""
    swift: bool = False
    train_part: str = ""
    """The part that holds a batch for all processes together."""
    followers: Mapping[str, str] = {}
    """Part → the part whose value it takes while nobody sets it."""
    fixed: frozenset[str] = frozenset()
    """Parts that no field can change: their value stands in a file of the person's."""
    unread: frozenset[str] = frozenset()
    """Parts whose value cannot be read: they are not the same as those that nobody set."""
    wrong: frozenset[str] = frozenset()
    """Parts whose value can be read and is none that the field takes: ways out are sought from it, nothing is said of it."""

    def with_values(self, changes: Mapping[str, Any]) -> Case:
        """The case with some parts changed, and those that follow them."""
        values = {**self.values, **changes}
        for part, source in self.followers.items():
            if source in changes and part not in changes:
                values[part] = changes[source]
        left = {"unread": self.unread.difference(changes), "wrong": self.wrong.difference(changes)}
        return replace(self, values=values, **left)

    def keeps(self, spec: object) -> bool:
        """Whether the job keeps the list around it, where `spec` is the config's own."""
        return self.around is not None and spec is None and DEVICES not in self.unread

    def seen(self, spec: object) -> Devices:
        """What the ranks see with `spec` as the config's own list."""
        given = self.around if self.keeps(spec) else spec if isinstance(spec, str) else None
        return devices.read(given, self.node_gpus, self.node_uuids)

    def may_list(self, spec: object) -> bool:
        """Whether a list may be offered: it names none but the GPUs that may be."""
        return self.gpu_order is None or spec is None or set(devices.read(str(spec)).entries) <= set(self.gpu_order)

    def on_any_box(self) -> Case:
        """The case by its fields alone: without what is known of a node and of the data."""
        values = {**self.values, **dict.fromkeys(("rows", "val_rows"))}
        return replace(self, node_gpus=None, node_uuids=None, around=None, values=values)


def case(
    config: RunConfig,
    stack: Stack,
    node_gpus: int | None,
    rows: int | None = None,
    val_rows: int | None = None,
    fixed: frozenset[str] = frozenset(),
    node_uuids: tuple[str, ...] | None = None,
) -> Case:
    """What the rules read of a config. `fixed` are fields that cannot be changed now."""
    recipe = config.recipe
    keys = recipe.parts or _parts(recipe)
    found: dict[str, Any] = {}
    unread: set[str] = set()
    wrong: set[str] = set()
    for part, key in keys.items():
        value = config.value(key)
        if config.wrong(key):
            (unread if value is None else wrong).add(part)
        elif value is None:
            value = recipe.by_key[key].unset  # what the program takes where nobody gives it one
        found[part] = value
    parts = {key: part for part, key in keys.items()}
    followers = {}
    for part, key in keys.items():
        if key in recipe.templated and config.follows(key):
            named = template_keys(config.settings[key].value)
            if len(named) == 1 and named[0] in parts:
                followers[part] = parts[named[0]]
    found |= {part: count for part, count in (("rows", rows), ("val_rows", val_rows)) if count is not None}
    total = next((part for part in PARTS if part in TOTALS and part in found), "")
    return Case(
        recipe.data.batch.rule,
        stack,
        found,
        node_gpus,
        node_uuids,
        needs_gpu=needs_gpu(config),
        on_cpu=recipe.data.needs_gpu and not needs_gpu(config),
        swift="swift" in stack.name,
        train_part=total,
        followers=followers,
        fixed=frozenset(part for part, key in keys.items() if key in fixed),
        unread=frozenset(unread),
        wrong=frozenset(wrong),
    )


def _parts(recipe: Recipe) -> dict[str, str]:
    """The parts that fields of a recipe play, remembered with it."""
    played = set(recipe.data.batch.fields.values())  # a key that plays another part has no part of its own
    keys = ((part, recipe.part(part)) for part in PARTS)
    recipe.parts = {part: key for part, key in keys if key in recipe.by_key and (key != part or part not in played)}
    return recipe.parts


def needs_gpu(config: RunConfig) -> bool:
    """Whether each process needs a GPU of its own: the recipe's do, and nobody said to do without."""
    data = config.recipe.data
    return data.needs_gpu and not (data.cpu and config.value(data.cpu))


stack_of = stacks.of


def gpus(config: RunConfig) -> int | None:
    """The GPUs that a config takes on each node: those that it names, else one for each process."""
    spec = config.value("cuda_visible_devices") if "cuda_visible_devices" in config.settings else None
    read = devices.read(spec)
    return 0 if read.hides else read.listed or config.number("nproc_per_node")


def numbers(case: Case) -> Numbers:
    """The batch figures of a case."""
    figures = _given(case)
    if figures.accumulation is None and case.stack.default_accumulation and case.rule in {"grpo", "product"}:
        step = (figures.per_device or 0) * (figures.nproc or 0) * figures.nnodes
        if step > 0:
            return replace(figures, accumulation=max(1, -(-16 // step)))
    return figures


def _given(case: Case) -> Numbers:
    """The figures as they are given."""
    value = case.values
    return Numbers(
        nproc=_int(value.get("nproc_per_node")),
        nnodes=_int(value.get("nnodes")) or 1,
        per_device=_int(value.get("per_device_train_batch_size")),
        accumulation=_int(value.get("gradient_accumulation_steps")),
        generations=_int(value.get("num_generations")),
        generations_eval=_int(value.get("num_generations_eval")),
        steps_per_generation=_int(value.get("steps_per_generation")),
        generation_batch=_int(value.get("generation_batch_size")),
        eval_on=_evaluates(value, case.stack) and not case.unread & EVALUATION,
        per_device_eval=_int(value.get("per_device_eval_batch_size")),
        total=_int(value.get(case.train_part)) if case.train_part else None,
        micro=_int(value.get("micro_batch_size")),
        sequence_parallel=_int(value.get("sequence_parallel_size")) or 1,
        rows=_int(value.get("rows")),
        val_rows=_int(value.get("val_rows")),
    )


def assess(case: Case) -> Assessment:
    """The figures of a case and every rule that it breaks."""
    figures = numbers(case)
    spec = case.values.get(DEVICES)
    seen = case.seen(spec)
    worked = _known(case, batches.work_out(case.rule, case.stack, figures))
    value = case.values
    vllm = bool(value.get("use_vllm"))
    placed = layout.Layout(
        nproc=figures.nproc,
        devices=seen,
        needs_gpu=case.needs_gpu,
        on_cpu=case.on_cpu,
        kept=case.keeps(spec),
        rollout=vllm or bool(value.get("use_lmdeploy")),
        vllm=vllm,
        node_gpus=case.node_gpus,
        grpo=case.rule == "grpo",
        swift=case.swift and not case.unread & _ROLLOUT,
        infer_workers=_int(value.get("num_infer_workers")),
        nnodes=figures.nnodes,
        tensor_parallel=_int(value.get("vllm_tensor_parallel_size")) if spread_engine(case) else None,
        old_tensor_parallel=_int(value.get("tensor_parallel_size")),
        async_generate=bool(value.get("async_generate")),
        sharded=bool(value.get("deepspeed")),
    )
    address = value.get("master_addr")
    met = (
        layout.nodes(
            _int(value.get("nnodes")), _int(value.get("node_rank")), address if isinstance(address, str) else None
        )
        if "master_addr" in value
        else []
    )
    met += layout.ranks(worked.world, {part: _int(value.get(part)) for part in RANKS})
    return Assessment(figures, seen, worked, (*worked.violations, *layout.violations(case.stack, placed), *met))


def told(case: Case) -> Assessment:
    """What may be said of a case: no figure and no broken rule comes from a value that is wrong by itself.

    A rule about that value alone still speaks: it says more than the field's bounds do.
    """
    found = assess(case)
    if not case.wrong:
        return found
    own = tuple(one for one in found.violations if one.code in ABOUT_ONE and one.part in case.wrong)
    values = {**case.values, **dict.fromkeys(case.wrong)}
    known = assess(replace(case, values=values, unread=case.unread | case.wrong, wrong=frozenset()))
    return replace(known, violations=(*own, *known.violations))


def spread_engine(case: Case) -> bool:
    """Whether the ranks themselves share vLLM engines, so that vllm_tensor_parallel_size divides them.

    ms-swift 3.5 to 4.6 set it to 1 without vLLM, and a server's engines are none of this job's.
    """
    return (
        bool(case.values.get("use_vllm"))
        and case.values.get("vllm_mode") != "server"
        and "vllm_mode" not in case.unread
    )


def _known(case: Case, batch: Batch) -> Batch:
    """The batch without what hangs on a count that cannot be read: the rules took 1 for it, or the program's own."""
    unread = case.unread & COUNTS
    if not unread:
        return batch
    if case.rule == "grpo" and unread == {"gradient_accumulation_steps"} and not case.stack.accumulation_counts:
        return replace(batch, accumulation=None, global_batch=None, prompts_per_step=None)
    return Batch(batch.rule, world=None if "nnodes" in unread else batch.world, per_device=batch.per_device)


def _int(value: object) -> int | None:
    return value if type(value) is int else None


def _evaluates(value: Mapping[str, Any], stack: Stack) -> bool:
    """Whether the trainer will evaluate: not switched off, and there is something to evaluate on."""
    strategy = strategies.evaluating(value)
    if strategy is not None and not _on(strategy):
        return False
    if stack.eval_without_data:
        return True
    files, ratio = value.get("val_dataset"), value.get("split_dataset_ratio")
    if stack.default_split and not files and ratio is None:
        return True
    if "val_dataset" in value or "split_dataset_ratio" in value:
        return bool(files or ratio)  # `no` is a name like any other there
    return strategy is not None


def _on(value: object) -> bool:
    return value not in (None, "", "no", "none", 0, False)
