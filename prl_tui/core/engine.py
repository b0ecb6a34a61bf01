"""What the installed engine and its GPUs ask of a config: versions, flags that belong together, vLLM's share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from prl_tui.core import assess, devices
from prl_tui.core.advice import VISIBLE
from prl_tui.core.batch import Severity
from prl_tui.core.config import RunConfig
from prl_tui.core.findings import Facts, Finding, Fix, GpuUse
from prl_tui.core.stacks import Stack
from prl_tui.core.versions import fits
from prl_tui.i18n import t

GIB = 2**30
SHARE = "vllm_gpu_memory_utilization"
Unit = TypeVar("Unit")


def absent(config: RunConfig, facts: Facts) -> list[str]:
    """Packages of the recipe's engine that the training environment lacks, where it was looked at."""
    return [one for one in config.recipe.data.versions if facts.environment and facts.versions.get(one) is None]


def versions(config: RunConfig, facts: Facts) -> Iterator[Finding]:
    """Installed versions that do not know the recipe's flags."""
    lacking = absent(config, facts)
    for package, wanted in config.recipe.data.versions.items():
        installed = facts.versions.get(package)
        if package in lacking:
            message = t("The training environment has no {package}.", package=package)
            yield Finding("engine-missing", "warning", "training_env", message)
        if installed is not None and not fits(installed, wanted):
            message = t(
                "The training environment has {package} {installed}, and this recipe's flags are those of {package} {wanted}.",
                package=package,
                installed=installed,
                wanted=wanted,
            )
            why = t("Choose the environment that the recipe was made for, or a recipe for the version that is there.")
            yield Finding("engine-version", "error", "training_env", message, why)


def dialect(config: RunConfig, stack: Stack) -> Iterator[Finding]:
    """Flags that need each other. ms-swift 3.11.1 and later: vllm_mode if and only if use_vllm (its rlhf arguments)."""
    if "vllm_mode" not in config.settings or not stack.vllm_mode:
        return
    if config.wrong("vllm_mode") or config.wrong("use_vllm"):
        return  # said already, with its way out
    mode, vllm = config.value("vllm_mode"), config.value("use_vllm")
    label = config.recipe.by_key["vllm_mode"].label
    if vllm and mode is None:
        fix = Fix({"vllm_mode": "colocate"}, t("{label} {old} → {new}", label=label, old="–", new="colocate"))
        yield Finding("vllm-mode-missing", "error", "vllm_mode", t("use_vllm needs vllm_mode."), "", (fix,))
    elif mode is not None and not vllm:
        without = Fix({"vllm_mode": None}, t("leave out {label}", label=label))
        use = config.recipe.by_key["use_vllm"]
        old = config.text("use_vllm") or "–"
        also = Fix({"use_vllm": True}, t("{label} {old} → {new}", label=use.label, old=old, new=use.words[0]))
        message = t("vllm_mode is refused without use_vllm.")
        yield Finding("vllm-mode-unused", "error", "vllm_mode", message, "", (without, also))


def place(config: RunConfig, facts: Facts) -> Iterator[Finding]:
    """Where a launch starts must be there, and the training environment, with the program that starts the ranks."""
    if facts.unseen:
        message = t("What a launch here needs cannot be looked at: {reason}.", reason=facts.unseen.rstrip("."))
        why = t("Nobody knows whether it is there. Let this user read it, or name another.")
        yield Finding("box-unseen", "error", "", message, why)
    if facts.no_folder:
        named = "workdir" in config.settings and config.value("workdir")
        message = t("The working directory {path} is missing.", path=facts.no_folder)
        why = t("A launch starts there; a directory that exists would work.")
        yield Finding("folder-missing", "error", "workdir" if named else "", message, why)
    if facts.no_environment:
        message = t("There is no training environment {name} on this box.", name=facts.no_environment)
        why = t("conda:NAME, the folder of a venv, the path of its python, or this would work.")
        yield Finding("environment-missing", "error", "training_env", message, why)
    elif facts.silent_environment:
        message = t("The Python of the training environment {name} gives no answer.", name=facts.silent_environment)
        why = t("It cannot be started, or takes longer than a probe may wait.")
        yield Finding("environment-silent", "error", "training_env", message, why)
    elif facts.no_launcher and config.value("training_env"):
        message = t("The training environment has no {program}.", program=facts.no_launcher)
        why = t("Without its own, PATH would give another environment's. Install the engine there, or choose another.")
        yield Finding("launcher-missing", "error", "training_env", message, why)
    elif facts.no_launcher:
        message = t("There is no {program} on PATH.", program=facts.no_launcher)
        why = t("Choose the training environment: conda:NAME, the folder of a venv, or this.")
        yield Finding("launcher-missing", "error", "training_env", message, why)


def chosen(gpus: Iterable[GpuUse], spec: str | None) -> list[GpuUse]:
    """The GPUs and MIG instances that a value of CUDA_VISIBLE_DEVICES names; all GPUs without one.

    Nothing from the first entry on that names none of them, or several: a process sees no more, whatever follows.
    """
    gpus = list(gpus)
    if spec is None:
        return gpus
    read = devices.read(spec)
    entries = read.entries[:1] if read.mig else read.entries  # a process sees the first of several instances alone
    if entries and isinstance(entries[0], str):
        units = [one for gpu in gpus for one in (gpu, *gpu.slices)]
        return [units[at] for at in devices.resolve(entries, [one.uuid for one in units]).places]
    found: list[GpuUse] = []
    for entry in entries:
        there = [gpu for gpu in gpus if gpu.index == entry]
        if not there:
            break
        found += there
    return found


def takes(config: RunConfig, gpus: Iterable[GpuUse], visible: str | None = None) -> list[GpuUse]:
    """The GPUs that a launch here uses; `visible` is the CUDA_VISIBLE_DEVICES around it.

    Without a list each process takes the one of its own number, and so do engines that generate beside them; a recipe
    that may do without GPUs takes none then.
    """
    spec = in_force(config, visible)
    if spec is None:
        if not assess.needs_gpu(config):
            return []
        every, count = list(gpus), config.number("nproc_per_node") or 1
        beside = generating(config, assess.stack_of(config), every)
        return [gpu for gpu in every if gpu.index < count or gpu in beside]
    data = config.recipe.data
    if data.cpu and config.value(data.cpu):
        return []
    return chosen(gpus, spec)


def in_force(config: RunConfig, visible: str | None) -> str | None:
    """The value of CUDA_VISIBLE_DEVICES in force: the config's own, else the one around it."""
    own: str | None = config.value("cuda_visible_devices")
    return own if own is not None else visible


def generating(config: RunConfig, stack: Stack, visible: Sequence[Unit]) -> list[Unit]:
    """Those of the visible GPUs, in their order, on which the job's own vLLM or LMDeploy engines run.

    ms-swift 3.2 to 3.4 takes the last ones, as many as there are workers (its grpo_trainer.py); since 3.5 each rank's own GPU
    has one, unless a server generates elsewhere.
    """
    if not (config.value("use_vllm") or config.value("use_lmdeploy")):
        return []
    if stack.infer_workers:
        return list(visible[-max(1, config.number("num_infer_workers") or 1) :])
    if config.value("vllm_mode") == "server":
        return []
    return list(visible[: config.number("nproc_per_node") or 1])


class Memory(NamedTuple):
    """The memory of one visible GPU, in bytes."""

    name: str
    free: int
    total: int


def vllm_share(config: RunConfig, facts: Facts, stack: Stack) -> Iterator[Finding]:
    """VLLM takes its share of the whole card at its start, and stops where that much is not free."""
    if assess.needs_gpu(config):
        visible = chosen(facts.gpus or (), in_force(config, facts.inherited.get(VISIBLE)))
        units = [Memory(gpu.name, gpu.free_bytes or 0, gpu.total_bytes or 0) for gpu in generating(config, stack, visible)
                 if gpu.free_bytes is not None]  # fmt: skip
        yield from too_little(config, units, "warning")


def too_little(config: RunConfig, units: Iterable[Memory], severity: Severity) -> Iterator[Finding]:
    """The share against the fullest of the GPUs that vLLM runs on, with one that fits on all of them."""
    key = SHARE
    share = config.value(key) if config.value("use_vllm") else None
    if not isinstance(share, (int, float)) or config.wrong(key):
        return
    short = [unit for unit in units if unit.total and share * unit.total > unit.free]
    if not short:
        return
    unit = min(short, key=lambda one: one.free / one.total)
    figures = {
        "share": config.text(key),
        "index": unit.name,
        "wanted": f"{share * unit.total / GIB:.1f}",
        "free": f"{unit.free / GIB:.1f}",
    }
    message = t("vLLM wants {share} of GPU {index} ({wanted} GiB), and {free} GiB are free.", **figures)
    room = math.floor(unit.free / unit.total * 100) / 100
    label = t("{label} {old} → {new}", label=config.recipe.by_key[key].label, old=config.text(key), new=room)
    yield Finding("vllm-share", severity, key, message, "", (Fix({key: room}, label),) if room >= 0.05 else ())
