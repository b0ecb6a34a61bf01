"""What is known about this box's GPUs at one moment, as values: every number, or None with the reason beside it.

All physical GPUs in NVML's order; `CUDA_VISIBLE_DEVICES` is not applied here. Nothing here talks to the driver
(`nvml.py` does), so screens and commands can hold and compare snapshots freely.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from prl_tui.core.value import Value, replace
from prl_tui.i18n import t
from prl_tui.machine.gpu_faults import GpuFault

if TYPE_CHECKING:
    from collections.abc import Mapping

State = Literal["ok", "lost", "denied", "error"]
Kind = Literal["compute", "graphics", "mps"]

SLOWER_WITHOUT_GPUS = 5.0
"""Seconds between sweeps, at least, while there is no driver to ask."""
MIB = 1 << 20
FREE_BELOW = 256 * MIB
"""A GPU without processes is free below this, where the driver's own share is known."""
FREE_BELOW_WITH_DRIVER = 1024 * MIB
"""The same where it is not known: an idle H100 counts 480 MiB as used."""
SLOWING = ("hw-slowdown", "sw-thermal", "hw-thermal", "hw-power-brake")
"""Clock-event reasons that mean trouble; a power cap under full load is ordinary."""
IDENTITY = ("uuid", "name", "bus", "compute_capability", "memory_total")
VALUES = (
    *IDENTITY,
    "memory_used",
    "memory_reserved",
    "utilization",
    "power",
    "power_limit",
    "temperature",
    "sm_clock",
    "memory_clock",
    "clock_reasons",
    "mig",
    "processes",
)
"""The fields of a Gpu that are None only with a reason in `missing`."""


class GpuProcess(Value):
    """One process on a GPU, as far as it can be seen from here."""

    pid: int | None
    """None where the driver gives no number."""
    kind: Kind
    memory_used: int | None = None
    """Bytes of GPU memory."""
    user: str | None = None
    command: str | None = None
    """Program and script, without arguments."""
    started: float | None = None
    """Seconds since the epoch."""
    instance: int | None = None
    """GPU instance id under MIG."""
    missing: Mapping[str, str] = {}

    @property
    def visible(self) -> bool:
        """Whether the process exists in this PID namespace."""
        return self.pid is not None and "started" not in self.missing


class MigInstance(Value):
    """One MIG slice of a GPU."""

    slot: int
    uuid: str | None
    name: str | None
    instance: int | None
    """GPU instance id, which processes name."""
    memory_used: int | None
    memory_total: int | None
    missing: Mapping[str, str] = {}


class Gpu(Value):
    """One physical GPU. A value that is None has its reason in `missing`, under the field's name."""

    index: int
    """Position in NVML's (PCI bus) order."""
    state: State = "ok"
    uuid: str | None = None
    name: str | None = None
    bus: str | None = None
    """PCI address, `00000000:18:00.0`."""
    compute_capability: str | None = None
    """`9.0` for an H100."""
    memory_used: int | None = None
    """Bytes, as nvidia-smi counts them: without the driver's own share, where that is known."""
    memory_total: int | None = None
    """Bytes."""
    memory_reserved: int | None = None
    """Bytes that are the driver's own, which no program can have."""
    utilization: int | None = None
    """Percent of the last sample period in which some kernel ran."""
    power: float | None = None
    """Watts."""
    power_limit: float | None = None
    """Watts, as enforced."""
    temperature: int | None = None
    """°C."""
    sm_clock: int | None = None
    """MHz."""
    memory_clock: int | None = None
    """MHz."""
    clock_reasons: tuple[str, ...] | None = None
    """Why the clock is not higher: `idle`, `power-cap`, `hw-thermal` …"""
    mig: bool | None = None
    """Whether MIG is on; None where the GPU has no MIG."""
    mig_instances: tuple[MigInstance, ...] = ()
    processes: tuple[GpuProcess, ...] | None = None
    missing: Mapping[str, str] = {}
    """Reason code per field that is None."""

    @property
    def busy(self) -> bool | None:
        """Whether somebody uses it; None if that cannot be known."""
        if self.state != "ok":
            return None
        if self.processes:
            return True
        if self.memory_used is None:
            # An empty list is no proof: a container does not see its neighbours' processes.
            return None
        if self.memory_reserved is None:
            return self.memory_used >= FREE_BELOW_WITH_DRIVER
        return self.memory_used >= FREE_BELOW

    @property
    def memory_free(self) -> int | None:
        """Bytes that a program can still have; None if that cannot be known."""
        if self.memory_total is None or self.memory_used is None:
            return None
        return self.memory_total - self.memory_used - (self.memory_reserved or 0)

    @property
    def slowed(self) -> tuple[str, ...]:
        """The clock-event reasons that mean trouble."""
        return tuple(reason for reason in self.clock_reasons or () if reason in SLOWING)

    @property
    def problem(self) -> str | None:
        """One sentence if this GPU cannot be used, else None."""
        if self.state == "lost":
            return t(
                "GPU {index} is lost: it has fallen off the bus, only a reset or a reboot brings it back",
                index=self.index,
            )
        if self.state == "denied":
            return t("GPU {index} may not be used by this user or in this container", index=self.index)
        if "reset-required" in self.missing.values():
            return t("GPU {index} must be reset: nvidia-smi --gpu-reset, or a reboot", index=self.index)
        if self.state == "error":
            return t("GPU {index} gives no answer but errors: `dmesg` shows the cause", index=self.index)
        return None


class GpuSnapshot(Value):
    """All GPUs at one moment, or why there are none."""

    time: float
    """Seconds since the epoch at the end of the sweep."""
    gpus: tuple[Gpu, ...] = ()
    driver: str | None = None
    """Driver version, `580.159.04`."""
    cuda: str | None = None
    """Highest CUDA version of the driver, `13.0`."""
    fault: GpuFault | None = None

    @property
    def problem(self) -> str | None:
        """One sentence if GPUs cannot be read at all, else None."""
        return self.fault.sentence if self.fault else None


def clock_reason_word(code: str) -> str:
    """A clock-event reason in a few words."""
    words = {
        "idle": t("idle"),
        "application-clocks": t("set clocks"),
        "power-cap": t("power cap"),
        "hw-slowdown": t("hardware slowdown"),
        "sync-boost": t("sync boost"),
        "sw-thermal": t("heat"),
        "hw-thermal": t("heat, hardware limit"),
        "hw-power-brake": t("power brake"),
        "display": t("display clocks"),
    }
    return words.get(code, code)


def clock_reason_short(code: str) -> str:
    """The same in a word, where several columns stand beside it."""
    words = {
        "hw-slowdown": t("hardware"),
        "hw-thermal": t("heat"),
        "hw-power-brake": t("brake"),
    }
    return words.get(code) or clock_reason_word(code)


def keep_lost(before: GpuSnapshot | None, now: GpuSnapshot) -> GpuSnapshot:
    """`now`, with every GPU that was there `before` and has vanished from the driver's list shown as lost."""
    if before is None or now.fault is not None:
        return now
    present = {gpu.uuid for gpu in now.gpus if gpu.uuid}
    taken = {gpu.index for gpu in now.gpus if not gpu.uuid}
    gone = [
        unreadable(gpu.index, "lost", "lost", gpu)
        for gpu in before.gpus
        if gpu.uuid and gpu.uuid not in present and gpu.index not in taken
    ]
    named = tuple(_named(gpu, before) for gpu in now.gpus)
    return replace(now, gpus=tuple(sorted((*named, *gone), key=lambda gpu: (gpu.index, gpu.state != "ok"))))


def unreadable(index: int, state: State, reason: str, seen: Gpu | None = None) -> Gpu:
    """A GPU of which nothing can be read now; `seen` gives the identity that it had."""
    kept = {name: getattr(seen, name) for name in IDENTITY} if seen else {}
    known = {name for name, value in kept.items() if value is not None}
    missing = {name: reason for name in VALUES if name not in known}
    return Gpu(index, state=state, missing=missing, **kept)


def _named(gpu: Gpu, before: GpuSnapshot) -> Gpu:
    """A lost GPU does not say its name any more: it keeps the one it had."""
    if gpu.uuid or gpu.state == "ok":
        return gpu
    old = next((one for one in before.gpus if one.index == gpu.index), None)
    return unreadable(gpu.index, gpu.state, gpu.missing.get("uuid", gpu.state), old) if old else gpu
