"""The GPU table as text, before any widget: which columns fit, and what stands in each cell.

Widths come from the room alone, never from a value, so nothing moves when a number changes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len, set_cell_size

from prl_tui.i18n import nt, t
from prl_tui.lists import listed
from prl_tui.machine.gpu_faults import missing_reason
from prl_tui.machine.gpus import clock_reason_short, clock_reason_word
from prl_tui.machine.processes import printable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from prl_tui.machine.gpus import Gpu, GpuProcess, GpuSnapshot, MigInstance

Column = Literal[
    "use", "rank", "index", "name", "memory", "bar", "util", "history", "power", "temperature", "clock", "used", "note"
]
Role = Literal["plain", "muted", "free", "busy", "lost", "bar", "history"]
Cell = tuple[str, Role]

CONFIGURE: tuple[Column, ...] = ("use", "index", "name", "memory", "bar", "util", "power", "temperature", "used")
WATCH: tuple[Column, ...] = ("rank", "index", "util", "history", "memory", "power", "temperature", "clock", "note")

UNKNOWN = "–"
GAP = 2
_LAST: tuple[Column, ...] = ("used", "note")
_LEFT: tuple[Column, ...] = ("use", "name", "bar", "history", *_LAST)
_FULL: dict[Column, int] = {
    "use": 3,
    "rank": 4,
    "index": 2,
    "name": 16,
    "memory": 13,
    "bar": 8,
    "util": 6,
    "history": 10,
    "power": 11,
    "temperature": 3,
    "clock": 4,
}
_MIDDLE: dict[Column, int] = {**_FULL, "history": 5}
_COMPACT: dict[Column, int] = {**_FULL, "name": 14, "bar": 0, "history": 5, "power": 5}
_DROPPED_FIRST: tuple[Column, ...] = (
    "clock",
    "bar",
    "name",
    "history",
    "temperature",
    "power",
    "rank",
    "use",
    "note",
    "used",
    "memory",
)
_COLON = re.compile("[:：]")
_LEVELS = "▁▂▃▄▅▆▇█"
_EIGHTHS = " ▏▎▍▌▋▊▉"


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns that fit, with their widths in cells."""

    columns: tuple[tuple[Column, int], ...]
    compact: bool


def layout(wanted: Sequence[Column], width: int) -> Layout:
    """The columns of `wanted` that fit into `width` cells: full, else compact, else without the least needed."""
    for sizes, rest, compact in ((_FULL, 12, False), (_MIDDLE, 8, False), (_COMPACT, 6, True)):
        if sizes is _MIDDLE and "history" not in wanted:
            continue
        shown = [name for name in wanted if name in _LAST or sizes[name]]
        if _fixed(shown, sizes) + (rest if any(name in _LAST for name in shown) else 0) <= width:
            return Layout(_sized(shown, sizes, width), compact)
    shown = [name for name in wanted if name in _LAST or _COMPACT[name]]
    for name in _DROPPED_FIRST:
        if _fixed(shown, _COMPACT) + (6 if any(one in _LAST for one in shown) else 0) <= width:
            break
        shown = [one for one in shown if one != name]
    return Layout(_sized(shown, _COMPACT, width), compact=True)


def _fixed(shown: Sequence[Column], sizes: dict[Column, int]) -> int:
    return sum(sizes.get(name, 0) for name in shown) + GAP * max(0, len(shown) - 1)


def _sized(shown: Sequence[Column], sizes: dict[Column, int], width: int) -> tuple[tuple[Column, int], ...]:
    rest = max(1, width - _fixed(shown, sizes))
    return tuple((name, rest if name in _LAST else sizes[name]) for name in shown)


def title(column: Column, *, compact: bool) -> str:
    """A column's heading, with its unit."""
    titles: dict[Column, str] = {
        "use": t("use"),
        "rank": t("rank"),
        "index": "#",
        "name": t("name"),
        "memory": t("memory GiB"),
        "util": t("util"),
        "power": "W" if compact else t("power W"),
        "temperature": "°C",
        "clock": "MHz",
        "used": t("used by"),
    }
    return titles.get(column, "")


def fit(text: str, width: int, column: Column) -> str:
    """`text` in exactly `width` cells, numbers to the right; what is too long ends in …."""
    shown = printable(text)
    if cell_len(shown) > width:
        shown = set_cell_size(shown, width - 1) + "…" if width > 1 else set_cell_size(shown, width)
    space = " " * (width - cell_len(shown))
    return shown + space if column in _LEFT else space + shown


def gpu_cell(column: Column, width: int, gpu: Gpu, *, compact: bool) -> Cell:
    """One cell of a GPU's own values."""
    text = _value(column, gpu, compact=compact)
    if text is not None:
        return text, "muted" if text == UNKNOWN else "plain"
    if column == "bar":
        return bar(gpu.memory_used, gpu.memory_total, width), "bar"
    return state(gpu) or ("", "plain")


def _value(column: Column, gpu: Gpu, *, compact: bool) -> str | None:
    if column == "index":
        return str(gpu.index)
    if column == "name":
        return short_name(gpu.name)
    if column == "memory":
        return memory(gpu.memory_used, gpu.memory_total)
    if column == "util":
        return UNKNOWN if gpu.utilization is None else f"{gpu.utilization} %"
    if column == "power":
        return power(gpu.power, None if compact else gpu.power_limit, limit=not compact)
    if column in ("temperature", "clock"):
        number = gpu.temperature if column == "temperature" else gpu.sm_clock
        return UNKNOWN if number is None else str(number)
    return None


def slice_cell(column: Column, width: int, gpu: Gpu, found: MigInstance, now: float) -> Cell:
    """One cell of a MIG instance's row below its GPU."""
    own = [one for one in gpu.processes or () if one.instance is not None and one.instance == found.instance]
    if column == "index":
        return "└", "muted"
    if column == "name":
        return short_name(found.name), "plain"
    if column == "memory":
        return memory(found.memory_used, found.memory_total), "plain"
    if column == "bar":
        return bar(found.memory_used, found.memory_total, width), "bar"
    if column == "used" and own:
        return users(own, now), "busy"
    if column == "note":
        return short_name(found.name).removeprefix("MIG "), "muted"
    return "", "plain"


def state(gpu: Gpu) -> Cell | None:
    """What is wrong with a GPU, in a few words; None if it is usable."""
    if gpu.state == "ok":
        return None
    if gpu.state == "lost":
        return t("✗ lost"), "lost"
    if gpu.state == "denied":
        return t("✗ denied"), "lost"
    return (t("✗ reset it") if "reset-required" in gpu.missing.values() else t("✗ errors")), "lost"


def used_by(gpu: Gpu, now: float) -> Cell:
    """Who uses a GPU: free, a process with its owner and age, or that it cannot be known."""
    wrong = state(gpu)
    if wrong is not None:
        return wrong
    busy = gpu.busy
    if busy is None:
        return t("· unknown"), "muted"
    if not busy:
        return t("free"), "free"
    if not gpu.processes:
        return t("! in use, hidden process"), "busy"
    return users(gpu.processes, now), "busy"


def note(gpu: Gpu, said: str, width: int = 80) -> Cell:
    """What is remarkable about a GPU of a run: its fault, a slowed clock, what the screen says, why a value is absent."""
    wrong = state(gpu)
    if wrong is not None:
        return wrong
    if gpu.slowed:
        code = gpu.slowed[0]
        words = [t("! slowed: {why}", why=why) for why in (clock_reason_word(code), clock_reason_short(code))]
        return next((one for one in words if cell_len(one) <= width), f"! {clock_reason_short(code)}"), "busy"
    if said:
        short = said if cell_len(said) <= width else _COLON.split(said)[0]
        return short, "busy" if said.startswith("!") else "plain"
    held = held_down(gpu)
    if held:
        return held, "muted"
    absent = why_absent(gpu)
    if absent and cell_len(absent[0]) > width:
        absent = [t("MIG is on") if "mig" in gpu.missing.values() else t("↑ ↓: why")]
    return (absent[0], "muted") if absent else ("", "plain")


def held_down(gpu: Gpu) -> str:
    """Why the clock is not higher, in words; "" where nothing holds it, or only that there is no work."""
    return listed(clock_reason_word(code) for code in gpu.clock_reasons or () if code != "idle")


def why_absent(gpu: Gpu) -> list[str]:
    """One line for each reason why values are dashes: `util, power: this GPU does not report it`."""
    shown = {
        "utilization": t("util"),
        "memory_used": t("memory"),
        "power": t("power"),
        "power_limit": t("power limit"),
        "temperature": t("temperature"),
        "sm_clock": t("clock"),
        "processes": t("processes"),
    }
    grouped: dict[str, list[str]] = {}
    for name, word in shown.items():
        if name in gpu.missing:
            grouped.setdefault(missing_reason(gpu.missing[name]), []).append(word)
    return [t("{values}: {why}", values=listed(words), why=why) for why, words in grouped.items()]


def ranks_word(ranks: Sequence[int], width: int = 4) -> str:
    """`r0`, `r0-3` for neighbours, `r0,4`; `r0 +2` or less where that has no room."""
    if not ranks:
        return ""
    first, last = ranks[0], ranks[-1]
    several = tuple(ranks) == tuple(range(first, last + 1))
    word = f"r{first}" if len(ranks) == 1 else f"r{first}-{last}" if several else "r" + ",".join(map(str, ranks))
    return word if cell_len(word) <= width else f"r{first}+"


def users(processes: Sequence[GpuProcess], now: float) -> str:
    """`! user, program, age` of the largest process, and how many more there are."""
    first = max(processes, key=lambda one: one.memory_used or 0)
    others = len(processes) - 1
    found = _user(first, now)
    return t("! {first} (+{n})", first=found, n=others) if others else f"! {found}"


def _user(process: GpuProcess, now: float) -> str:
    if not process.visible:
        if process.pid is None:
            return t("in use, hidden process")
        return t("in use, hidden process {pid}", pid=process.pid)
    known = [process.user, process.command, None if process.started is None else age(now - process.started)]
    return listed(part for part in known if part)


def age(seconds: float) -> str:
    """A length of time in one unit."""
    whole = max(0, int(seconds))
    if whole < 60:
        return t("{n} s", n=whole)
    if whole < 3600:
        return t("{n} min", n=whole // 60)
    return t("{n} h", n=whole // 3600) if whole < 48 * 3600 else t("{n} days", n=whole // 86400)


def memory(used: int | None, total: int | None) -> str:
    """`61.2 / 79.6`, in GiB."""
    if total is None:
        return UNKNOWN
    return f"{_gib(used)} / {_gib(total)}"


def _gib(count: int | None) -> str:
    if count is None:
        return UNKNOWN
    gib = count / (1 << 30)
    return f"{gib:.1f}" if gib < 1000 else f"{gib:.0f}"


def power(watts: float | None, at_most: float | None, *, limit: bool) -> str:
    """`640 / 700`, or only the first where there is no room for the limit."""
    used = UNKNOWN if watts is None else f"{watts:.0f}"
    if not limit or (watts is None and at_most is None):
        return used
    return f"{used} / {UNKNOWN if at_most is None else f'{at_most:.0f}'}"


def bar(used: int | None, total: int | None, width: int) -> str:
    """A bar in eighths of a cell; something used is never drawn as nothing."""
    if used is None or not total:
        return ""
    eighths = min(8 * width, -(-used * 8 * width // total))
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")


def history(samples: Iterable[int | None], width: int) -> str:
    """The last `width` utilisations on the fixed scale 0 to 100; · where one is unknown."""
    last = list(samples)[-width:] if width else []
    drawn = "".join("·" if one is None else _LEVELS[min(7, max(0, one) * 8 // 101)] for one in last)
    return drawn.rjust(width)


def short_name(name: str | None) -> str:
    """A GPU's name without the maker; a MIG instance's without its GPU's."""
    if not name:
        return UNKNOWN
    if " MIG " in name:
        return "MIG " + name.rpartition(" MIG ")[2]
    return name.removeprefix("NVIDIA ").removeprefix("GeForce ").removeprefix("Tesla ")


def summary(snapshot: GpuSnapshot | None) -> str:
    """All GPUs in one line for a small screen: `2 GPUs: 1 free, 1 busy`, or the one sentence of a problem."""
    if snapshot is None:
        return t("Asking the NVIDIA driver …")
    if snapshot.problem:
        return snapshot.problem
    gpus = snapshot.gpus
    counts = (
        (t("{n} free", n=_count(gpus, [False])), _count(gpus, [False])),
        (t("{n} busy", n=_count(gpus, [True])), _count(gpus, [True])),
        (t("{n} unknown", n=_unknown(gpus)), _unknown(gpus)),
        (t("{n} not usable", n=_broken(gpus)), _broken(gpus)),
    )
    total = nt("{n} GPU", "{n} GPUs", len(gpus))
    slices = sum(len(gpu.mig_instances) for gpu in gpus)
    if slices:
        total = t("{gpus} with {slices}", gpus=total, slices=nt("{n} MIG slice", "{n} MIG slices", slices))
    return t("{gpus}: {states}", gpus=total, states=listed(words for words, count in counts if count))


def _count(gpus: Collection[Gpu], wanted: Collection[bool]) -> int:
    return sum(gpu.busy in wanted for gpu in gpus if gpu.state == "ok")


def _unknown(gpus: Collection[Gpu]) -> int:
    return sum(gpu.busy is None for gpu in gpus if gpu.state == "ok")


def _broken(gpus: Collection[Gpu]) -> int:
    return sum(gpu.state != "ok" for gpu in gpus)
