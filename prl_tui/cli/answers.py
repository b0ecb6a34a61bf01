"""logs --completions: what the model answered while it trained, with the rewards it got."""

from __future__ import annotations

import argparse
import math

from prl_tui.cli.exits import CommandError, Exit
from prl_tui.cli.streams import print_json
from prl_tui.i18n import t
from prl_tui.runs import overview
from prl_tui.runs.folder import RunFolder
from prl_tui.telemetry import completions
from prl_tui.telemetry.completions import Completion
from prl_tui.telemetry.escapes import plain


def answers(folder: RunFolder, args: argparse.Namespace) -> int:
    """The answers of a run, oldest first; `-n N` the last N, `--json` one object a line."""
    if args.follow or args.grep or args.rank is not None:
        raise CommandError(t("--completions goes with -n and --json only."))
    path = overview.overview(folder).view.metrics_path
    path = path.with_name(completions.FILE) if path is not None else None
    try:
        found = completions.read(path, args.lines) if path is not None else None
    except OSError:
        found = None
    if found is None:
        raise CommandError(t("run {id} has written no completions.jsonl.", id=folder.id))
    for one in found:
        if args.json:
            print_json(_data(one), None)
        else:
            print("\n".join(_lines(one)))
    return Exit.OK


def _data(one: Completion) -> dict[str, object]:
    return {
        "step": one.step,
        "prompt": one.prompt,
        "completion": one.text,
        "rewards": {name: _finite(value) for name, value in one.rewards.items()},
        "advantage": _finite(one.advantage),
        "extra": dict(one.extra),
    }


def _finite(value: float | None) -> float | None:
    """JSON knows neither nan nor infinities."""
    return value if value is not None and math.isfinite(value) else None


def _lines(one: Completion) -> list[str]:
    """The step and the rewards, then the answer, indented."""
    figures = [f"{name} {value:.4g}" for name, value in one.rewards.items()]
    if one.advantage is not None:
        figures.append(t("advantage {value}", value=f"{one.advantage:+.3g}"))
    step = "–" if one.step is None else f"{one.step:,}"
    head = "  ".join([t("step {step}", step=step), *figures])
    return [head, *(f"  {plain(line)}" for line in one.text.split("\n"))]
