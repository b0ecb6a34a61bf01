"""What of an accelerate config goes against the command and its fields. Judged with accelerate 1.15 (tests/core/test_accelerate.py)."""

from __future__ import annotations

from collections.abc import Iterator

from prl_tui.core.config import RunConfig
from prl_tui.core.findings import Finding, Fix
from prl_tui.core.flat_yaml import Path, Read
from prl_tui.core.given import Given
from prl_tui.i18n import t
from prl_tui.lists import listed

SECTION = "deepspeed_config"
BESIDE = (SECTION, "deepspeed_config_file")
"""Where the config names DeepSpeed's own settings file."""
IGNORED = ("reduce_bucket_size", "allgather_bucket_size", "contiguous_gradients", "overlap_comm", "reduce_scatter")
"""Keys of that section which accelerate never hands to DeepSpeed. Source: its prepare_deepspeed_cmd_env."""
CLASHING = ("gradient_accumulation_steps", "gradient_clipping", "zero_stage", "offload_optimizer_device",
            "offload_param_device", "zero3_save_16bit_model")  # fmt: skip
"""Keys that are refused beside a settings file. Source: DeepSpeedPlugin._deepspeed_config_checks."""


def findings(config: RunConfig, field: str, path: str, given: Given) -> Iterator[Finding]:
    """Where the file goes against the fields."""
    read = given.read
    yield from _counts(config, field, path, read)
    yield from _sections(field, path, read)
    settings = read if given.beside is None else given.beside
    prefix: Path = (SECTION,) if given.beside is None else ()
    yield from triple(config, field, path if given.beside is None else str(read.values.get(BESIDE)), settings, prefix)


def _counts(config: RunConfig, field: str, path: str, read: Read) -> Iterator[Finding]:
    """How many machines and processes. The command's own --num_processes wins; --num_machines is passed beyond one."""
    if not read.values and read.rest_from is not None:
        yield Finding(
            "config-unread", "note", field, t("{path} is not plain YAML, so nothing in it was checked.", path=path)
        )
        return
    if ("distributed_type",) not in read.values and not read.is_unread(("distributed_type",)):
        yield Finding(
            "accelerate-type", "error", field, t("{path} has no distributed_type: accelerate refuses it.", path=path)
        )
    nodes, processes = config.number("nnodes") or 1, config.number("nproc_per_node")
    machines = read.values.get(("num_machines",))
    if isinstance(machines, int) and machines != nodes and nodes == 1:
        message = t("{path} says num_machines: {given}, and this run has {nodes}: it would wait for the others.",
                    path=path, given=machines, nodes=nodes)  # fmt: skip
        yield Finding("accelerate-machines", "error", field, message)
    there = read.values.get(("num_processes",))
    if isinstance(there, int) and processes is not None and there != processes * nodes:
        message = t("{path} says num_processes: {given}; the command's {count} wins.", path=path, given=there,
                    count=processes * nodes)  # fmt: skip
        yield Finding("accelerate-processes", "note", field, message)


def _sections(field: str, path: str, read: Read) -> Iterator[Finding]:
    unheard = [key for key in IGNORED if (SECTION, key) in read.values]
    if unheard:
        message = t("{path}: accelerate does not hand {keys} to DeepSpeed.", path=path, keys=listed(unheard))
        why = t("Only a settings file of DeepSpeed's own, named by deepspeed_config_file, carries them.")
        yield Finding("accelerate-ignores", "note", field, message, why)
    if BESIDE in read.values:
        clashing = [key for key in CLASHING if (SECTION, key) in read.values]
        clashing += ["mixed_precision"] if ("mixed_precision",) in read.values else []
        if clashing:
            message = t("{path}: {keys} cannot stand beside deepspeed_config_file: accelerate refuses that.",
                        path=path, keys=listed(clashing))  # fmt: skip
            yield Finding("accelerate-clash", "error", field, message)


NEEDS_STAGE = (("offload_optimizer_device", "cpu", 1), ("offload_param_device", "cpu", 3), ("zero3_init_flag", True, 3))
"""Field, value, and the ZeRO stage below which DeepSpeed does not look at it. Source: DeepSpeed 0.19.8's engine, which makes
no ZeRO optimizer at stage 0 and hands offload_param to that of stage 3 alone, and accelerate 1.15's plugin for the flag."""


def settings(config: RunConfig) -> Iterator[Finding]:
    """What of the settings that are written has no effect."""
    stage = config.number("zero_stage") if "zero_stage" in config.settings else None
    if stage is None:
        return
    for key, value, least in NEEDS_STAGE:
        if key in config.settings and config.value(key) == value and stage < least:
            label = config.recipe.by_key[key].label
            message = t("{label} has no effect below ZeRO stage {least}.", label=label, least=least)
            ways = (Fix({"zero_stage": least}, t("{label} {old} → {new}", label=config.recipe.by_key["zero_stage"].label,
                                                 old=stage, new=least)),)  # fmt: skip
            yield Finding("deepspeed-unused", "warning", key, message, "", ways)


def triple(config: RunConfig, field: str, path: str, read: Read, prefix: Path = ()) -> Iterator[Finding]:
    """DeepSpeed's three batch figures against the fields; "auto" takes them from the trainer.

    Source: transformers' HfTrainerDeepSpeedConfig.trainer_config_process, which stops on a mismatch, and DeepSpeed's
    train_batch_size = micro × accumulation × world.
    """
    part = config.recipe.part
    keys = {"micro": part("per_device_train_batch_size"), "steps": part("gradient_accumulation_steps")}
    micro, steps = (config.number(key) if key in config.settings else None for key in keys.values())
    world = (config.number("nproc_per_node") or 1) * (config.number("nnodes") or 1)
    whole = micro * (steps or 1) * world if micro is not None else None
    figures = (
        ("train_micro_batch_size_per_gpu", micro),
        ("gradient_accumulation_steps", steps),
        ("train_batch_size", whole),
    )
    for key, ours in figures:
        there = read.values.get((*prefix, key))
        if isinstance(there, int) and not isinstance(there, bool) and ours is not None and there != ours:
            message = t("{path} says {key}: {given}, and the settings make it {ours}: the trainer stops.", path=path, key=key,
                        given=there, ours=ours)  # fmt: skip
            yield Finding("deepspeed-triple", "error", field, message, t('"auto" takes it from the settings.'))
