"""logs --gpus: what a run's GPUs and host did while it ran, as its recorder wrote it down."""

from __future__ import annotations

import argparse
import time

from prl_tui.cli.exits import CommandError, Exit
from prl_tui.cli.streams import print_json
from prl_tui.i18n import pad, t
from prl_tui.machine.gpu_faults import GpuFault
from prl_tui.runs.folder import RunFolder
from prl_tui.telemetry import gpu_history
from prl_tui.telemetry.durations import format_duration
from prl_tui.telemetry.gpu_history import GPU_COLUMNS, HOST_COLUMNS, Header, Numbers, Row

_GIB = 1024.0
"""MiB in a GiB."""


def rows(folder: RunFolder, args: argparse.Namespace) -> int:
    """Oldest first; `-n N` the last N, `--json` one object a line."""
    if args.follow or args.grep or args.rank is not None:
        raise CommandError(t("--gpus goes with -n and --json only."))
    path = folder.path / gpu_history.FILE
    if not path.is_file():
        raise CommandError(t("run {id} has no record of its GPUs.", id=folder.id))
    found = gpu_history.read(path) if args.lines is None else gpu_history.tail(path, args.lines)
    before: Header | None = None
    last: Row | None = None
    problem = ""
    for header, row in found:
        gap = row.gap(last)
        last = row
        if args.json:
            print_json(_data(header, row, gap), None)
            continue
        if gap:
            print(t("not recorded for {time}", time=format_duration(gap)))
        if header is not None and header != before:
            for index, uuid, name, _ in header.gpus:
                print(t("GPU {index}: {name}, {uuid}", index=index, name=name, uuid=uuid))
        before = header
        if row.problem and row.problem != problem:  # once, not in each of its rows
            print(t("GPUs not read: {reason}", reason=GpuFault(row.problem).sentence))
        problem = row.problem
        print(_line(header, row))
    return Exit.OK


def _data(header: Header | None, row: Row, gap: float) -> dict[str, object]:
    cards = header.gpus if header is not None and row.gpus else ()
    gpus = [
        {"index": index, "uuid": uuid, **_named(GPU_COLUMNS, one)}
        for (index, uuid, _, _), one in zip(cards, row.gpus, strict=False)
    ]
    host = _named(HOST_COLUMNS, row.host)
    return {
        "time": row.time,
        "seconds": row.seconds,
        "gap_before": round(gap, 1),
        "gpus": gpus,
        "host": host,
        "problem": row.problem or None,
    }


def _named(columns: tuple[str, ...], numbers: Numbers | None) -> dict[str, float | None]:
    values = numbers or ()
    return {name: values[n] if n < len(values) else None for n, name in enumerate(columns)}


def _line(header: Header | None, row: Row) -> str:
    """`11-28 14:02:07  GPU 0  98 %  77.9 GiB  671 W  61 °C   host 12 %  39.3 GiB  load 3.2`."""
    parts = [time.strftime("%m-%d %H:%M:%S", time.localtime(row.time))]
    for n, one in enumerate(row.gpus):
        index = header.gpus[n][0] if header is not None and n < len(header.gpus) else n
        parts.append(f"GPU {index}{_gpu(one)}")
    busy, memory, load, _ = (*row.host, None, None, None, None)[:4]
    parts.append(
        t(
            "host {busy}  {memory}  load {load}",
            busy=_shown(busy, "%", 4),
            memory=_gib(memory),
            load=_shown(load, "", 4),
        )
    )
    return "   ".join(parts)


def _gpu(one: Numbers | None) -> str:
    if one is None:
        return pad("  –", 34)
    util, memory, power, temperature, _ = (*one, None, None, None, None, None)[:5]
    return f"{_shown(util, '%', 5)} {_gib(memory)} {_shown(power, 'W', 5)} {_shown(temperature, '°C', 4)}"


def _gib(mib: float | None) -> str:
    return f"{'–' if mib is None else f'{mib / _GIB:.1f}':>6} GiB"


def _shown(value: float | None, unit: str, width: int) -> str:
    return f"{'–' if value is None else f'{value:.0f}':>{width}} {unit}".rstrip()
