"""On which GPU each rank of a run works: rank → process → what that process may see → the card in NVML's order.

Two witnesses. The driver names the processes on each card, which is the truth wherever its numbers mean processes of
this place; in a container they are the host's. Else the rank's own environment says it, as its launcher set it:
LOCAL_RANK is its place in its CUDA_VISIBLE_DEVICES. Without a living process the run's settings are left.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from prl_tui.machine.gpu_spots import spot_of, spot_of_processes
from prl_tui.machine.gpus import GpuSnapshot
from prl_tui.runs import proctree, stop
from prl_tui.runs.folder import RunFolder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prl_tui.machine.gpu_spots import Spot

Witness = Literal["driver", "environment", "settings"]
FIRST_LOOKS = 2.0
"""Seconds between two looks at /proc while ranks are still starting."""
LATER_LOOKS = 15.0
"""Seconds between two once they are all there."""


@dataclass(frozen=True, slots=True)
class Seat:
    """One rank's own process."""

    rank: int
    local_rank: int
    pid: int
    visible: str | None
    """Its CUDA_VISIBLE_DEVICES; None where it has none."""
    by_bus: bool
    """Its CUDA_DEVICE_ORDER is PCI_BUS_ID."""
    below: frozenset[int] = frozenset()
    """Processes below it: loaders, workers that generate."""
    named: bool = True
    """Its launcher called it a rank; else it is the only process that there is, and may use no GPU at all."""


@dataclass(frozen=True, slots=True)
class Seats:
    """The ranks of a run that live, and every process of it."""

    ranks: tuple[Seat, ...] = ()
    """By rank."""
    pids: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Place:
    """Where one rank works."""

    rank: int
    spot: Spot
    witness: Witness
    pid: int | None = None
    visible: str | None = None


def look(folder: RunFolder) -> Seats:
    """The ranks that live now on this box; empty for a run of another one."""
    return of_processes(stop.leftovers(folder), environment)


def of_processes(seen: Sequence[proctree.Seen], environment: Callable[[int], Mapping[str, str]]) -> Seats:
    """Seats among processes; loaders and workers of a rank inherit its variables, so the uppermost one has the seat.

    A platform may have set RANK for a whole node: where a launcher set LOCAL_RANK too, only that counts.
    """
    found = {one.pid: environment(one.pid) for one in seen}
    named = {pid: key for pid, one in found.items() if (key := _rank_key(one))[0]}
    if any(local for _, local in named.values()):
        named = {pid: key for pid, key in named.items() if key[1]}
    below = _families(seen)
    seats = [
        _seat(one.pid, found[one.pid], below(one.pid)) for one in seen
        if one.pid in named and named.get(one.parent) != named[one.pid]
    ]  # fmt: skip
    if not named:  # a program without a launcher: its processes are rank 0
        alone = [_seat(one.pid, found[one.pid], below(one.pid)) for one in seen if one.parent not in found]
        seats = [replace(seat, named=False) for seat in alone[:1]]
    return Seats(tuple(sorted(seats, key=lambda seat: (seat.rank, seat.pid))), frozenset(found))


def _rank_key(found: Mapping[str, str]) -> tuple[str, str]:
    return tuple(value if (value := found.get(name, "")).isdigit() else "" for name in ("RANK", "LOCAL_RANK"))  # type: ignore[return-value]


def _seat(pid: int, found: Mapping[str, str], below: set[int]) -> Seat:
    rank, local = _rank_key(found)
    return Seat(
        int(rank or 0),
        int(local or rank or 0),
        pid,
        found.get("CUDA_VISIBLE_DEVICES"),
        found.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID",
        frozenset(below),
    )


def places(
    seats: Seats,
    snapshot: GpuSnapshot,
    ranks: Iterable[int] = (),
    settings: Mapping[str, object] | None = None,
    before: Iterable[Place] = (),
) -> tuple[Place, ...]:
    """Where each rank works, as far as that is known, by rank.

    `ranks` and `settings` (`run.json`'s values) stand in where no process of a rank lives. `before`: what was known
    so far, as a process stays where it was when its GPU is lost or the driver stops to tell.
    """
    known = {place.pid: place for place in before if place.pid is not None}
    found = [place for seat in seats.ranks if (place := _place(seat, snapshot, known.get(seat.pid))) is not None]
    if seats.ranks:
        return tuple(found)
    spec = (settings or {}).get("cuda_visible_devices")
    visible = spec if isinstance(spec, str) else None
    for rank in sorted(ranks):
        spot = spot_of(visible, rank, snapshot)
        if spot is not None:
            found.append(Place(rank, spot, "settings", None, visible))
    return tuple(found)


def _place(seat: Seat, snapshot: GpuSnapshot, before: Place | None) -> Place | None:
    witness: Witness = "driver"
    spot = spot_of_processes({seat.pid}, snapshot) or spot_of_processes(seat.below, snapshot)
    if spot is None and before is not None:
        return before
    if spot is None and (seat.named or seat.visible):
        witness = "environment"
        spot = spot_of(seat.visible, seat.local_rank, snapshot, by_bus=seat.by_bus)
    return None if spot is None else Place(seat.rank, spot, witness, seat.pid, seat.visible)


class SeatWatch:
    """Looks at a run's processes now and then: often until every rank sits, seldom afterwards."""

    def __init__(self, folder: RunFolder, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder, self._clock = folder, clock
        self._seats = Seats()
        self._expected = 0
        self._next = 0.0

    def poll(self, expected: int) -> Seats:
        """The seats; the same object while nobody came or went. `expected`: how many ranks are known otherwise."""
        now = self._clock()
        gone = any(proctree.start_ticks(seat.pid) is None for seat in self._seats.ranks)
        if now >= self._next or gone or expected > self._expected:
            found = look(self._folder)
            self._seats = found if found != self._seats else self._seats
            self._expected = expected
            complete = len(found.ranks) >= max(1, expected)
            self._next = now + (LATER_LOOKS if complete else FIRST_LOOKS)
        return self._seats


def environment(pid: int) -> dict[str, str]:
    """The environment that a process was started with; empty where that is hidden."""
    try:
        raw = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return {}
    pairs = (item.partition(b"=") for item in raw.split(b"\0"))
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def _families(seen: Sequence[proctree.Seen]) -> Callable[[int], set[int]]:
    children: dict[int, list[int]] = {}
    for one in seen:
        children.setdefault(one.parent, []).append(one.pid)

    def below(pid: int) -> set[int]:
        found: set[int] = set()
        todo = [pid]
        while todo:
            new = [child for child in children.get(todo.pop(), ()) if child not in found]
            found.update(new)
            todo += new
        return found

    return below
