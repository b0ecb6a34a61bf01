"""What a run is doing, told from its folder and this box alone, without any daemon to ask.

The order of evidence: the exit record, or what the heartbeat says in its place; the lock, which its supervisor holds
for life; the supervisor's birth; the heartbeat. A pid is only looked at where host, boot and PID namespace are those
of this process.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal

from prl_tui import reasons, steady
from prl_tui.core.signal_names import signal_name
from prl_tui.core.value import Value, replace
from prl_tui.i18n import nt, t
from prl_tui.machine import paths
from prl_tui.runs import lock, records
from prl_tui.runs.folder import (
    Ended,
    RunFolder,
    Started,
    explain,
    known_end,
    number,
    read_log_end,
    read_started,
)
from prl_tui.runs.place import here
from prl_tui.runs.proctree import is_alive
from prl_tui.runs.pulse import PULSES
from prl_tui.runs.records import Broken

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

State = Literal[
    "starting",
    "running",
    "stopping",
    "finished",
    "finished-with-exit-error",
    "failed",
    "stopped",
    "lost",
    "elsewhere",
    "unknown",
]
"""`elsewhere`: another host's or namespace's, and its heartbeat is fresh. `lost`: it ended and nobody saw how."""

Reading = Literal["whole", "read", "cut"]
"""A log whose supervisor was killed: read to its end; being read by the recorder; its end may be missing."""

ALIVE: frozenset[State] = frozenset({"starting", "running", "stopping", "elsewhere"})
"""States in which processes of the run must be expected."""

OVER: frozenset[State] = frozenset({"finished", "finished-with-exit-error", "failed", "stopped", "lost"})
"""States in which a run has ended for certain; one that is `unknown` may be heard of again."""

_SILENT = 2 * records.HEARTBEAT_FRESH
"""Seconds without a heartbeat after which a supervisor that holds the lock counts as stuck."""


class RunStatus(Value):
    """What a run is doing now, or how it ended."""

    state: State
    exit_code: int | None = None
    """The launcher's, 128 + n for signal n."""
    started: float | None = None
    """Seconds since 1970."""
    ended: float | None = None
    """Seconds since 1970."""
    pid: int | None = None
    """The launcher's, on `host`."""
    host: str = ""
    stopped_by_person: bool = False
    signal: int | None = None
    """That ended the launcher."""
    detail: str = ""
    """What else a person should know: one sentence, or empty."""
    began: float | None = None
    """Its start by `steady.seconds`, where this box has not been restarted since."""
    lasted: float | None = None
    """Seconds from its start to its end."""
    unwritten: str = ""
    """Where its end is known, but stands in no exit record: the sentence that says why."""
    orphaned: bool = False
    """A `lost` run whose launcher still lives: its supervisor alone is gone."""

    @property
    def goes_on(self) -> bool:
        """Whether more of it is to be expected."""
        return self.state in ALIVE or self.orphaned

    @property
    def over(self) -> bool:
        """Whether it has ended for certain."""
        return self.state in OVER and not self.orphaned

    @property
    def seconds(self) -> float | None:
        """How long it took, or has taken so far; None where that is not known. Never negative, whatever the clock does."""
        if self.lasted is not None:
            return max(0.0, self.lasted)
        if self.began is not None and self.ended is None and self.goes_on:
            return max(0.0, steady.seconds() - self.began)
        end = self.ended or (time.time() if self.goes_on else None)
        return max(0.0, end - self.started) if end is not None and self.started is not None else None


def status(
    folder: RunFolder,
    *,
    training_done: bool | Callable[[], bool | None] | None = None,
    logged: bool | Callable[[], bool] = False,
) -> RunStatus:
    """What the run in `folder` is doing. Never raises; what cannot be told is `unknown`, with the reason.

    `training_done`: whether its logs show that training was done, which makes an exit code other than 0 harmless.
    `logged`: whether a first step was seen, which makes `starting` into `running`. A callable is asked if needed.
    """
    ended, unwritten = known_end(folder)
    started = read_started(folder)
    if isinstance(ended, Ended):
        return _ended(ended, started, training_done, unwritten)
    if isinstance(started, Broken):
        return _broken(folder, started)
    if started is None:
        return _without_records(folder)
    if not started.is_at(here()):
        seen = _far(folder, started)
    elif is_supervised(folder, started):
        seen = _alive(folder, started, logged)
    else:
        ended, unwritten = known_end(folder)  # again: it may have ended between the two looks
        if isinstance(ended, Ended):
            return _ended(ended, started, training_done, unwritten)
        seen = _lost(folder, started)
    if isinstance(ended, Broken) and seen.state not in ALIVE:
        return replace(seen, state="unknown", detail=explain(ended))
    return seen


def _without_records(folder: RunFolder) -> RunStatus:
    """Of a run whose records were deleted its processes alone tell whether it lives."""
    from prl_tui.runs import adrift  # rare

    if adrift.lives(folder):
        return RunStatus("running", detail=t("Its folder was deleted, emptied or moved: nothing more of it is kept"))
    if not paths.exists(folder.path):
        return RunStatus("unknown", detail=t("Its folder was deleted or moved"))
    return RunStatus("unknown", detail=t("This folder has no {file}", file=records.RUN))


def is_supervised(folder: RunFolder, started: Started) -> bool:
    """Whether its supervisor lives, for a run of this very place."""
    if lock.held(folder.path / records.LOCK):
        return True
    return started.supervisor is not None and is_alive(started.supervisor)


def is_heard(folder: RunFolder) -> bool:
    """Whether its heartbeat is fresh: by its own time, by the file's, or because it was seen to change just now.

    Clocks of hosts differ by any time, so that one look may take a fresh one for an old one.
    """
    path, beat = folder.path / records.HEARTBEAT, _beat(folder)
    age = _age(folder, beat)
    if age is None:
        return False
    try:
        changed = PULSES.seen(path, (path.stat().st_mtime_ns, beat.get("time"), beat.get("uptime")))
    except OSError:
        return False
    return age < records.HEARTBEAT_FRESH or (changed is not None and changed < records.HEARTBEAT_FRESH)


def heartbeat_age(folder: RunFolder) -> float | None:
    """Seconds since the last heartbeat by this box's clock, None without one."""
    return _age(folder, _beat(folder))


def _age(folder: RunFolder, beat: Mapping[str, object]) -> float | None:
    try:
        moments = [(folder.path / records.HEARTBEAT).stat().st_mtime]
    except OSError:
        return None
    written = number(beat.get("time"))
    if written is not None:
        moments.append(written)
    uptime = number(beat.get("uptime"))
    if uptime is not None and beat.get("boot_id") and beat.get("boot_id") == here()["boot_id"]:
        return max(0.0, steady.seconds() - uptime)
    now = time.time()
    return min(abs(now - moment) for moment in moments)


def _ended(
    ended: Ended,
    started: Started | Broken | None,
    training_done: bool | Callable[[], bool | None] | None,
    unwritten: str,
) -> RunStatus:
    where = started if isinstance(started, Started) else None
    return RunStatus(
        state=_verdict(ended, training_done),
        exit_code=ended.exit_code,
        started=ended.started or (where.started if where else None),
        ended=ended.ended,
        pid=where.leader[0] if where and where.leader else None,
        host=where.host if where else "",
        stopped_by_person=ended.was_stopped,
        signal=ended.signal,
        detail=_end_detail(ended),
        lasted=ended.seconds,
        unwritten=t("Its end is not written down: {reason}", reason=reasons.told(unwritten)) if unwritten else "",
    )


def _verdict(ended: Ended, training_done: bool | Callable[[], bool | None] | None) -> State:
    if ended.was_stopped:
        return "stopped"
    if ended.exit_code == 0:
        return "finished"
    if training_done() if callable(training_done) else training_done:
        return "finished-with-exit-error"
    return "failed"


def _end_detail(ended: Ended) -> str:
    if ended.error_code:
        return _error_detail(ended)
    if ended.was_stopped:
        return _stop_detail(ended)
    if ended.signal is not None:
        return t("Ended by signal {name}", name=signal_name(ended.signal))
    if ended.strays:
        return nt(
            "{n} process outlived the launcher and was ended",
            "{n} processes outlived the launcher and were ended",
            ended.strays,
        )
    if ended.dropped:
        return t(
            "The disk was full or the log was deleted: {n} {n:byte of output is|bytes of output are} missing from the log",
            n=ended.dropped,
        )
    return ""


def _stop_detail(ended: Ended) -> str:
    if ended.killed:
        return nt("{n} process ended only by SIGKILL", "{n} processes ended only by SIGKILL", ended.killed)
    return ""


def _error_detail(ended: Ended) -> str:
    if ended.error_code == "no-program":
        return t("There is no program {program}", program=ended.error_file)
    if ended.error_code == "no-cwd":
        return t("The working directory {path} is missing", path=ended.error_file)
    if ended.error_code == "not-executable":
        return t(
            "{program} cannot be started: {reason}", program=ended.error_file, reason=reasons.told(ended.error_text)
        )
    if ended.error_code == "supervisor-gone":
        return _gone_detail(ended)
    return t("Its supervisor failed and ended the run: {reason}", reason=reasons.told(ended.error_text))


def _gone_detail(ended: Ended) -> str:
    if ended.log_cut:
        return t("Its supervisor was gone: exit code not known, the log's end may be missing")
    if ended.dropped:
        return t(
            "Its supervisor was gone, so the exit code is not known, and the disk was full or the log was deleted: "
            "{n} {n:byte of output is|bytes of output are} missing from the log",
            n=ended.dropped,
        )
    return t("Its supervisor was gone, so the exit code is not known")


def _broken(folder: RunFolder, broken: Broken) -> RunStatus:
    """Its processes' mark tells whether it lives, but for the records of a newer prl-tui, which we cannot judge."""
    from prl_tui.runs import adrift  # rare

    if lock.held(folder.path / records.LOCK) or adrift.lives(folder):
        return RunStatus("unknown", detail=t("It is alive, but {problem}", problem=explain(broken)))
    if adrift.is_unrecorded(folder) and adrift.living(folder):
        return RunStatus("lost", detail=_lost_detail(True, log_end(folder)), orphaned=True)
    return RunStatus("unknown", detail=explain(broken))


def _far(folder: RunFolder, started: Started) -> RunStatus:
    age = heartbeat_age(folder)
    if is_heard(folder) or lock.held(folder.path / records.LOCK):
        return _known(started, "elsewhere", t("It runs on {host}, outside of what can be seen here", host=started.host))
    place = here()
    if started.host == place["host"] and started.boot_id != place["boot_id"]:
        return _known(started, "lost", t("This box was restarted while it ran"))
    if age is None:
        return _known(started, "unknown", t("It ran on {host}, which never reported", host=started.host))
    minutes = max(round(age / 60), 1)
    return _known(
        started,
        "unknown",
        t("It ran on {host}, which was last heard of {n} min ago", host=started.host, n=minutes),
    )


def _alive(folder: RunFolder, started: Started, logged: bool | Callable[[], bool]) -> RunStatus:
    beat = _beat(folder)
    age = _age(folder, beat)
    detail = _beat_detail(beat)
    if age is not None and age > _SILENT:
        detail = t("Its supervisor has not reported for {n} s", n=round(age))
    if isinstance(records.read_record(folder.path / records.STOP), dict):
        return _known(started, "stopping", detail)
    if logged() if callable(logged) else logged:
        return _known(started, "running", detail)
    return _known(started, "starting", detail)


def _beat_detail(beat: Mapping[str, object]) -> str:
    dropped = number(beat.get("dropped"))
    if beat.get("stage") == "strays":
        return t("The launcher has ended; what it left behind is being ended")
    if dropped:
        return t(
            "The disk is or was full: {n} {n:byte of output is|bytes of output are} missing from the log",
            n=round(dropped),
        )
    return ""


def _lost(folder: RunFolder, started: Started) -> RunStatus:
    from prl_tui.runs import adrift  # rare

    if started.supervisor is None and not paths.exists(folder.path / records.HEARTBEAT):
        return _known(started, "lost", t("It was never started"))
    lives = is_alive(started.leader) if started.leader else bool(adrift.living(folder))
    return replace(_known(started, "lost", _lost_detail(lives, log_end(folder))), orphaned=lives)


def _lost_detail(lives: bool, end: Reading) -> str:
    if lives:
        if end == "cut":
            return t("It still runs without a supervisor, its log has ended: a stop ends the rest")
        return t("Its supervisor is gone, but it still runs: a stop ends what is left of it")
    if end == "cut":
        return t("Its supervisor is gone without exit record; the log's end may be missing")
    return t("Its supervisor is gone and left no exit record")


def log_end(folder: RunFolder) -> Reading:
    """What became of the log of a run of this place whose supervisor is gone."""
    end = read_log_end(folder)
    if end is None:
        return "cut"
    if end.whole:
        return "whole"
    return "read" if end.reader is not None and is_alive(end.reader) else "cut"


def _known(started: Started, state: State, detail: str) -> RunStatus:
    return RunStatus(
        state=state,
        started=started.started,
        pid=started.leader[0] if started.leader else None,
        host=started.host,
        stopped_by_person=state == "stopping",
        detail=detail,
        began=started.uptime if started.boot_id and started.boot_id == here()["boot_id"] else None,
    )


def _beat(folder: RunFolder) -> dict[str, object]:
    beat = records.read_record(folder.path / records.HEARTBEAT)
    return beat if isinstance(beat, dict) else {}
