"""A snapshot as JSON and back, and as the short lines of a run's GPU record.

The long form is what `prl-tui gpus --json` prints and what the sampler sends: plain numbers and nulls, each null
with its reason under `missing`. The record is for hours at one line a sweep: a header line that names the GPUs,
written again whenever they change, then `{"time", "gpus": [[index, utilization, …], …]}`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

from prl_tui.core.value import as_dict
from prl_tui.machine.gpu_faults import GpuFault, missing_reason
from prl_tui.machine.gpus import Gpu, GpuProcess, GpuSnapshot, MigInstance

if TYPE_CHECKING:
    from collections.abc import Mapping

RECORD_COLUMNS = ("index", "utilization", "memory_used", "power", "temperature", "sm_clock")
_RECORD_NAMES = ("index", "uuid", "name", "memory_total", "power_limit")
_DERIVED = ("busy", "problem")


def to_json(snapshot: GpuSnapshot) -> dict[str, object]:
    """The whole snapshot in plain JSON types; bytes, percent, watts, °C, MHz."""
    fault = snapshot.fault
    problem = {"code": fault.code, "message": fault.sentence, "details": dict(fault.details)} if fault else None
    return {
        "time": snapshot.time,
        "driver": snapshot.driver,
        "cuda": snapshot.cuda,
        "problem": problem,
        "gpus": [_gpu_to_json(gpu) for gpu in snapshot.gpus],
    }


def from_json(value: Mapping[str, object]) -> GpuSnapshot:
    """The snapshot that `to_json` wrote; ValueError if it is none."""
    try:
        problem = cast("Mapping[str, Mapping[str, str]] | None", value["problem"])
        rows = cast("list[dict[str, object]]", value["gpus"])
        return GpuSnapshot(
            float(cast("float", value["time"])),
            tuple(_gpu_from_json(row) for row in rows),
            cast("str | None", value["driver"]),
            cast("str | None", value["cuda"]),
            GpuFault(str(problem["code"]), dict(problem["details"])) if problem else None,
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a GPU snapshot: {error}") from error


def reasons(gpu: Gpu) -> dict[str, str]:
    """Why each unknown value of a GPU is unknown, in words."""
    return {name: missing_reason(code) for name, code in gpu.missing.items()}


def line(snapshot: GpuSnapshot) -> bytes:
    """The long form as one line."""
    return _line(to_json(snapshot))


def record_header(snapshot: GpuSnapshot) -> bytes:
    """The record's line that says which GPUs and columns follow."""
    named = [{name: getattr(gpu, name) for name in _RECORD_NAMES} for gpu in snapshot.gpus]
    return _line({"driver": snapshot.driver, "columns": RECORD_COLUMNS, "gpus": named})


def record_line(snapshot: GpuSnapshot) -> bytes:
    """One sweep in the record: a row of numbers per GPU, null where unknown; the fault's code if there is one."""
    rows = [[getattr(gpu, name) for name in RECORD_COLUMNS] for gpu in snapshot.gpus]
    value: dict[str, object] = {"time": round(snapshot.time, 2), "gpus": rows}
    if snapshot.fault:
        value["problem"] = snapshot.fault.code
    return _line(value)


def _line(value: object) -> bytes:
    # ASCII: a lone surrogate in a process's name must not end the sampler.
    return json.dumps(value, separators=(",", ":")).encode("ascii") + b"\n"


def _plain(value: Gpu | GpuProcess | MigInstance) -> dict[str, object]:
    return as_dict(value) | {"missing": dict(value.missing)}


def _gpu_to_json(gpu: Gpu) -> dict[str, object]:
    found = _plain(gpu)
    found["mig_instances"] = [_plain(one) for one in gpu.mig_instances]
    found["processes"] = None if gpu.processes is None else [_plain(one) for one in gpu.processes]
    found["clock_reasons"] = None if gpu.clock_reasons is None else list(gpu.clock_reasons)
    return found | {name: getattr(gpu, name) for name in _DERIVED}


def _gpu_from_json(row: dict[str, object]) -> Gpu:
    values = {name: value for name, value in row.items() if name not in _DERIVED}
    slices = cast("list[dict[str, object]]", values["mig_instances"])
    processes = cast("list[dict[str, object]] | None", values["processes"])
    words = cast("list[str] | None", values["clock_reasons"])
    values["mig_instances"] = tuple(MigInstance(**one) for one in slices)  # type: ignore[arg-type]
    values["processes"] = processes if processes is None else tuple(GpuProcess(**one) for one in processes)  # type: ignore[arg-type]
    values["clock_reasons"] = words if words is None else tuple(words)
    return Gpu(**values)  # type: ignore[arg-type]
