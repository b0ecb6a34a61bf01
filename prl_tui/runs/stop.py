"""Ends a run from outside: asks its supervisor, or, where that is gone, ends what is left of the run itself."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from prl_tui import steady
from prl_tui.core.value import Value
from prl_tui.i18n import t
from prl_tui.machine import paths
from prl_tui.runs import adrift, asking, ladder, lock, proctree, records, salvage
from prl_tui.runs.asking import Grace as Grace
from prl_tui.runs.folder import (
    Ended,
    RunFolder,
    Started,
    explain,
    last_word,
    number,
    read_ended,
    read_log_end,
    read_started,
)
from prl_tui.runs.place import here
from prl_tui.runs.records import Broken
from prl_tui.runs.state import is_supervised, log_end

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Code = Literal["asked", "swept", "ended", "elsewhere", "unknown", "denied"]

_TURN = 0.05
"""Seconds between two looks while waiting."""

_LETS_GO = 2.0
"""Seconds in which a supervisor leaves that waits for room."""

_READ_WITHIN = 5.0
"""Seconds in which the log of a dead supervisor is read to its end, once nothing of the run lives."""


class StopResult(Value):
    """What came of asking for a stop."""

    code: Code
    """`asked`: its supervisor is at it. `swept`: it had none, what was left of it is ended now. `ended`: nothing of
    it lives. The others refuse: `elsewhere`, `unknown`, `denied`."""
    sentence: str
    """For a person."""

    @property
    def refused(self) -> bool:
        """Whether the run, for all we know, goes on."""
        return self.code in {"elsewhere", "unknown", "denied"}


class Left(Value):
    """One process of a run that still lives."""

    pid: int
    command: str


def stop(folder: RunFolder, grace: Grace | None = None, by: str = "") -> StopResult:
    """Ask the run to end and return at once; `progress` and `wait` tell the rest. Asked again, it goes quicker.

    Only where the supervisor is gone it blocks, for up to `grace.total` seconds and a few more, while it ends the
    orphans itself. `by` says which front end asked. Another host's run is refused.
    """
    grace = grace or Grace()
    if isinstance(read_ended(folder), Ended):
        return StopResult("ended", t("Run {id} has ended already", id=folder.id))
    if last_word(folder) is not None:
        let_go(folder)
        return StopResult("ended", t("Run {id} has ended already", id=folder.id))
    started = read_started(folder)
    if not isinstance(started, Started):
        return _by_mark(folder, started, grace, by)
    if not started.is_at(here()):
        return StopResult(
            "elsewhere",
            t("Run {id} belongs to {host}: stop it there", id=folder.id, host=started.host),
        )
    if is_supervised(folder, started):
        return _ask(folder, grace, by)
    return _sweep(folder, started, grace, by)


def _by_mark(folder: RunFolder, started: Broken | None, grace: Grace, by: str) -> StopResult:
    """Of a run whose records say nothing the mark of its processes does."""
    if adrift.lives(folder):
        if not adrift.is_gone(folder):
            asking.note(folder, grace, by)
        return _ask_adrift(folder)
    if started is not None and adrift.left(folder):
        return _sweep(folder, _unrecorded(), grace, by)
    reason = explain(started) if started is not None else t("there is no record of it")
    return StopResult("unknown", t("Run {id} cannot be stopped: {reason}", id=folder.id, reason=reason))


def take_over(
    folder: RunFolder, grace: Grace | None = None, by: str = "", on_turn: Callable[[], object] | None = None
) -> StopResult | None:
    """For who waits after `asked`: None while somebody else is at it, or it is done.

    Where its supervisor has died meanwhile it blocks as `stop` does, goes on with what that had begun, and records the
    stop that was asked for, also of a run of which nothing is left by then; None where its folder takes no record.
    `on_turn` is called again and again meanwhile.
    """
    started = read_started(folder)
    if isinstance(read_ended(folder), Ended):
        return None
    if not isinstance(started, Started):
        if adrift.lives(folder):
            return None
        started = _unrecorded()
    elif not started.is_at(here()) or is_supervised(folder, started):
        return None
    grace = grace or Grace()
    result = _sweep(folder, started, grace, by, awaited=True, on_turn=on_turn)
    if result.code in {"asked", "ended"}:
        return None
    kept = adrift.is_gone(folder) or isinstance(read_ended(folder), Ended)
    return result if result.refused or kept else None


def _unrecorded() -> Started:
    """A run of which its processes' mark alone is known; marks are of this place."""
    place = here()
    return Started(place["host"], place["boot_id"], place["pid_namespace"], None, None, None)


def let_go(folder: RunFolder) -> None:
    """For an end that is known and cannot be written down: its supervisor need not wait for room any longer.

    Blocks for 2 s at most. It tries once more to write, and is left alone where it is another place's.
    """
    started = read_started(folder)
    if not isinstance(started, Started) or started.supervisor is None or not started.is_at(here()):
        return
    with suppress(OSError):
        proctree.send(started.supervisor, signal.SIGTERM)
    until = time.monotonic() + _LETS_GO
    while lock.held(folder.path / records.LOCK) and time.monotonic() < until:
        time.sleep(_TURN)  # no child of this process


def progress(folder: RunFolder) -> tuple[Left, ...]:
    """The processes of a run that still live, as far as this place can see them."""
    return tuple(Left(seen.pid, proctree.command_of(seen.pid)) for seen in leftovers(folder))


def leftovers(folder: RunFolder) -> list[proctree.Seen]:
    """The live processes of a run of this place: all but its supervisor and this process."""
    started = read_started(folder)
    if not isinstance(started, Started):
        return adrift.left(folder)
    if not started.is_at(here()):
        return []
    roots = _roots(started)
    spare = {os.getpid()}
    if started.supervisor and started.supervisor[0] in roots:
        spare.add(started.supervisor[0])
    if started.supervisor is None:
        spare.update(seen.pid for seen in adrift.supervisors(folder))
    return proctree.tree(roots, folder.path.resolve(), spare)


def wait(folder: RunFolder, timeout: float) -> bool:
    """Wait up to `timeout` seconds until the run has its exit record and nothing of it lives; whether it has.

    One whose folder is gone has no record: there it counts that nothing lives.
    """
    deadline = time.monotonic() + timeout
    while not _is_over(folder):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_TURN)  # processes of other parents cannot be waited for, only looked at
    return True


def _is_over(folder: RunFolder) -> bool:
    if adrift.is_gone(folder):
        return not adrift.living(folder)
    return isinstance(read_ended(folder), Ended) and not lock.held(folder.path / records.LOCK)


def _ask(folder: RunFolder, grace: Grace, by: str) -> StopResult:
    _, written = asking.note(folder, grace, by)
    started = read_started(folder)  # after the request: a supervisor that reports later will look for it
    if not isinstance(started, Started) or started.supervisor is None:
        if paths.exists(folder.path / records.HEARTBEAT):
            return _ask_adrift(folder)  # it reported long ago, and the record of that is gone
        if written:
            return StopResult("asked", t("Run {id} is being stopped", id=folder.id))
        return StopResult("denied", t("Run {id} is just starting: try again", id=folder.id))
    try:
        reached = proctree.send(started.supervisor, signal.SIGTERM)
    except PermissionError:
        return StopResult("denied", t("Run {id} belongs to another user", id=folder.id))
    if reached:
        return StopResult("asked", t("Run {id} is being stopped", id=folder.id))
    if isinstance(read_ended(folder), Ended):
        return StopResult("ended", t("Run {id} has ended already", id=folder.id))
    return StopResult(
        "asked", t("Run {id} is being stopped already", id=folder.id)
    )  # by one who sweeps: it has the lock


def _ask_adrift(folder: RunFolder) -> StopResult:
    """Its supervisor takes the default graces: nothing can be written down for it."""
    try:
        for seen in adrift.supervisors(folder):
            proctree.send(seen.birth, signal.SIGTERM)
    except PermissionError:
        return StopResult("denied", t("Run {id} belongs to another user", id=folder.id))
    return StopResult("asked", t("Run {id} is being stopped", id=folder.id))


def _sweep(
    folder: RunFolder,
    started: Started,
    grace: Grace,
    by: str,
    *,
    awaited: bool = False,
    on_turn: Callable[[], object] | None = None,
) -> StopResult:
    """End what a dead supervisor left behind, while holding its lock, so that two stops don't meet.

    `awaited`: it died while it was at the stop, so that a run of which nothing is left is a stopped one.
    """
    try:
        descriptor = lock.take(folder.path / records.LOCK)
    except OSError:
        descriptor = -1  # no locks on this file system: its supervisor is dead by its birth
    if descriptor is None:
        return StopResult("asked", t("Run {id} is being stopped", id=folder.id))
    try:
        if isinstance(read_ended(folder), Ended):
            return StopResult("ended", t("Run {id} has ended already", id=folder.id))
        left, begun = leftovers(folder), awaited or asking.begun(folder) is not None
        if not left and not begun:
            return StopResult("ended", t("Nothing of run {id} is alive", id=folder.id))
        pipe = salvage.open_pipe(folder, left) if log_end(folder) == "cut" else None
        request, _ = asking.note(folder, grace, by)
        steps = _resumed(folder, grace, request) if begun else ladder.Ladder()
        killed, denied = _climb(folder, started, grace, steps, on_turn)
        dropped = salvage.drain(folder, pipe) if pipe is not None else 0
        if denied:
            return StopResult("denied", t("Processes of run {id} belong to another user", id=folder.id))
        _await_log(folder)
        _record(folder, started, request, steps.stage, killed, dropped)
        return StopResult("swept", t("What was left of run {id} is ended", id=folder.id))
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _resumed(folder: RunFolder, grace: Grace, request: Mapping[str, object]) -> ladder.Ladder:
    """The ladder as who was at this stop before has left it."""
    steps, shortest = ladder.Ladder(), asking.shortest(folder, grace)
    stage, since = asking.sent(folder)
    if stage == ladder.NONE:  # a supervisor that died before it heeded the request: INT is still to come
        return steps
    if since is None:  # the supervisor's own, which was punctual
        since = (number(request["asked"]) or 0.0) + (shortest["interrupt"] if stage >= ladder.TERMINATE else 0.0)
    waited = max(0.0, time.time() - since)
    steps.resume(stage, time.monotonic() - waited, shortest["interrupt"], shortest["terminate"])
    return steps


def _climb(
    folder: RunFolder, started: Started, grace: Grace, steps: ladder.Ladder, on_turn: Callable[[], object] | None
) -> tuple[int, bool]:
    """INT to the leader's group, TERM and KILL to all; how many it took KILL for, and whether that was denied."""
    killed: set[proctree.Birth] = set()
    watch = proctree.Watch(folder.path.resolve(), {os.getpid()})
    while left := watch.look(_roots(started)):
        shortest = asking.shortest(folder, grace)  # read again: somebody may want it quicker by now
        steps.ask(time.monotonic(), shortest["interrupt"], shortest["terminate"])
        if started.leader and not proctree.is_alive(started.leader):
            steps.leader_gone(time.monotonic())
        before, stage = steps.stage, steps.due(time.monotonic())
        if stage == ladder.NONE:
            time.sleep(_TURN)  # processes of other parents cannot be waited for, only looked at
            if on_turn:
                on_turn()
            continue
        if stage != before:
            asking.note_stage(folder, stage)
        if stage == ladder.INTERRUPT:
            left = [seen for seen in left if started.leader and seen.group == started.leader[0]]
        if stage == ladder.KILL:
            killed.update(seen.birth for seen in left)
        signum = {ladder.INTERRUPT: signal.SIGINT, ladder.TERMINATE: signal.SIGTERM}.get(stage, signal.SIGKILL)
        for seen in left:
            try:
                proctree.send(seen.birth, signum)
            except PermissionError:
                if stage == ladder.KILL:
                    return len(killed), True
    return len(killed), False


def _await_log(folder: RunFolder) -> None:
    """Its recorder may still be reading what the run said last."""
    until = time.monotonic() + _READ_WITHIN
    while log_end(folder) == "read" and time.monotonic() < until:
        time.sleep(_TURN)  # no child of this process


def _record(
    folder: RunFolder, started: Started, request: Mapping[str, object], stage: int, killed: int, dropped: int
) -> None:
    end = read_log_end(folder)
    record = {
        "exit_code": None,
        "signal": None,
        "error": {"code": "supervisor-gone", "file": "", "text": ""},
        "started": started.started,
        "ended": time.time(),
        "tree_gone": time.time(),
        "stop": {"asked": request["asked"], "by": request["by"], "stage": ladder.STAGES[stage]},
        "strays": 0,
        "killed": killed,
        "dropped": dropped + (end.dropped if end is not None else 0),
        "seconds": steady.seconds() - started.uptime if started.uptime is not None else None,
        "log_cut": log_end(folder) == "cut",
    }
    try:
        records.write_record(folder.path / records.EXIT, record)
    except OSError:  # a full disk: the processes are gone all the same
        return


def _roots(started: Started) -> list[int]:
    return [birth[0] for birth in (started.supervisor, started.leader) if birth and proctree.is_alive(birth)]
