"""The history of a run's GPUs and host as a small file: one line a second at first, old ones merged as it grows.

    {"driver": "…", "gpus": [{"index": 0, "uuid": "GPU-…", "name": "…", "memory_total": …}]}    which GPUs follow
    {"t": 1700000000.1, "s": 1, "g": [[98, 77900, 671, 61, 1980], null], "h": [12, 40210, 3.2, 512000, 515000, 0]}

A row's GPU has utilisation (percent), memory (MiB), power (W), temperature (°C) and SM clock (MHz); its host
processors (percent), memory used (MiB), load, free disk of the run's folder (MiB), whole memory (MiB) and the
processes that the kernel has killed for want of memory since boot; older rows lack the last two. What is not known is null.
A row with `"b": 1` is the first one of a recorder: between it and the row before it nothing was recorded.
Merged rows keep what a person looks for: the mean of utilisation, power, clock, processors and load, the largest
memory and temperature, the smallest free disk. Reading and merging go line by line, so neither needs memory.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from prl_tui import regular
from prl_tui.core.value import Value

if TYPE_CHECKING:
    from pathlib import Path

FILE = "history.jsonl"
GPU_COLUMNS = ("utilization", "memory_mib", "power", "temperature", "sm_clock")
HOST_COLUMNS = ("cpu", "memory_mib", "load", "disk_free_mib", "memory_total_mib", "oom_kills")
_GPU_RULES = ("mean", "max", "mean", "max", "mean")
_HOST_RULES = ("mean", "max", "mean", "min", "max", "max")
LARGEST = 4 << 20
"""Bytes after which old rows are merged: three hours of eight GPUs at one row a second."""
RECENT = 900.0
"""Seconds at the end that stay as they were recorded."""

Numbers = tuple["float | None", ...]
_LATEST = 1e11
"""Seconds since 1970 that no clock shows; a calendar ends a little later."""


class Row(Value):
    """One moment, or several merged ones."""

    time: float
    """Seconds since 1970, at its beginning."""
    seconds: float
    """That it stands for."""
    gpus: tuple[Numbers | None, ...] = ()
    """By the header's GPUs; None for one that could not be read."""
    host: Numbers = ()
    problem: str = ""
    """Code of the fault that hid the GPUs: `hung`, `no-library` …"""
    begins: bool = False
    """The first one of a recorder."""

    def gap(self, before: Row | None) -> float:
        """Seconds between the row before it and this one in which nothing was recorded; 0 where none are missing."""
        if before is None or not self.begins:  # a clock that was set forward is no gap
            return 0.0
        missing = self.time - before.time - before.seconds
        return missing if missing > self.seconds else 0.0

    def line(self) -> bytes:
        """As a line of the file."""
        value: dict[str, Any] = {"t": round(self.time, 1), "s": round(self.seconds, 1)}
        value |= {"g": [None if one is None else list(map(_short, one)) for one in self.gpus]}
        value |= {"h": list(map(_short, self.host))}
        if self.problem:
            value["p"] = self.problem
        if self.begins:
            value["b"] = 1
        return _line(value)


class Header(Value):
    """Which GPUs the rows below it speak of."""

    driver: str | None
    gpus: tuple[tuple[int, str, str, int | None], ...]
    """Index, UUID, name, memory in bytes."""

    def line(self) -> bytes:
        """As a line of the file."""
        names = ("index", "uuid", "name", "memory_total")
        return _line({"driver": self.driver, "gpus": [dict(zip(names, one, strict=True)) for one in self.gpus]})


def read(path: Path, since: float = 0.0) -> Iterator[tuple[Header | None, Row]]:
    """The rows from a moment on, each with its header; damaged lines are left out. Nothing where there is no file."""
    header: Header | None = None
    try:
        with regular.opened(path) as file:
            for raw in file:
                found = _parse(raw)
                if isinstance(found, Header):
                    header = found
                elif found is not None and found.time >= since:
                    yield header, found
    except OSError:
        return


def tail(path: Path, most: int) -> list[tuple[Header | None, Row]]:
    """The last rows."""
    from collections import deque

    return list(deque(read(path), maxlen=most))


def utilizations(path: Path, most: int) -> dict[str, list[int | None]]:
    """UUID → utilisation of the last rows, the newest last; as many None as rows are missing in a gap."""
    found: dict[str, list[int | None]] = {}
    before: Row | None = None
    for header, row in tail(path, most):
        missing = min(most, round(row.gap(before) / row.seconds)) if row.seconds else 0
        for known in found.values():
            known.extend([None] * missing)
        before = row
        for n, (_, uuid, _, _) in enumerate(header.gpus if header is not None else ()):
            numbers = row.gpus[n] if n < len(row.gpus) else None
            value = numbers[0] if numbers is not None else None
            found.setdefault(uuid, []).append(None if value is None else round(value))
    return {uuid: known[-most:] for uuid, known in found.items()}


def merge(rows: Iterable[Row]) -> Row:
    """One row for several, weighted by the time that each stands for. ValueError for none."""
    many = list(rows)
    if not many:
        raise ValueError("no rows")
    weights = [row.seconds for row in many]
    width = max(len(row.gpus) for row in many)
    gpus = tuple(
        _merge_gpu([(row.gpus[n] if n < len(row.gpus) else None) for row in many], weights) for n in range(width)
    )
    host = _merge([row.host for row in many], weights, _HOST_RULES)
    problem = next((row.problem for row in many if row.problem), "")
    return Row(many[0].time, sum(weights), gpus, host, problem, many[0].begins)


def _merge_gpu(many: list[Numbers | None], weights: list[float]) -> Numbers | None:
    known = [(one, weight) for one, weight in zip(many, weights, strict=True) if one is not None]
    return _merge([one for one, _ in known], [weight for _, weight in known], _GPU_RULES) if known else None


def _merge(many: list[Numbers], weights: list[float], rules: tuple[str, ...]) -> Numbers:
    found: list[float | None] = []
    for n, rule in enumerate(rules):
        known = [(one[n], weight) for one, weight in zip(many, weights, strict=True) if n < len(one)]
        pairs = [(value, weight) for value, weight in known if value is not None]
        if not pairs:
            found.append(None)
        elif rule == "mean":
            total = sum(weight for _, weight in pairs)
            found.append(sum(value * weight for value, weight in pairs) / total if total else pairs[0][0])
        else:
            found.append((max if rule == "max" else min)(value for value, _ in pairs))
    return tuple(found)


class Writer:
    """Appends rows to one file and keeps it small. A disk that is full costs rows, never the one who writes."""

    def __init__(self, path: Path, largest: int = LARGEST, recent: float = RECENT) -> None:
        self._path, self._largest, self._recent = path, largest, recent
        self._header: Header | None = None
        self._step = 1.0
        """Seconds that an old row stands for, at least."""

    def add(self, header: Header | None, row: Row) -> None:
        """Append a row, below a new header where the GPUs are others than before."""
        data = row.line()
        if header is not None and header != self._header:
            data = header.line() + data
        with contextlib.suppress(OSError):
            size = self._append(data)
            self._header = header if header is not None else self._header
            if size > self._largest:
                self._shrink(row.time)

    def _append(self, data: bytes) -> int:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            if size > 2 * self._largest:
                return size  # it could not be made smaller so far
            written = os.write(descriptor, data)
            if written < len(data):
                os.ftruncate(descriptor, size)  # half a row would only be noise
                return size
            return size + written
        finally:
            os.close(descriptor)

    def _shrink(self, now: float) -> None:
        """Merge old rows, more of them into one until half the room is free."""
        beside = self._path.with_name(f".{self._path.name}.{os.getpid()}.tmp")
        try:
            for _ in range(20):
                self._step *= 2
                self._thin(beside, now - self._recent)
                beside.replace(self._path)
                if self._path.stat().st_size <= self._largest / 2:
                    return
        finally:
            with contextlib.suppress(OSError):
                beside.unlink()

    def _thin(self, target: Path, before: float) -> None:
        """Copy the file; rows older than `before` are merged until each stands for `_step` seconds."""
        with self._path.open("rb") as source, target.open("wb") as out:
            target.chmod(0o600)
            waiting: list[Row] = []
            for raw in source:
                found = _parse(raw)
                if isinstance(found, Row) and found.begins and waiting:  # a gap stays one
                    out.write(merge(waiting).line())
                    waiting.clear()
                if isinstance(found, Row) and found.time < before:
                    waiting.append(found)
                    if sum(row.seconds for row in waiting) < self._step:
                        continue
                    found = None
                if waiting:
                    out.write(merge(waiting).line())
                    waiting.clear()
                if found is not None:
                    out.write(found.line())
            if waiting:
                out.write(merge(waiting).line())


def _short(value: float | None) -> float | int | None:
    if value is None:
        return None
    return round(value) if abs(value) >= 20 else round(value, 1)


def _line(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii") + b"\n"


def _parse(raw: bytes) -> Header | Row | None:
    """A line of the file; None for one that is damaged."""
    try:
        value = json.loads(raw)
        if "t" not in value:
            return Header(
                value["driver"],
                tuple(
                    (int(one["index"]), str(one["uuid"]), str(one["name"]), one["memory_total"])
                    for one in value["gpus"]
                ),
            )
        gpus = tuple(None if one is None else _numbers(one) for one in value["g"])
        moment, lasts = float(value["t"]), float(value["s"])
        if not (0 <= moment < _LATEST and 0 <= lasts < _LATEST):
            return None
        return Row(
            moment,
            lasts,
            gpus,
            _numbers(value["h"]),
            str(value.get("p", "")),
            value.get("b") == 1,
        )
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None


def _numbers(values: Iterable[object]) -> Numbers:
    return tuple(float(one) if isinstance(one, (int, float)) else None for one in values)
