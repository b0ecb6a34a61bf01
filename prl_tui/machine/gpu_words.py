"""GPUs as lines of text for a terminal without a screen."""

from __future__ import annotations

from prl_tui.i18n import pad, t
from prl_tui.lists import listed
from prl_tui.machine.gpus import Gpu, GpuSnapshot

UNKNOWN = "–"


def table(snapshot: GpuSnapshot) -> list[str]:
    """A header and one line for each GPU; unknown is a dash."""
    width = max((len(gpu.name or UNKNOWN) for gpu in snapshot.gpus), default=4)
    titles = (("#", 2), (t("name"), -width), (t("memory GiB"), 15), (t("util"), 6), (t("power W"), 9), ("°C", 4))
    head = "  ".join(pad(title, abs(room), right=room > 0) for title, room in titles) + f"  {t('used by')}"
    return [head, *(_line(gpu, width) for gpu in snapshot.gpus)]


def _line(gpu: Gpu, width: int) -> str:
    memory = f"{_gib(gpu.memory_used)} / {_gib(gpu.memory_total)}"
    power = f"{_whole(gpu.power)} / {_whole(gpu.power_limit)}"
    util = f"{_whole(gpu.utilization)} %"
    name = gpu.name or UNKNOWN
    return f"{gpu.index:>2}  {name:<{width}}  {memory:>15}  {util:>6}  {power:>9}  {_whole(gpu.temperature):>4}  {users(gpu)}"


def users(gpu: Gpu) -> str:
    """Who uses a GPU, in words."""
    if gpu.problem:
        return f"! {gpu.problem}"
    if gpu.processes:
        names = [" ".join(part for part in (p.user, p.command or str(p.pid or "")) if part) for p in gpu.processes]
        return listed(name or UNKNOWN for name in names)
    return UNKNOWN if gpu.busy is None else t("in use") if gpu.busy else t("free")


def _gib(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value / 2**30:.1f}"


def _whole(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.0f}"
