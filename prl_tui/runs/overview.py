"""A run in one line: its state, what it is, how far it is. For the list of runs and the top of the watch screen."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from prl_tui import reasons, steady
from prl_tui.core import value
from prl_tui.core.smoke import Result
from prl_tui.i18n import t
from prl_tui.runs import bare, memory_killer, records, smoke, store
from prl_tui.runs.bare import BareRun
from prl_tui.runs.folder import RunFolder, number
from prl_tui.runs.plans import outputs_of
from prl_tui.runs.state import ALIVE, RunStatus, State, status
from prl_tui.telemetry import cause as causes
from prl_tui.telemetry import counts, quiet, swallowed
from prl_tui.telemetry.cause import Cause
from prl_tui.telemetry.console import ConsoleFormat
from prl_tui.telemetry.durations import format_duration
from prl_tui.telemetry.milestones import SWIFT_ANCHORS, Anchor, phase_words
from prl_tui.telemetry.progress import TRAINING_BARS
from prl_tui.telemetry.run_view import RunReader, RunView

GOES_ON: frozenset[State] = frozenset({*ALIVE, "unknown"} - {"stopping"})
"""States of which a time left may be told: it goes on, or may."""


@dataclass(frozen=True, slots=True)
class Overview:
    """One run, read once."""

    id: str
    folder: RunFolder
    source: str
    """`recipe/preset`, or the recipe alone."""
    recipe: str | None
    preset: str | None
    created: float | None
    """Seconds since 1970."""
    host: str
    status: RunStatus
    view: RunView
    cause: Cause | None = None
    """Why it failed, where its logs say so."""
    smoke: Result | None = None
    """How a smoke test went, once it has ended."""
    smoke_test: bool = False
    """A few steps only, to see whether the config works."""
    quiet: float | None = None
    """Seconds without output, where it runs and that is longer than it should be (`telemetry.quiet`)."""
    late: float | None = None
    """Whole seconds without output, where it runs and that is longer than its steps usually take, but not `quiet` yet."""
    why: str = ""
    """What a signal that ended it may mean."""
    cwd: str = ""
    """The folder that it was started in; "" where that is not known."""

    @property
    def what(self) -> str:
        """What it trains, for a list: a smoke test is told apart."""
        return f"{self.source} · {t('smoke')}" if self.smoke_test else self.source

    @property
    def passed(self) -> bool | None:
        """Whether a smoke test passed; None for what is none, has not ended, or was lost: how that went nobody saw."""
        return self.smoke.passed if self.smoke is not None and self.status.state != "lost" else None

    @property
    def warns(self) -> bool:
        """It is silent for too long, or ended well by an exit code that hides failures."""
        return self.quiet is not None or (self.passed is None and bool(swallowed.of(self.status.state, self.view)))


def reader(folder: RunFolder, short: bool = False) -> RunReader:
    """What a run says, followed from its files; `short`: of huge logs only the start and the end."""
    if isinstance(folder, BareRun):
        return RunReader(folder.log, None, folder.metrics, folder.path, short=short)
    info = folder.info()
    cwd = base_dir(folder, info)
    outputs = outputs_of(info)
    anchors = tuple(Anchor(one.key, one.pattern) for one in outputs.anchors) or SWIFT_ANCHORS
    console = ConsoleFormat(outputs.bars or TRAINING_BARS, anchors, outputs.metric_lines, outputs.failures)
    total = info.get("total") if isinstance(info, dict) else None
    total = total if isinstance(total, int) and 0 < total <= counts.MOST else None
    return RunReader.of_folder(folder.path, cwd, console, total, short)


def base_dir(folder: RunFolder, info: object) -> Path:
    """Where a run was started: paths that it prints start there."""
    cwd = str(info.get("cwd") or "") if isinstance(info, dict) else ""
    return Path(cwd) if cwd and "\0" not in cwd else folder.path  # what no system takes as a path is none


def overview(folder: RunFolder) -> Overview:
    """A run's line, from the start and the end of its logs. Never raises: `unread` is what a fault leaves."""
    try:
        reading = reader(folder, short=True)
        try:
            return _look(folder, reading)
        finally:
            reading.close()
    except Exception as fault:
        return unread(folder, fault)


def unread(folder: RunFolder, fault: Exception) -> Overview:
    """The line of a run whose files could not be read: `unknown`, and the reason.

    A fault of our own is written down; it says nothing of the run, nor of any other run.
    """
    from prl_tui.machine import crash  # never needed where all is well

    reason = reasons.of_file(fault) if isinstance(fault, OSError) else crash.record(fault)
    seen = RunStatus("unknown", detail=t("Its files could not be read: {reason}", reason=reason))
    info = folder.info()
    known = info if isinstance(info, dict) else {}
    recipe, preset = (str(known[key]) if known.get(key) else None for key in ("recipe", "preset"))
    source = "/".join(one for one in (recipe, preset) if one) or "–"
    created, host = number(known.get("created")), str(known.get("host", ""))
    return Overview(folder.id, folder, source, recipe, preset, created, host, seen, RunView())


def _look(folder: RunFolder, reading: RunReader) -> Overview:
    """A run's line after all that is new; what waited for more lines is told too once it has ended."""
    view = _read(reading, ended=False)
    if not status(folder, training_done=view.done, logged=view.progress is not None).goes_on:
        view = _read(reading, ended=True)
    return describe(folder, view)


def _read(reading: RunReader, *, ended: bool) -> RunView:
    view = reading.poll(ended=ended)
    while view.behind:
        view = reading.poll(ended=ended)
    return view


class Overviews:
    """Every run's line, looked at again and again: a run that has ended is read once, one that lives only goes on."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._ended: dict[str, tuple[_Stamp, Overview]] = {}
        self._living: dict[str, RunReader] = {}
        self._stopped = False
        self.total = 0
        """Runs that there were at the last look."""

    def stop(self) -> None:
        """A look that is under way ends after the run that it is at."""
        self._stopped = True

    def look(self, most: int = 0) -> list[Overview]:
        """Every run, newest first; `most` limits how many are read."""
        folders = store.list_runs(self._root)
        self.total = len(folders)
        if most > 0:
            folders = folders[:most]
        found = [self._one(folder) for folder in folders if not self._stopped]
        known = {folder.id for folder in folders}
        self._living = {id_: one for id_, one in self._living.items() if id_ in known}
        self._ended = {id_: one for id_, one in self._ended.items() if id_ in known}
        return found

    def _one(self, folder: RunFolder) -> Overview:
        stamp = _stamp(folder)
        known = self._ended.get(folder.id)
        if known is not None and known[0] == stamp:
            return known[1]
        try:
            reading = self._living.pop(folder.id, None) or reader(folder, short=True)
            try:
                one = _look(folder, reading)
            finally:
                reading.close()  # its place is kept: descriptors of hundreds of runs are too many
        except Exception as fault:  # of one run: the others are listed all the same
            one = unread(folder, fault)
            self._ended[folder.id] = stamp, one  # until something of it changes
            return one
        if one.status.state in ALIVE or stamp[_EXIT] is None:  # without a record of its end it may be judged anew
            self._living[folder.id] = reading
        else:
            self._ended[folder.id] = stamp, one
        return one


_Stamp = list["tuple[int, int] | None"]
_JUDGED_BY = (records.RUN, records.STATE, records.STOP, records.EXIT, records.OUTPUT)
_EXIT = _JUDGED_BY.index(records.EXIT)


def _stamp(folder: RunFolder) -> _Stamp:
    """Changes when anything of an ended run does."""
    found: _Stamp = []
    for name in _JUDGED_BY:
        path = folder.path / name
        try:
            seen = path.stat()
        except OSError:
            found.append(None)
        else:
            found.append((seen.st_mtime_ns, seen.st_size))
    return found


def describe(
    folder: RunFolder,
    view: RunView,
    patience: quiet.Patience = quiet.USUAL,
    clock: Callable[[], float] | None = None,
) -> Overview:
    """A run's line with what was read already; `clock`: seconds since the epoch, for silence, else the steady one."""
    info = folder.info()
    known = info if isinstance(info, dict) else {}
    recipe, preset = known.get("recipe"), known.get("preset")
    source = f"{recipe}/{preset}" if recipe and preset else str(recipe or "–")
    if isinstance(folder, BareRun):
        source, seen = (folder.metrics or folder.log or folder.path).name, bare.status(view)
    else:
        seen = status(folder, training_done=view.done, logged=view.progress is not None)
    if smoke.KEY not in known and (hidden := swallowed.of(seen.state, view)):  # a smoke test's verdict says it
        seen = value.replace(seen, detail=hidden)
    if seen.stopped_by_person and (view.interrupted or seen.state == "stopping"):
        # how a program ends that was asked to is no failure of it
        view = replace(view, errors=view.own_errors, stop_errors=() if view.own_errors else view.errors)
    failed = seen.state in {"failed", "finished-with-exit-error"} and not seen.detail
    if isinstance(folder, BareRun):
        failed = bool(view.errors) and not view.done
    cause = causes.find(folder.output, view.ranks) if failed else _cause_of_lost(folder, view, seen)
    now, began = (clock(), seen.started) if clock is not None else _now(view, seen)
    silent = quiet.quiet_for(view, now, began, patience)
    at_work = seen.state in {"starting", "running"} or seen.orphaned  # elsewhere another clock may count
    late = quiet.late_for(view, now, began) if at_work and silent is None else None
    if silent is not None or late is not None or failed or view.done or seen.state not in GOES_ON:
        view = _without_end(view)
    return Overview(
        folder.id,
        folder,
        source,
        str(recipe) if recipe else None,
        str(preset) if preset else None,
        number(known.get("created")),
        str(known.get("host", "")),
        seen,
        view,
        cause,
        smoke.result(folder, info, seen, view, base_dir(folder, info)),
        smoke.KEY in known,
        silent if at_work else None,
        late,
        memory_killer.words(folder, seen.ended) if _is_killed(seen, cause) else "",
        str(known.get("cwd") or ""),
    )


_of_lost: dict[Path, tuple[object, Cause | None]] = {}


def _cause_of_lost(folder: RunFolder, view: RunView, seen: RunStatus) -> Cause | None:
    """What the logs of a lost run show that has ended; it is looked at again and again, its logs only where they grow."""
    if seen.state != "lost" or not seen.over or not view.errors:
        return None
    stamp = (_stamp(folder), view.ranks)
    known = _of_lost.get(folder.path)
    if known is None or known[0] != stamp:
        known = _of_lost[folder.path] = stamp, causes.find(folder.output, view.ranks)
    return known[1]


def _now(view: RunView, seen: RunStatus) -> tuple[float, float | None]:
    """Now, and the run's start, by the clock that wrote the time of its last output, had nobody set it since."""
    now = time.time()
    if view.last_output is not None and view.heard_at is not None:
        now = view.last_output + steady.seconds() - view.heard_at
    return now, now - seen.seconds if seen.began is not None and seen.seconds is not None else seen.started


def _is_killed(seen: RunStatus, cause: Cause | None) -> bool:
    """Whether SIGKILL ended it, and nobody who stopped it."""
    return seen.state == "failed" and (
        seen.signal == signal.SIGKILL or (cause is not None and cause.signal == "SIGKILL")
    )


def _without_end(view: RunView) -> RunView:
    """The same without a time left: nothing goes on, so none can be promised; the same object where none was."""
    if view.progress is None or view.progress.eta_seconds is None:
        return view
    return replace(view, progress=replace(view.progress, eta_seconds=None))


def overviews(root: Path, most: int = 0) -> list[Overview]:
    """Every run, newest first, read once; `most` limits how many are."""
    found = Overviews(root)
    return found.look(most)


def state_word(state: State) -> str:
    """A state as a person reads it, its glyph first."""
    return {
        "starting": "◦ " + t("starting"),
        "running": "▸ " + t("running"),
        "stopping": "◦ " + t("stopping"),
        "finished": "✓ " + t("finished"),
        "finished-with-exit-error": "! " + t("finished, error at exit"),
        "failed": "✗ " + t("failed"),
        "stopped": "■ " + t("stopped"),
        "lost": "? " + t("lost"),
        "elsewhere": "▸ " + t("elsewhere"),
        "unknown": "· " + t("unknown"),
    }[state]


def status_word(one: Overview) -> str:
    """A run's state as a person reads it; one that is silent for too long has a `!` before it.

    Of a smoke test its verdict: how its program ended says little of that, and a passed one may have been stopped.
    """
    if one.passed is not None:
        return "✓ " + t("smoke passed") if one.passed else "✗ " + t("smoke failed")
    word = state_word(one.status.state)
    return f"! {word.partition(' ')[2]}" if one.warns else word


def progress_words(one: Overview, *, total: bool = True) -> str:
    """`step 120 / 200`, without `total` `step 120`; "" where nothing is known."""
    progress = one.view.progress
    if progress is None:
        return ""
    of = f" / {progress.total:,}" if progress.total and total else ""
    return t("step {step}{total}", step=f"{progress.step:,}", total=of)


def took(one: Overview) -> str:
    """How long a run took, or has taken so far; – where that is not known."""
    return format_duration(one.status.seconds)


def reason(one: Overview) -> str:
    """Why a run is as it is, in one line; "" where nothing more is known."""
    if one.quiet is not None:
        return quiet.words(one.quiet)
    if one.late is not None:
        return quiet.late_words(one.late)
    return " · ".join(part for part in (_why(one), one.status.unwritten) if part)


def _why(one: Overview) -> str:
    if one.cause is not None:
        return one.cause.words()
    missing = t("; ").join(one.smoke.reasons) if one.smoke is not None and one.passed is False else ""
    return " · ".join(part for part in (one.status.detail, missing) if part)


def reason_or_code(one: Overview) -> str:
    """`reason`; the exit code of a run that failed and of which nothing more is known."""
    seen = one.status
    if _why(one) or seen.state not in {"failed", "finished-with-exit-error"} or seen.exit_code is None:
        return reason(one)
    return " · ".join(part for part in (t("exit code {code}", code=seen.exit_code), seen.unwritten) if part)


def as_data(one: Overview) -> dict[str, Any]:
    """The contract of `runs --json`."""
    progress = one.view.progress
    return {
        "id": one.id,
        "recipe": one.recipe,
        "preset": one.preset,
        "state": one.status.state,
        "stalled": one.quiet is not None,
        "exit_code": one.status.exit_code,
        "created": one.created,
        "started": one.status.started,
        "ended": one.status.ended,
        "progress": {
            "step": progress.step,
            "total": progress.total,
            "seconds_per_step": progress.seconds_per_step,
            "eta_seconds": progress.eta_seconds,
        }
        if progress
        else None,
        "folder": str(one.folder.path),
        "host": one.host or one.status.host,
        "detail": reason_or_code(one),
        "smoke": {"passed": one.smoke.passed, "reasons": list(one.smoke.reasons)} if one.smoke is not None else None,
    }


def phase_told(one: Overview) -> str:
    """What a run is doing before its first step; of one that prl-tui did not start, only what its log shows."""
    phase = one.view.phase
    if not isinstance(one.folder, BareRun):
        return phase_words(phase)
    if phase == "waiting":
        return t("nothing is written yet")
    if phase == "launching":  # some output, of whatever it may be
        return t("no training step in its log so far")
    return t("so far in its log: {phase}", phase=phase_words(phase))
