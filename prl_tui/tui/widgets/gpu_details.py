"""All that is known of one GPU, line by line: what has no room in its row. No widget, no markup."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prl_tui.i18n import t
from prl_tui.lists import listed
from prl_tui.machine.gpus import clock_reason_word
from prl_tui.tui.widgets import gpu_cells as cells

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prl_tui.machine.gpus import Gpu, GpuProcess
    from prl_tui.runs.seats import Place

ASIDE = "  "
SETTLED = 60
"""Seconds from which a process's age is told."""
_SHOWN_SAMPLES = 60


@dataclass(frozen=True, slots=True)
class Detail:
    """One GPU, and what the run has on it."""

    gpu: Gpu
    places: Sequence[Place] = ()
    """The ranks on it or on its slices."""
    pids: frozenset[int] = frozenset()
    """Every process of the run."""
    samples: Sequence[int | None] = ()
    """Utilisations, the newest last."""
    now: float = 0.0
    """Seconds since the epoch, for ages."""
    ranks: dict[int, int] = field(default_factory=dict)
    """Rank by pid of its own process."""


def lines(one: Detail) -> list[cells.Cell]:
    """The most telling first, so that little room shows what matters; nothing is cut here."""
    return list(_lines(one))


def _lines(one: Detail) -> Iterator[cells.Cell]:
    gpu = one.gpu
    known = (t("GPU {index}", index=gpu.index), cells.short_name(gpu.name), gpu.bus)
    yield ASIDE.join(part for part in known if part), "plain"
    if gpu.problem:
        yield gpu.problem, "lost"
    if gpu.uuid and not one.places:
        yield gpu.uuid, "plain"
    for place in one.places:
        yield from _seat(gpu, place)
    if gpu.sm_clock is not None or gpu.memory_clock is not None:
        yield _clocks(gpu), "busy" if gpu.slowed else "plain"
    for line in cells.why_absent(gpu) if gpu.state == "ok" else ():
        yield f"– {line}", "muted"
    for process in sorted(gpu.processes or (), key=lambda found: -(found.memory_used or 0)):
        yield _process(one, process)
    if gpu.processes == () and gpu.state == "ok":
        yield t("no process that can be seen from here") if gpu.busy else t("no process"), "muted"
    if one.samples and any(sample is not None for sample in one.samples):
        drawn = cells.history(one.samples, min(_SHOWN_SAMPLES, len(one.samples)))
        yield f"{t('util')} {drawn.strip()}", "history"


def _seat(gpu: Gpu, place: Place) -> Iterator[cells.Cell]:
    """Rank → process → UUID, and who said so where that is not the driver."""
    found = next((one.uuid for one in gpu.mig_instances if one.slot == place.spot[1]), gpu.uuid)
    pid = None if place.pid is None else t("pid {pid}", pid=place.pid)
    yield " → ".join(part for part in (cells.ranks_word([place.rank]), pid, found) if part), "plain"
    if place.witness == "driver":
        return
    said = f"CUDA_VISIBLE_DEVICES={place.visible}" if place.visible is not None else t("it sees all GPUs")
    if place.witness == "environment":
        yield t("   by its environment, not the driver: {said}", said=said), "muted"
    else:
        yield t("   by the run's settings: {said}", said=said), "muted"


def _clocks(gpu: Gpu) -> str:
    figures = t(
        "clocks {sm} MHz, memory {memory} MHz",
        sm=cells.UNKNOWN if gpu.sm_clock is None else gpu.sm_clock,
        memory=cells.UNKNOWN if gpu.memory_clock is None else gpu.memory_clock,
    )
    if not gpu.clock_reasons:
        return figures
    if gpu.clock_reasons == ("idle",):
        return figures + ASIDE + clock_reason_word("idle")
    why = listed(clock_reason_word(code) for code in gpu.clock_reasons)
    return figures + ASIDE + t("held down by: {why}", why=why)


def _process(one: Detail, process: GpuProcess) -> cells.Cell:
    """`pid 4242  r0  60.0 GiB  python train.py  alice  3 h`; who is not of the run stands out."""
    ours = process.visible and process.pid in one.pids
    held = process.memory_used
    parts = [
        t("pid {pid}", pid=cells.UNKNOWN if process.pid is None else process.pid),
        cells.ranks_word([one.ranks[process.pid]]) if process.pid in one.ranks and ours else "",
        cells.UNKNOWN if held is None else f"{held / (1 << 30):.1f} GiB",
    ]
    if not process.visible:
        parts.append(t("hidden: of another container or user"))
        return ASIDE.join(part for part in parts if part), "muted"
    age = 0.0 if process.started is None else one.now - process.started
    old = cells.age(age) if age >= SETTLED else ""  # seconds would be drawn anew each second
    parts += [part for part in (process.command, process.user, old) if part]
    if one.pids and not ours:
        parts.append(t("! not of this run"))
    return ASIDE.join(part for part in parts if part), "busy" if one.pids and not ours else "plain"
