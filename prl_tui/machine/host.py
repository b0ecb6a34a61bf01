"""Facts about this box besides its GPUs: identity, processors, memory, disks.

Processors and memory are what this process may use: affinity and cgroup limits count, since a container on a
128-core host may have four. What cannot be read is None.
"""

from __future__ import annotations

import contextlib
import math
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from prl_tui.core.value import Value
from prl_tui.machine import paths
from prl_tui.machine.processes import pid_namespace

if TYPE_CHECKING:
    from collections.abc import Iterator

_KIB = 1024
_NO_LIMIT = 1 << 60


class Space(Value):
    """Room of a memory or of a file system."""

    total: int
    """Bytes."""
    free: int
    """Bytes that this user can still take."""


class Host(Value):
    """The box at one moment."""

    name: str
    boot_id: str | None
    """Changes with every boot."""
    pid_namespace: int | None
    """Pods of one host differ in it."""
    cpus: int
    """Processors that this process may use."""
    memory: Space | None
    """Main memory, limits of the container included."""
    shm: Space | None
    """The shared-memory file system, through which data loaders and NCCL pass data."""


def host(root: Path = Path("/")) -> Host:
    """Everything at once; `root` is where `proc`, `sys` and `dev` are looked for."""
    return Host(
        socket.gethostname(),
        boot_id(root),
        pid_namespace(root / "proc"),
        cpu_count(root),
        memory(root),
        space(root / "dev/shm"),
    )


def boot_id(root: Path = Path("/")) -> str | None:
    """The kernel's identifier of this boot."""
    return _read(root / "proc/sys/kernel/random/boot_id") or None


def cpu_count(root: Path = Path("/")) -> int:
    """Processors by affinity, fewer if a cgroup quota allows fewer (rounded up); at least 1."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quotas = [quota for folder in _cgroups(root, "cpu") if (quota := _cpu_quota(folder))]
    return max(1, min([allowed, *(math.ceil(quota) for quota in quotas)]))


def memory(root: Path = Path("/")) -> Space | None:
    """Main memory, or the tightest cgroup limit below it; None where the kernel does not say."""
    lines = (line.split() for line in _read(root / "proc/meminfo").splitlines())
    rows = {row[0].rstrip(":"): int(row[1]) * _KIB for row in lines if len(row) > 1 and row[1].isdigit()}
    if "MemTotal" not in rows:
        return None
    total, free = rows["MemTotal"], rows.get("MemAvailable", rows.get("MemFree", 0))
    for folder in _cgroups(root, "memory"):
        limit = _number(folder, "memory.max", "memory.limit_in_bytes")
        if limit is None or limit >= min(total, _NO_LIMIT):
            continue
        used = _number(folder, "memory.current", "memory.usage_in_bytes") or 0
        total, free = limit, min(free, max(0, limit - used + _reclaimable(folder)))
    return Space(total, free)


def oom_kills(root: Path = Path("/")) -> int | None:
    """How many processes the kernel has killed for want of memory since boot; None where it does not say."""
    for line in _read(root / "proc/vmstat").splitlines():
        name, _, value = line.partition(" ")
        if name == "oom_kill" and value.isdigit():
            return int(value)
    return None


def space(path: Path) -> Space | None:
    """The file system below `path`, or below its nearest folder that exists; None if it cannot be asked."""
    for folder in (path, *path.absolute().parents):
        with contextlib.suppress(OSError):
            found = os.statvfs(folder)
            return Space(found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)
    return None


def _cgroups(root: Path, controller: str) -> Iterator[Path]:
    """The cgroup folders that bind this process, from its own to the top; versions 2 and 1."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and controller not in controllers.split(","):
            continue
        base = root / "sys/fs/cgroup"
        base = base / controller if controllers else base
        own = base / path.lstrip("/")
        for folder in (own, *own.parents):
            if paths.is_dir(folder):
                yield folder
            if folder == base:
                break


def _cpu_quota(folder: Path) -> float | None:
    quota, _, period = _read(folder / "cpu.max").partition(" ")
    if not quota:
        quota, period = _read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")
    if quota.isdigit() and period.isdigit() and int(period):
        return int(quota) / int(period)
    return None


def _reclaimable(folder: Path) -> int:
    """Bytes of page cache that the kernel gives back before it kills anybody."""
    for line in _read(folder / "memory.stat").splitlines():
        name, _, value = line.partition(" ")
        if name in ("inactive_file", "total_inactive_file") and value.isdigit():
            return int(value)
    return 0


def _number(folder: Path, *names: str) -> int | None:
    for name in names:
        text = _read(folder / name)
        if text:
            return int(text) if text.isdigit() else None
    return None


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""
