"""Which GPU, or which MIG slice of one, an entry of CUDA_VISIBLE_DEVICES names, and where a process is seen to be.

CUDA and NVML number the same cards differently as soon as a box is mixed and CUDA_DEVICE_ORDER is not PCI_BUS_ID;
UUIDs mean the same to both. What cannot be known is None, never a guess.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from prl_tui.core import devices

if TYPE_CHECKING:
    from collections.abc import Collection

    from prl_tui.machine.gpus import Gpu, GpuSnapshot

    Spot = tuple[int, int | None]
    """Physical index in NVML's order, and the slot of a MIG slice of that GPU; None for the GPU itself."""


def spot_of(spec: str | None, position: int, snapshot: GpuSnapshot, *, by_bus: bool = False) -> Spot | None:
    """The `position`-th device that a process sees whose CUDA_VISIBLE_DEVICES is `spec` (None: not set).

    `by_bus`: the process counts GPUs as NVML does. Without that a number means a card only where all are alike.
    """
    read = devices.read(spec)
    entries = _visible_by_default(snapshot) if spec is None else read.entries[: read.usable]
    if not 0 <= position < len(entries):
        return None
    entry = entries[position]
    if isinstance(entry, str):
        return _by_uuid(entry, snapshot)
    alike = len({gpu.name for gpu in snapshot.gpus if gpu.name}) <= 1
    if not (by_bus or alike):
        return None
    gpu = next((gpu for gpu in snapshot.gpus if gpu.index == entry), None)
    if gpu is None:
        return None
    # Under MIG CUDA offers a GPU's first slice in its place.
    return gpu.index, gpu.mig_instances[0].slot if gpu.mig_instances else None


def spot_of_processes(pids: Collection[int], snapshot: GpuSnapshot) -> Spot | None:
    """Where the driver sees one of these processes; of several GPUs the one where they hold most memory."""
    held: defaultdict[Spot, int] = defaultdict(int)
    for gpu in snapshot.gpus:
        for process in gpu.processes or ():
            if process.visible and process.pid in pids:
                held[gpu.index, _slot(gpu, process.instance)] += 1 + (process.memory_used or 0)
    return max(held, key=lambda spot: held[spot]) if held else None


def _slot(gpu: Gpu, instance: int | None) -> int | None:
    if instance is None:
        return None
    return next((one.slot for one in gpu.mig_instances if one.instance == instance), None)


def _visible_by_default(snapshot: GpuSnapshot) -> tuple[int | str, ...]:
    """What CUDA counts where nothing is said: every GPU that answers."""
    return tuple(gpu.index for gpu in snapshot.gpus if gpu.state == "ok")


def _by_uuid(entry: str, snapshot: GpuSnapshot) -> Spot | None:
    """The one whose UUID begins so; None for several, as CUDA refuses those too."""
    found: list[Spot] = []
    for gpu in snapshot.gpus:
        if gpu.uuid is not None and gpu.uuid.startswith(entry):
            found.append((gpu.index, None))
        found += [(gpu.index, one.slot) for one in gpu.mig_instances if one.uuid and one.uuid.startswith(entry)]
    return found[0] if len(found) == 1 else None
