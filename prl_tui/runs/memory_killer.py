"""Whether the kernel's memory killer may have ended a run: what SIGKILL means, and what the run's own record shows.

The kernel counts the processes that it killed for want of memory, a container's among them, in `/proc/vmstat`
(`oom_kill`, Linux 4.13 and later: mm/oom_kill.c counts both kinds). Rows of the recorder have the count and the memory.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from prl_tui.i18n import nt, t
from prl_tui.machine import host
from prl_tui.runs.folder import RunFolder, Started, read_started
from prl_tui.runs.place import here
from prl_tui.telemetry import gpu_history

if TYPE_CHECKING:
    from prl_tui.telemetry.gpu_history import Numbers

FULL = 0.95
"""Share of the memory from which it counts as nearly full."""
_MEMORY, _TOTAL, _KILLED = (
    gpu_history.HOST_COLUMNS.index(one) for one in ("memory_mib", "memory_total_mib", "oom_kills")
)
_GIB = 1024.0
_LATE = 5.0
"""Seconds after a run's end in which the record's last row may still come: the kernel is asked itself."""


def words(folder: RunFolder, ended: float | None) -> str:
    """Why a process of the run got SIGKILL, as far as its record tells; `ended`: seconds since 1970."""
    hosts = [row.host for _, row in gpu_history.read(folder.path / gpu_history.FILE)]
    counts = [value for one in hosts if (value := _at(one, _KILLED)) is not None]
    started = read_started(folder)
    is_here = isinstance(started, Started) and started.is_at(here())
    if counts and is_here and ended is not None and abs(time.time() - ended) < _LATE:
        counts.append(float(host.oom_kills() or 0))
    killed = round(max(counts) - counts[0]) if counts else 0
    if killed > 0:
        return nt(
            "the kernel killed {n} process of this box for want of memory while the run lasted",
            "the kernel killed {n} processes of this box for want of memory while the run lasted",
            killed,
        )
    used, total = max((_memory(one) for one in hosts), key=lambda one: one[0] / one[1], default=(0.0, 1.0))
    if used / total >= FULL:
        return t(
            "the memory was nearly full, {used} of {total} GiB: the kernel sends SIGKILL when it runs out",
            used=f"{used / _GIB:.1f}",
            total=f"{total / _GIB:.1f}",
        )
    return t("the kernel sends SIGKILL when memory runs out; else somebody did")


def _at(row: Numbers, column: int) -> float | None:
    return row[column] if column < len(row) else None


def _memory(row: Numbers) -> tuple[float, float]:
    """Used and whole memory in MiB; (0, 1) where they are not known."""
    used, total = _at(row, _MEMORY), _at(row, _TOTAL)
    return (used, total) if used is not None and total else (0.0, 1.0)
