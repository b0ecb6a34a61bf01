"""What a check may know of this box: its GPUs and who uses them, and the owner of the master port."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from prl_tui.core import stacks
from prl_tui.core.config import RunConfig, Source, fill
from prl_tui.core.findings import Facts, GpuUse
from prl_tui.core.plan import build
from prl_tui.core.value import Value
from prl_tui.i18n import t
from prl_tui.machine import environment, paths, rows
from prl_tui.machine.gpus import Gpu, GpuSnapshot


class Known(Value):
    """What takes longer to look up than a keystroke: files, earlier runs, the training environment."""

    rows: int | None = None
    val_rows: int | None = None
    missing_files: tuple[str, ...] = ()
    stack: str = ""
    versions: Mapping[str, str] = {}
    pace: float | None = None
    pace_source: str = ""


def look_up(config: RunConfig, here: Path, pace: tuple[float | None, str] = (None, "")) -> Known:
    """Read the data's rows, look for the files that the recipe needs, ask the training environment."""
    found = environment.probe(build(config).activation)
    versions = dict(found.versions) if found is not None else {}
    swift = versions.get("ms-swift")
    stack = stacks.for_swift(swift) if swift and config.recipe.data.stack.startswith("swift") else ""
    return Known(
        rows.training(config, here),
        rows.validation(config, here),
        _missing(config, here),
        stack,
        versions,
        pace[0],
        pace[1],
    )


def _missing(config: RunConfig, here: Path) -> tuple[str, ...]:
    base = here / paths.expanded(str(config.value("workdir") or "")) if "workdir" in config.settings else here
    wanted = [fill(file, config) for file in config.recipe.data.files]
    return tuple(name for name in wanted if name and not (base / name).exists())


LAUNCH_VARIABLES = ("SLURM_JOB_ID", "CUDA_VISIBLE_DEVICES")


OWN_VARIABLES = "PRL_TUI_"
"""How variables begin that prl-tui itself reads."""


def inherited(environment: Mapping[str, str], overrides: bool = False) -> dict[str, str]:
    """The variables around a launch that a check reads: GPUs, the scheduler's job, and names that look like them.

    With `overrides` also those that are meant to override fields.
    """
    return {
        name: value
        for name, value in environment.items()
        if name in LAUNCH_VARIABLES
        or ("VISIBLE" in name.upper() and "CUDA" in name.upper())
        or (overrides and name.startswith("PRL_") and not name.startswith(OWN_VARIABLES))
    }


def here(
    config: RunConfig,
    snapshot: GpuSnapshot | None = None,
    known: Known | None = None,
) -> Facts:
    """The facts of this box for a config; without a snapshot the GPUs are looked at now."""
    if snapshot is None:
        from prl_tui.machine.gpu_feed import once

        snapshot = once()
    found = known or Known()
    readable = snapshot.problem is None
    return Facts(
        node_gpus=len(snapshot.gpus) if readable else 0 if config.recipe.data.needs_gpu else None,
        gpus=tuple(_use(gpu) for gpu in snapshot.gpus) if readable else None,
        rows=found.rows,
        val_rows=found.val_rows,
        seconds_per_step=found.pace,
        pace_source=found.pace_source,
        stack=found.stack,
        versions=found.versions,
        missing_files=found.missing_files,
        inherited=inherited(os.environ),
        port_owner=_port_owner(config),
    )


def _use(gpu: Gpu) -> GpuUse:
    total, used = gpu.memory_total, gpu.memory_used
    free = total - used if total is not None and used is not None else None
    return GpuUse(gpu.index, gpu.uuid or "", free, total, _busy_with(gpu))


def _busy_with(gpu: Gpu) -> str:
    if not gpu.busy:
        return ""
    users = [" ".join(part for part in (process.user, process.command) if part) for process in gpu.processes or ()]
    return ", ".join(user for user in users if user)[:120] or t("a process that cannot be seen")


def _port_owner(config: RunConfig) -> str | None:
    """Who holds a port that a person fixed; a port of the recipe's own is replaced by a free one."""
    setting = config.settings.get("master_port")
    if setting is None or not isinstance(setting.value, int) or setting.source <= Source.PRESET:
        return None
    from prl_tui.machine import ports

    if not 1 <= setting.value <= 65535 or ports.port_free(setting.value):
        return None
    owner = ports.port_owner(setting.value)
    if owner is None or owner.pid is None:
        return t("another program") if owner is None or not owner.user else t("a program of {user}", user=owner.user)
    return t("{command}, pid {pid}", command=owner.command or t("a program"), pid=owner.pid)
