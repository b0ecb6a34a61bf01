"""One sweep over all GPUs through NVML's own Python binding (`pynvml` of nvidia-ml-py).

Only the sampler's process calls this: a driver that hangs blocks whoever asks. PCIe throughput is never asked for,
as each such call sleeps 21 ms in the driver. The handles are looked up anew in every sweep, so that a GPU that fell
off the bus is never touched through an old one.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from prl_tui.core.value import replace
from prl_tui.machine import nvml_faults, wsl
from prl_tui.machine.gpu_faults import GpuFault
from prl_tui.machine.gpus import (
    Gpu,
    GpuProcess,
    GpuSnapshot,
    Kind,
    MigInstance,
    keep_lost,
    unreadable,
)
from prl_tui.machine.processes import GpuProcessBook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

_Identity = tuple["str | None", "str | None", "str | None"]
_ABSENT = 0xFFFFFFFF
_UNNAMED_PIDS = (0, _ABSENT)
_LARGEST_MEMORY = 1 << 48
_PLAUSIBLE = {
    "utilization": 100,
    "temperature": 200,
    "power": 20_000,
    "power_limit": 20_000,
    "sm_clock": 20_000,
    "memory_clock": 100_000,
}
"""No driver means more than this: larger numbers are its way of saying "unknown"."""
_CLOCK_REASONS = {
    0x001: "idle",
    0x002: "application-clocks",
    0x004: "power-cap",
    0x008: "hw-slowdown",
    0x010: "sync-boost",
    0x020: "sw-thermal",
    0x040: "hw-thermal",
    0x080: "hw-power-brake",
    0x100: "display",
}
_PROCESS_CALLS: tuple[tuple[Kind, str], ...] = (
    ("compute", "nvmlDeviceGetComputeRunningProcesses"),
    ("graphics", "nvmlDeviceGetGraphicsRunningProcesses"),
    ("mps", "nvmlDeviceGetMPSComputeRunningProcesses"),
)
_CLOCK_SM, _CLOCK_MEMORY, _ON_DIE = 1, 2, 0


class Nvml:
    """The driver's library, opened once and kept open between sweeps."""

    def __init__(
        self, clock: Callable[[], float] = time.time, *, processes: bool = True, root: Path = Path("/")
    ) -> None:
        """`processes`: ask who uses each GPU too, most of a sweep's cost; `root`: where `proc` and `usr` are."""
        self._root = root
        self._wsl = wsl.is_wsl(root)
        self._clock = clock
        self._with_processes = processes
        self._binding: ModuleType | None = None
        self._driver: str | None = None
        self._cuda: str | None = None
        self._last: GpuSnapshot | None = None
        self._static: dict[str, _Identity] = {}
        self._book = GpuProcessBook()

    def sweep(self) -> GpuSnapshot:
        """All GPUs now, or the fault that hides them; never raises for anything that the driver says."""
        binding = self._open()
        if isinstance(binding, GpuFault):
            return GpuSnapshot(self._clock(), fault=binding)
        try:
            count = int(binding.nvmlDeviceGetCount())
        except Exception as error:
            self.close()
            return GpuSnapshot(self._clock(), (), self._driver, self._cuda, nvml_faults.of_library(error))
        gpus = tuple(self._gpu(binding, index) for index in range(count))
        found = keep_lost(self._last, GpuSnapshot(self._clock(), gpus, self._driver, self._cuda))
        if not found.gpus:
            return GpuSnapshot(found.time, (), self._driver, self._cuda, GpuFault("no-gpus"))
        self._last = found
        return found

    def close(self) -> None:
        """Give the library back; the next sweep opens it again."""
        binding, self._binding = self._binding, None
        if binding is not None:
            with contextlib.suppress(Exception):
                binding.nvmlShutdown()

    def _open(self) -> ModuleType | GpuFault:
        if self._binding is not None:
            return self._binding
        binding = nvml_faults.load_binding()
        if isinstance(binding, GpuFault):
            return binding
        try:
            self._init(binding)
        except Exception as error:
            return nvml_faults.of_library(error, self._root)
        self._binding = binding
        reads = _Reads(binding)
        self._driver = _text(reads.ask("driver", ("nvmlSystemGetDriverVersion",)))
        version = reads.number("cuda", ("nvmlSystemGetCudaDriverVersion",))
        self._cuda = None if version is None else f"{version // 1000}.{version % 1000 // 10}"
        return binding

    def _init(self, binding: ModuleType) -> None:
        try:
            binding.nvmlInit()
        except Exception as error:
            missed = getattr(error, "value", None) == nvml_faults.NO_LIBRARY
            if not (missed and self._wsl and wsl.load_library(self._root)):
                raise
            binding.nvmlInit()

    def _gpu(self, binding: ModuleType, index: int) -> Gpu:
        reads = _Reads(binding)
        handle = reads.ask("uuid", ("nvmlDeviceGetHandleByIndex", index))
        if handle is None:
            return _refused(index, reads.missing["uuid"])
        uuid = _text(reads.ask("uuid", ("nvmlDeviceGetUUID", handle)))
        name, bus, capability = self._identity(reads, handle, uuid)
        used, total, reserved = reads.memory(handle)
        mig, instances = self._mig(binding, reads, handle)
        gpu = Gpu(
            index,
            uuid=uuid,
            name=name,
            bus=bus,
            compute_capability=capability,
            memory_used=used,
            memory_total=total,
            memory_reserved=reserved,
            utilization=reads.number("utilization", ("nvmlDeviceGetUtilizationRates", handle), part="gpu"),
            power=reads.watts("power", ("nvmlDeviceGetPowerUsage", handle)),
            power_limit=reads.watts(
                "power_limit",
                ("nvmlDeviceGetEnforcedPowerLimit", handle),
                ("nvmlDeviceGetPowerManagementLimit", handle),
            ),
            temperature=reads.number(
                "temperature",
                ("nvmlDeviceGetTemperature", handle, _ON_DIE),
                ("nvmlDeviceGetTemperatureV", handle, _ON_DIE),
            ),
            sm_clock=reads.number("sm_clock", ("nvmlDeviceGetClockInfo", handle, _CLOCK_SM)),
            memory_clock=reads.number("memory_clock", ("nvmlDeviceGetClockInfo", handle, _CLOCK_MEMORY)),
            clock_reasons=_clock_reasons(reads, handle),
            mig=mig,
            mig_instances=tuple(found for found, _ in instances),
            processes=self._processes(binding, reads, [handle, *(one for _, one in instances)])
            if self._with_processes
            else None,
            missing=reads.missing,
        )
        if reads.lost:
            return unreadable(index, "lost", "lost", gpu)
        if mig and reads.missing.get("utilization") == "not-supported":
            reads.missing["utilization"] = "mig"
        return _under_windows(gpu) if self._wsl else gpu

    def _identity(self, reads: _Reads, handle: object, uuid: str | None) -> _Identity:
        """Name, PCI address and compute capability, which never change: asked once per GPU."""
        if uuid is not None and uuid in self._static:
            return self._static[uuid]
        pci = reads.ask("bus", ("nvmlDeviceGetPciInfo", handle))
        capability = reads.ask("compute_capability", ("nvmlDeviceGetCudaComputeCapability", handle))
        found = (
            _text(reads.ask("name", ("nvmlDeviceGetName", handle))),
            _text(getattr(pci, "busId", None)),
            ".".join(map(str, _numbers(capability))) or None,
        )
        if uuid is not None and all(found):
            self._static[uuid] = found
        return found

    def _mig(
        self, binding: ModuleType, reads: _Reads, handle: object
    ) -> tuple[bool | None, list[tuple[MigInstance, object]]]:
        mode = _numbers(reads.ask("mig", ("nvmlDeviceGetMigMode", handle)))
        if not mode:
            return None, []
        if mode[0] != 1:
            return False, []
        slots = _Reads(binding).number("slots", ("nvmlDeviceGetMaxMigDeviceCount", handle)) or 0
        return True, [found for slot in range(slots) if (found := _mig_instance(binding, handle, slot))]

    def _processes(self, binding: ModuleType, reads: _Reads, handles: list[object]) -> tuple[GpuProcess, ...] | None:
        """The processes of a GPU and of its MIG instances (the whole GPU's list may need root under MIG)."""
        merged: dict[tuple[int, int | None, int], GpuProcess] = {}
        answered = False
        for handle in handles:
            for kind, call in _PROCESS_CALLS:
                own = reads if handle is handles[0] and kind == "compute" else _Reads(binding)
                rows = own.ask("processes", (call, handle))
                answered = answered or (rows is not None and kind == "compute")
                for place, row in enumerate(cast("list[object]", rows or [])):
                    found = self._process(row, kind)
                    # Processes that the driver does not name stay apart by their place in the list.
                    key = (found.pid or 0, found.instance, 0 if found.pid else place)
                    merged.setdefault(key, found)
        if not answered:
            return None
        reads.missing.pop("processes", None)
        return tuple(merged.values())

    def _process(self, row: object, kind: Kind) -> GpuProcess:
        missing: dict[str, str] = {}
        pid: int | None = int(getattr(row, "pid", _ABSENT))
        if pid in _UNNAMED_PIDS:
            pid, missing["pid"] = None, "not-visible"
        used = getattr(row, "usedGpuMemory", None)
        if used is None or not 0 <= used < _LARGEST_MEMORY:
            used, missing["memory_used"] = None, "not-supported"
        instance = getattr(row, "gpuInstanceId", _ABSENT)
        info = self._book.look_up(pid) if pid else None
        for name in ("user", "command", "started"):
            if getattr(info, name, None) is None:
                missing[name] = "no-permission" if info else "not-visible"
        return GpuProcess(
            pid,
            kind,
            used,
            info.user if info else None,
            info.command if info else None,
            info.started if info else None,
            None if instance in (None, _ABSENT) else int(instance),
            missing,
        )


class _Reads:
    """Calls for one GPU, each of which may be refused; the reasons are kept by field."""

    def __init__(self, binding: ModuleType) -> None:
        self._binding = binding
        self.missing: dict[str, str] = {}
        self.lost = False

    def ask(self, field: str, *calls: tuple[object, ...]) -> object | None:
        """The first call that the driver and the binding know; None with the reason in `missing`."""
        reason = "lost"
        for name, *arguments in calls if not self.lost else ():
            try:
                value = cast("object", getattr(self._binding, str(name))(*arguments))
            except Exception as error:  # one refused value must not hide the other values
                reason = nvml_faults.reason(error)
            else:
                self.missing.pop(field, None)
                return value
            if reason not in nvml_faults.TRY_ANOTHER:
                break
        self.lost = self.lost or reason == "lost"
        self.missing[field] = reason
        return None

    def number(self, field: str, *calls: tuple[object, ...], part: str | None = None) -> int | None:
        """`ask` for a whole number that makes sense; `part` names a member of a structure."""
        value = self.ask(field, *calls)
        if value is None:
            return None
        found = int(getattr(value, part) if part else cast("int", value))
        if not 0 <= found <= _PLAUSIBLE.get(field, _LARGEST_MEMORY):
            self.missing[field] = "implausible"
            return None
        return found

    def watts(self, field: str, *calls: tuple[object, ...]) -> float | None:
        """`ask` for a power, which the driver gives in milliwatts."""
        value = self.ask(field, *calls)
        if value is None:
            return None
        found = cast("int", value) / 1000
        if not 0 <= found <= _PLAUSIBLE[field]:
            self.missing[field] = "implausible"
            return None
        return round(found, 1)

    def memory(self, handle: object) -> tuple[int | None, int | None, int | None]:
        """Used, total and the driver's own share, in bytes.

        Used is nvidia-smi's number, without that share; an old driver or binding does not tell the two apart.
        """
        version = getattr(self._binding, "nvmlMemory_v2", None)
        calls: list[tuple[object, ...]] = [("nvmlDeviceGetMemoryInfo", handle)]
        if version is not None:
            calls.insert(0, ("nvmlDeviceGetMemoryInfo", handle, version))
        value = self.ask("memory_used", *calls)
        if value is None:
            self.missing["memory_total"] = self.missing["memory_reserved"] = self.missing["memory_used"]
            return None, None, None
        total, free = int(getattr(value, "total", 0)), int(getattr(value, "free", 0))
        if not 0 < total < _LARGEST_MEMORY or not 0 <= free <= total:
            for name in ("memory_used", "memory_total", "memory_reserved"):
                self.missing[name] = "implausible"
            return None, None, None
        reserved = getattr(value, "reserved", None)
        if reserved is None:
            self.missing["memory_reserved"] = "driver-too-old"
        return max(total - free - (reserved or 0), 0), total, reserved


def _under_windows(gpu: Gpu) -> Gpu:
    """A GPU that Windows shares: what it keeps to itself is no fault of the GPU, and no process is not nobody."""
    missing = {name: "wsl" if code == "not-supported" else code for name, code in gpu.missing.items()}
    if gpu.processes:
        return replace(gpu, missing=missing)
    if gpu.processes is not None:
        missing["processes"] = "wsl"
    return replace(gpu, missing=missing, processes=None)


def _refused(index: int, reason: str) -> Gpu:
    """A GPU whose handle the driver does not give."""
    states: dict[str, Literal["lost", "denied"]] = {"lost": "lost", "no-permission": "denied"}
    return unreadable(index, states.get(reason, "error"), reason)


def _mig_instance(binding: ModuleType, parent: object, slot: int) -> tuple[MigInstance, object] | None:
    reads = _Reads(binding)
    handle = reads.ask("uuid", ("nvmlDeviceGetMigDeviceHandleByIndex", parent, slot))
    if handle is None:
        return None
    used, total, _ = reads.memory(handle)
    reads.missing.pop("memory_reserved", None)
    found = MigInstance(
        slot,
        _text(reads.ask("uuid", ("nvmlDeviceGetUUID", handle))),
        _text(reads.ask("name", ("nvmlDeviceGetName", handle))),
        reads.number("instance", ("nvmlDeviceGetGpuInstanceId", handle)),
        used,
        total,
        reads.missing,
    )
    return found, handle


def _clock_reasons(reads: _Reads, handle: object) -> tuple[str, ...] | None:
    mask = reads.number(
        "clock_reasons",
        ("nvmlDeviceGetCurrentClocksEventReasons", handle),
        ("nvmlDeviceGetCurrentClocksThrottleReasons", handle),
    )
    return None if mask is None else tuple(_words(mask))


def _words(mask: int) -> Iterator[str]:
    return (word for bit, word in _CLOCK_REASONS.items() if mask & bit)


def _numbers(value: object | None) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else ()


def _text(value: object | None) -> str | None:
    """A driver's string, as text; old bindings give bytes."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return None if value is None else str(value)
