"""watch: the screen on a terminal, plain lines elsewhere."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prl_tui import regular
from prl_tui.cli import failing, running, streams
from prl_tui.cli.doubt import Doubt
from prl_tui.cli.exits import CommandError, Exit
from prl_tui.cli.screen import shown
from prl_tui.i18n import t
from prl_tui.lists import listed
from prl_tui.machine import paths
from prl_tui.runs import bare, events, overview, store
from prl_tui.runs.bare import BareRun
from prl_tui.runs.events import Goal
from prl_tui.runs.folder import RunFolder
from prl_tui.runs.overview import Overview
from prl_tui.runs.state import RunStatus, status
from prl_tui.telemetry import quiet
from prl_tui.telemetry.durations import format_duration, format_speed
from prl_tui.telemetry.escapes import plain
from prl_tui.telemetry.metrics import MetricRow

NAMED = 10
"""Runs of a folder that a sentence names."""
TURN = 0.5
"""Seconds between two looks."""


def watch(args: argparse.Namespace) -> int:
    """`prl-tui watch [RUN]`."""
    try:
        goal = events.goal(args.exit_on) if args.exit_on is not None else None
    except ValueError as error:
        raise CommandError(f"--exit-on {error}") from None
    on_screen = not (args.json or args.plain or goal is not None) and sys.stdout.isatty()
    several = _several(args.run)
    if several and on_screen:
        return _list_of(several)
    if several:
        raise CommandError(_which(args.run, several))
    folder = _found(args.run)
    if args.json:
        return follow_as_events(folder, goal)
    return follow(folder, plain=False) if on_screen else follow_plain(folder, goal)


def _several(name: str) -> list[RunFolder]:
    """The runs of prl-tui's that a folder holds, newest first, where it holds more than one; an id comes before a path."""
    if not name.strip() or not paths.is_dir(name) or isinstance(store.find(paths.runs_dir(), name), RunFolder):
        return []
    found = store.recorded(Path(name))
    return found if len(found) > 1 else []


def _list_of(runs: list[RunFolder]) -> int:
    """The list of a folder's runs on the screen."""
    _, well = shown(runs_root=runs[0].path.parent)
    return Exit.OK if well else Exit.IMPOSSIBLE


def _which(name: str, runs: list[RunFolder]) -> str:
    ids = listed([one.id for one in runs[:NAMED]] + ["…"] * (len(runs) > NAMED))
    return t(
        "{path} holds {n} {n:run|runs}: {ids}; give the folder of one of them, the newest for example ({newest}). "
        "On a terminal, without --plain, --json and --exit-on, all of them are listed.",
        path=name, n=len(runs), ids=ids, newest=runs[0].path,
    )  # fmt: skip


def _found(name: str) -> RunFolder:
    """A run by its name; else what lies at a path, or a `v31` of ms-swift, which prl-tui need not have started."""
    try:
        return running.find(name)
    except CommandError:
        if not name.strip():  # a script's empty variable; as a path it would be the working directory
            raise
        if why := regular.odd(Path(name)):
            raise CommandError(t("{path} cannot be watched: {reason}.", path=name, reason=why)) from None
        if len(alone := store.recorded(Path(name)) if paths.is_dir(name) else []) == 1:
            return alone[0]
        one = bare.find(name, paths.here())
        if one is not None:
            if isinstance(one, BareRun) and (problem := bare.refused(one)) is not None:
                raise CommandError(running.unreadable(problem, name)) from None
            ours = bare.own(one, store.list_runs(paths.runs_dir())) if isinstance(one, BareRun) else None
            return ours or one
        if (problem := bare.hidden(name)) is not None:
            raise CommandError(running.unreadable(problem, name)) from None
        if paths.exists(name):
            raise CommandError(
                t("{path} holds neither logging.jsonl nor a log ({endings}); name the log file itself.",
                  path=name, endings=listed(bare.LOGS)),
                Exit.NO_RUN,
            ) from None  # fmt: skip
        raise


def follow(folder: RunFolder, plain: bool) -> int:
    """Watch a run on a screen or as lines. Plain: returns the run's code."""
    if plain:
        return follow_plain(folder)
    _, well = shown(watch=folder)
    tell_after(folder)
    return Exit.OK if well else Exit.IMPOSSIBLE


def tell_after(folder: RunFolder) -> None:
    """What stays on the terminal once the screen is gone: how the run ended, or that it goes on."""
    one = overview.overview(folder)
    if isinstance(folder, BareRun):
        failing.tell(one, see=False)
        return
    if one.status.goes_on:
        tell_alive(folder)
        return
    print(t("run {id} in {path}", id=folder.id, path=folder.path), file=sys.stderr)
    tell_end(one)


def tell_alive(folder: RunFolder) -> None:
    """On stderr: the run goes on, or is being stopped, and how it is found again."""
    told = (
        t("run {id} is being stopped; prl-tui watch {id} shows how far that is")
        if status(folder).state == "stopping"
        else t("run {id} goes on; prl-tui watch {id} shows it again")
    )
    print(told.format(id=folder.id), file=sys.stderr)


def tell_end(one: Overview) -> None:
    """On stderr: how a run ended, and why where it failed."""
    print("\n".join(verdict(one)), file=sys.stderr)
    failing.tell(one)


def follow_plain(folder: RunFolder, goal: Goal | None = None) -> int:
    """Lines for pipes and CI until the run ends; returns its code (128 + n for signal n).

    With a goal until that is reached: 0, or 1 where an error was waited for, also where that was before the run ended.
    """
    if isinstance(folder, BareRun):
        print(t("{place}: {words}", place=folder.metrics or folder.output, words=folder.kind()), file=sys.stderr)
    else:
        print(t("run {id} in {path}", id=folder.id, path=folder.path), file=sys.stderr)
        if (problem := bare.problem_of(folder.output)) is not None and not isinstance(problem, FileNotFoundError):
            print(running.unreadable(problem, str(folder.output)), file=sys.stderr)
    told = _Told()
    with _told_on_interrupt(folder):
        for one, _ in _looks(folder, wait=goal is not None):
            for line in told.news(one):
                print(line, flush=True)
            if goal is not None and _goes_on(one) and events.reached(goal, one):
                if not isinstance(folder, BareRun):
                    tell_alive(folder)
                return _code_at(goal)
    print("\n".join(ending(one)), flush=True)
    failing.tell(one, see=False)
    return _code_of(one, goal)


def follow_as_events(folder: RunFolder, goal: Goal | None = None) -> int:
    """One JSON object a line for each event until the run ends, or until the goal; the same codes as lines have."""
    told = events.Events()
    with _told_on_interrupt(folder):
        for one, newest in _looks(folder, wait=goal is not None):
            for event in told.news(one, newest):
                streams.print_json({"time": round(time.time(), 3), "run": folder.id, **event}, None)
            sys.stdout.flush()
            if goal is not None and _goes_on(one) and events.reached(goal, one):
                return _code_at(goal)
    streams.print_json({"time": round(time.time(), 3), "run": folder.id, "event": "end", **overview.as_data(one),
                        "cause": failing.as_data(one)}, None)  # fmt: skip
    return _code_of(one, goal)


@contextmanager
def _told_on_interrupt(folder: RunFolder) -> Iterator[None]:
    """Ctrl-C leaves, and says that the run does not: this very command may have started it."""
    try:
        yield
    except KeyboardInterrupt:
        if not isinstance(folder, BareRun) and status(folder).goes_on:
            told = t("run {id} goes on; prl-tui watch {id} shows it again, prl-tui stop {id} ends it")
            print(told.format(id=folder.id), file=sys.stderr)
        raise


def _goes_on(one: Overview) -> bool:
    """Whether more may come. Of a run that prl-tui did not start nobody knows."""
    return one.status.goes_on or isinstance(one.folder, BareRun)


def _code_at(goal: Goal) -> int:
    """The code where the goal was reached before the run's end."""
    return int(Exit.FINDINGS if goal == "failed" else Exit.OK)


def _code_of(one: Overview, goal: Goal | None) -> int:
    """The code where the run has ended: a step or an error that was waited for counts although more came after it.

    1 for a good run that never came to its step.
    """
    status = one.status
    if isinstance(one.folder, BareRun):
        return int(Exit.FINDINGS if one.cause is not None else Exit.OK)
    came = goal is not None and events.reached(goal, one)
    if isinstance(goal, int) and (came or status.exit_code == 0):
        return int(Exit.OK if came else Exit.FINDINGS)
    if goal == "failed" and came and status.exit_code == 0:
        return int(Exit.FINDINGS)
    if one.smoke is not None and (one.smoke.passed or status.exit_code == 0):
        return int(Exit.OK if one.smoke.passed else Exit.FINDINGS)
    return status.exit_code if status.exit_code is not None else int(Exit.IMPOSSIBLE)


def _looks(folder: RunFolder, wait: bool) -> Iterator[tuple[Overview, tuple[MetricRow, ...]]]:
    """The run and its newest rows, again and again, until it has ended; the last look has everything.

    `wait`: also for more of a log whose end nobody knows. A run that is not heard of is waited for (`Doubt`).
    """
    reading, doubt = overview.reader(folder), Doubt(folder)
    try:
        while True:
            one = overview.describe(folder, reading.poll())
            more = wait if isinstance(folder, BareRun) else doubt.goes_on(one.status)
            if not more:
                view = reading.poll(ended=True)
                while view.behind:
                    view = reading.poll(ended=True)
                yield overview.describe(folder, view), reading.newest(view.rows)
                return
            yield one, reading.newest(one.view.rows)
            time.sleep(TURN)  # the log is a file of another process: nothing tells of a new line
    finally:
        reading.close()


class _Told:
    """What was printed already, so that only news is."""

    def __init__(self) -> None:
        self.phase = ""
        self.step = -1
        self.checkpoints: set[str] = set()
        self.quiet = self.late = 0.0

    def news(self, one: Overview) -> list[str]:
        view = one.view
        lines = []
        if view.phase != self.phase and view.progress is None:
            lines.append(overview.phase_told(one))
        self.phase = view.phase
        if view.progress is not None and view.progress.step != self.step:
            self.step = view.progress.step
            lines.append(step_line(one))
            self.late = one.late or 0.0
        paths_ = [checkpoint.path for checkpoint in view.checkpoints]
        lines += [t("checkpoint {path}", path=path) for path in paths_ if path not in self.checkpoints]
        self.checkpoints |= set(paths_)
        if one.late is None:
            self.late = 0.0
        elif one.late >= 2 * self.late:
            lines.append(quiet.late_words(one.late))
            self.late = one.late
        if one.quiet is not None and one.quiet >= 2 * self.quiet:  # told at once, then ever more rarely
            lines.append("! " + overview.reason(one))
            if not self.quiet:
                lines.append("  " + t("where each rank stands: prl-tui stacks {id}", id=one.id))
            self.quiet = one.quiet
        elif one.quiet is None:
            self.quiet = 0.0
        return lines


def step_line(one: Overview) -> str:
    """`step 120/200  60 %  loss 1.234  4.8 it/s  16 s left`."""
    view = one.view
    progress = view.progress
    if progress is None:
        return ""
    parts = [t("step {step}", step=progress.step)]
    if progress.total:
        parts = [t("step {step}/{total}", step=progress.step, total=progress.total)]
        parts.append(f"{100 * progress.step / progress.total:.0f} %")
    values = view.last_row.values if view.last_row is not None else {}
    for name in ("loss", "reward"):
        if isinstance(values.get(name), (int, float)):
            parts.append(f"{name} {values[name]:.4g}")
    if progress.seconds_per_step is not None and one.late is None and one.quiet is None:
        parts.append(format_speed(progress.seconds_per_step))
    if one.late is not None:
        parts.append(quiet.late_words(one.late))
    elif progress.eta_seconds is not None:
        parts.append(t("{time} left", time=format_duration(progress.eta_seconds)))
    return "  ".join(parts)


def ending(one: Overview) -> list[str]:
    """How a run ended: its state, the reason, and where to look."""
    lines = verdict(one)
    if isinstance(one.folder, BareRun):
        return lines
    if one.cause is not None:
        lines.append(f"  {plain(one.cause.words())}")
    if one.status.state not in {"finished", "stopped"}:
        lines.append("  " + failing.see_words(one))
    return lines


def how(status: RunStatus, state: str) -> str:
    """The state's word, and what is known of its time and exit code: nobody saw a lost run's."""
    code = status.exit_code
    if status.seconds is None:
        return state if code is None else t("{state}, exit code {code}", state=state, code=code)
    took = format_duration(status.seconds)
    if code is None:
        return t("{state} after {time}", state=state, time=took)
    return t("{state} after {time}, exit code {code}", state=state, time=took, code=code)


def verdict(one: Overview) -> list[str]:
    """How a run ended, without the cause that `failing` shows below it."""
    status = one.status
    if isinstance(one.folder, BareRun):
        return [t("{place}: {words}", place=overview.state_word(status.state), words=status.detail)]
    lines = [how(status, overview.status_word(one) if one.smoke is None else overview.state_word(status.state))]
    if one.smoke is not None:
        lines.append(("✓ " if one.smoke.passed else "✗ ") + one.smoke.words())
        if one.smoke.passed:
            lines.append("  " + t("the full run: prl-tui launch {id} --promote", id=one.id))
    why = status.detail if one.cause is None else ""  # the cause comes below
    lines += [f"  {plain(part)}" for part in (why, status.unwritten) if part]
    return lines
