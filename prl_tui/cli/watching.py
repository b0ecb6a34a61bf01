"""watch: the screen on a terminal, plain lines elsewhere."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator

from prl_tui.cli import failing, running, streams
from prl_tui.cli.exits import Exit
from prl_tui.cli.screen import app_class
from prl_tui.i18n import t
from prl_tui.runs import overview
from prl_tui.runs.folder import RunFolder
from prl_tui.runs.overview import Overview
from prl_tui.runs.state import ALIVE
from prl_tui.telemetry.durations import format_duration, format_speed
from prl_tui.telemetry.escapes import plain
from prl_tui.telemetry.run_view import RunView

TURN = 0.5
"""Seconds between two looks."""


def watch(args: argparse.Namespace) -> int:
    """`prl-tui watch [RUN]`."""
    folder = running.find(args.run)
    return follow(folder, args.plain or not sys.stdout.isatty())


def follow(folder: RunFolder, plain: bool) -> int:
    """Watch a run on a screen or as lines. Plain: returns the run's code."""
    if plain:
        return follow_plain(folder)
    with streams.as_they_were():
        app_class()(watch=folder).run()
    tell_after(folder)
    return Exit.OK


def tell_after(folder: RunFolder) -> None:
    """What stays on the terminal once the screen is gone: how the run ended, or that it goes on."""
    one = overview.overview(folder)
    if one.status.state in ALIVE:
        print(t("run {id} goes on; prl-tui watch {id} shows it again", id=folder.id), file=sys.stderr)
        return
    print(t("run {id} in {path}", id=folder.id, path=folder.path), file=sys.stderr)
    print("\n".join(ending(one)), file=sys.stderr)
    failing.tell(one, see=False)


def follow_plain(folder: RunFolder) -> int:
    """Lines for pipes and CI until the run ends; returns its code (128 + n for signal n)."""
    print(t("run {id} in {path}", id=folder.id, path=folder.path), file=sys.stderr)
    told = _Told()
    for one in _looks(folder):
        for line in told.news(one):
            print(line, flush=True)
    status = one.status
    print("\n".join(ending(one)), flush=True)
    failing.tell(one, see=False)
    if one.smoke is not None and (one.smoke.passed or status.exit_code == 0):
        return int(Exit.OK if one.smoke.passed else Exit.FINDINGS)
    return status.exit_code if status.exit_code is not None else int(Exit.IMPOSSIBLE)


def _looks(folder: RunFolder) -> Iterator[Overview]:
    """The run, again and again, until it has ended; the last one has everything."""
    reading = overview.reader(folder)
    try:
        while True:
            one = overview.describe(folder, reading.poll())
            if one.status.state not in ALIVE:
                view = reading.poll(ended=True)
                while view.behind:
                    view = reading.poll(ended=True)
                yield overview.describe(folder, view)
                return
            yield one
            time.sleep(TURN)  # the log is a file of another process: nothing tells of a new line
    finally:
        reading.close()


class _Told:
    """What was printed already, so that only news is."""

    def __init__(self) -> None:
        self.phase = ""
        self.step = -1
        self.checkpoints = 0
        self.quiet = 0.0

    def news(self, one: Overview) -> list[str]:
        view = one.view
        lines = []
        if view.phase != self.phase and view.progress is None:
            lines.append(overview.phase_words(view.phase))
        self.phase = view.phase
        if view.progress is not None and view.progress.step != self.step:
            self.step = view.progress.step
            lines.append(step_line(view))
        for checkpoint in view.checkpoints[self.checkpoints :]:
            lines.append(t("checkpoint {path}", path=checkpoint.path))
        self.checkpoints = len(view.checkpoints)
        if one.quiet is not None and one.quiet >= 2 * self.quiet:  # told at once, then ever more rarely
            lines.append("! " + overview.reason(one))
            self.quiet = one.quiet
        elif one.quiet is None:
            self.quiet = 0.0
        return lines


def step_line(view: RunView) -> str:
    """`step 120/200  60 %  loss 1.234  4.8 it/s  16 s left`."""
    progress = view.progress
    if progress is None:
        return ""
    parts = [t("step {step}/{total}", step=progress.step, total=progress.total)]
    if progress.total:
        parts.append(f"{100 * progress.step / progress.total:.0f} %")
    values = view.last_row.values if view.last_row is not None else {}
    for name in ("loss", "reward"):
        if isinstance(values.get(name), (int, float)):
            parts.append(f"{name} {values[name]:.4g}")
    if progress.seconds_per_step is not None:
        parts.append(format_speed(progress.seconds_per_step))
    if progress.eta_seconds is not None:
        parts.append(t("{time} left", time=format_duration(progress.eta_seconds)))
    return "  ".join(parts)


def ending(one: Overview) -> list[str]:
    """How a run ended: its state, the reason, and where to look."""
    status = one.status
    took = format_duration(status.ended - status.started) if status.started and status.ended else "–"
    code = "–" if status.exit_code is None else status.exit_code
    lines = [t("{state} after {time}, exit code {code}", state=overview.state_word(status.state), time=took, code=code)]
    if one.smoke is not None:
        lines.append(("✓ " if one.smoke.passed else "✗ ") + one.smoke.words())
        if one.smoke.passed:
            lines.append("  " + t("the full run: prl-tui launch {id} --promote", id=one.id))
    why = overview.reason(one)
    if why:
        lines.append(f"  {plain(why)}")
    if one.status.state not in {"finished", "stopped"}:
        rank = f" --rank {one.cause.rank}" if one.cause is not None and one.cause.rank is not None else ""
        lines.append("  " + t("see: prl-tui logs {id}{rank}", id=one.id, rank=rank))
    return lines
