"""What a check may know of this box: its GPUs and who uses them, and the owner of the master port."""

from __future__ import annotations

import os
from collections.abc import Mapping

from prl_tui.core.config import RunConfig, Source
from prl_tui.core.findings import Facts, GpuUse
from prl_tui.i18n import t
from prl_tui.machine.gpus import Gpu, GpuSnapshot

LAUNCH_VARIABLES = ("SLURM_JOB_ID", "CUDA_VISIBLE_DEVICES")


def inherited(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables around a launch that a check reads: GPUs, the scheduler's job, and names that look like them."""
    return {
        name: value
        for name, value in environment.items()
        if name in LAUNCH_VARIABLES or ("VISIBLE" in name.upper() and "CUDA" in name.upper())
    }


def here(
    config: RunConfig,
    snapshot: GpuSnapshot | None = None,
    rows: int | None = None,
    pace: tuple[float | None, str] = (None, ""),
) -> Facts:
    """The facts of this box for a config; without a snapshot the GPUs are looked at now."""
    if snapshot is None:
        from prl_tui.machine.gpu_feed import once

        snapshot = once()
    known = snapshot.problem is None
    return Facts(
        node_gpus=len(snapshot.gpus) if known else 0 if config.recipe.data.needs_gpu else None,
        gpus=tuple(_use(gpu) for gpu in snapshot.gpus) if known else None,
        rows=rows,
        seconds_per_step=pace[0],
        pace_source=pace[1],
        inherited=inherited(os.environ),
        port_owner=_port_owner(config),
    )


def _use(gpu: Gpu) -> GpuUse:
    total, used = gpu.memory_total, gpu.memory_used
    free = total - used if total is not None and used is not None else None
    return GpuUse(gpu.index, gpu.uuid or "", free, _busy_with(gpu))


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
