"""Orphans: processes that a run of this place started and that outlived it. Found by the run's mark and births alone.

Never by a name. A process of another PID namespace is left alone even where it is visible from here, and so is all
of a run whose supervisor lives, or that belongs to another host, boot or pod.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from prl_tui import steady
from prl_tui.i18n import t
from prl_tui.runs import adrift, ladder, lock, proctree, records, stop, store, turns
from prl_tui.runs.folder import Ended, RunFolder, Started, read_ended, read_started
from prl_tui.runs.place import here, is_of_this_namespace
from prl_tui.runs.records import Broken
from prl_tui.runs.state import is_supervised
from prl_tui.runs.stop import Grace, Left

Why = Literal["lost", "ended", "removed"]
"""Its supervisor is gone without an exit record; it has one, and something outlived that; its folder was deleted."""

_TURN = 0.05

SPARE = 30.0
"""Seconds over the graces of a stop until nobody waits any more: what hangs in the kernel is not to be waited for."""


@dataclass(frozen=True, slots=True)
class Orphans:
    """What is left of one run."""

    folder: RunFolder
    why: Why
    processes: tuple[Left, ...]

    @property
    def id(self) -> str:
        """The run's."""
        return self.folder.id


@dataclass(frozen=True, slots=True)
class Swept:
    """What came of ending them."""

    id: str
    ended: int
    left: int
    """Processes that still live: they belong to another user, or hang in the kernel."""


def find(root: Path) -> list[Orphans]:
    """Every orphan of the runs of `root`, by run; one look at /proc and one at the list of runs."""
    home = Path(os.path.realpath(root))
    names: dict[str, None] = {}
    for pid in proctree.scan():
        folder = proctree.marked(pid)
        if folder is not None and folder.parent == home and is_of_this_namespace(pid):
            names[folder.name] = None
    for run in store.list_runs(root):  # a leader that hides its environment is known by its birth
        if not (run.path / records.EXIT).exists():
            names[run.id] = None
    found = (of(RunFolder(home / name)) for name in names)
    return [one for one in found if one is not None]


def end(orphans: Orphans, grace: Grace | None = None, on_left: Callable[[int], None] | None = None) -> Swept:
    """End them: as a stop does where the run has its record, else TERM, then KILL. Looks again before each signal.

    Blocks for up to the graces and a few seconds more, also where somebody else is at it already. `on_left` hears how
    many are left whenever that changes.
    """
    grace = grace or Grace()
    if orphans.why == "lost":
        if stop.stop(orphans.folder, grace, by="sweep").code == "asked":
            see_through(orphans.folder, grace, by="sweep")
    else:
        _climb(orphans.folder, grace, on_left)
    count = len(look(orphans.folder))
    return Swept(orphans.id, max(0, len(orphans.processes) - count), count)


def see_through(folder: RunFolder, grace: Grace | None = None, by: str = "") -> None:
    """Wait for the end of a stop that was asked for; go on with it where nobody else is at it."""
    until = time.monotonic() + (grace or Grace()).total + SPARE
    while not stop.wait(folder, 0.5) and time.monotonic() < until:
        stop.take_over(folder, grace, by=by)


def lines(found: Iterable[Orphans]) -> list[str]:
    """Each run with why it counts, and its processes below it."""
    told = []
    for one in found:
        info = one.folder.info()
        recipe = info.get("recipe") if isinstance(info, dict) else None
        told.append(t("run {id} ({recipe}): {why}", id=one.id, recipe=recipe or "–", why=why_words(one.why)))
        told += [f"  {t('pid {pid}', pid=left.pid)}  {left.command[:200]}" for left in one.processes]
    return told


def notes(root: Path, found: Iterable[Orphans] = ()) -> list[str]:
    """Runs that are no orphans: they go on though their folder is gone, or somebody else ends them just now.

    `found`: what was found before, which is named already.
    """
    home, named = Path(os.path.realpath(root)), {one.id for one in found}
    ended = [*(run.id for run in store.list_runs(root) if _is_being_ended(run)), *turns.taken(home)]
    told = t("run {id} lives, but its folder was deleted, emptied or moved; prl-tui stop {id} ends it")
    ending = t("what run {id} has left behind is being ended already")
    return [
        *(told.format(id=folder.id) for folder in adrift.find(root)),
        *(ending.format(id=run) for run in dict.fromkeys(ended) if run not in named),
    ]


def _is_being_ended(folder: RunFolder) -> bool:
    """Its supervisor is gone, and whoever ends what is left holds its lock."""
    if (folder.path / records.EXIT).exists() or not lock.held(folder.path / records.LOCK):
        return False
    started = read_started(folder)
    if not isinstance(started, Started) or started.supervisor is None or not started.is_at(here()):
        return False
    return not proctree.is_alive(started.supervisor) and bool(look(folder))


def why_words(why: Why) -> str:
    """Why processes count as orphans, for a person."""
    return {
        "lost": t("its supervisor is gone, and these still run"),
        "ended": t("it has ended, and these outlived it"),
        "removed": t("its folder was deleted, and these still run"),
    }[why]


def of(folder: RunFolder) -> Orphans | None:
    """The orphans of one run; None where it has none, lives, or is not of this place."""
    why = _why(folder)
    if why is None:
        return None
    left = tuple(Left(seen.pid, proctree.command_of(seen.pid)) for seen in look(folder))
    return Orphans(folder, why, left) if left else None


def _why(folder: RunFolder) -> Why | None:
    if (
        lock.held(folder.path / records.LOCK)
        or turns.is_taken(folder)
        or adrift.supervisors(folder)
        or _is_inside(folder)
    ):
        return None
    if adrift.is_gone(folder):
        return "removed"
    started = read_started(folder)
    if isinstance(started, Broken) and adrift.is_unrecorded(folder):
        return "lost"  # by the mark of its processes, which are of this place
    if not isinstance(started, Started) or not started.is_at(here()) or is_supervised(folder, started):
        return None  # of another place, alive, or a newer prl-tui's: nothing is known that would allow a signal
    return "ended" if isinstance(read_ended(folder), Ended) else "lost"


def _is_inside(folder: RunFolder) -> bool:
    """Whether that run started this very process by that run: a shell that a run offers, a program that cleans up."""
    table = proctree.scan()
    pid, walked = os.getpid(), set[int]()
    while pid in table and pid not in walked:
        if proctree.marked(pid) == folder.path:
            return True
        walked.add(pid)
        pid = table[pid].parent
    return False


def look(folder: RunFolder) -> list[proctree.Seen]:
    """The live processes of a run that has no supervisor."""
    started = read_started(folder)
    leader = started.leader if isinstance(started, Started) and started.is_at(here()) else None
    roots = [leader[0]] if leader is not None and proctree.is_alive(leader) else []
    found = {seen.pid: seen for seen in proctree.tree(roots, folder.path, {os.getpid()})}
    if roots and (seen := proctree.scan().get(roots[0])) is not None and seen.birth == leader:
        found[seen.pid] = seen  # also one that hides its environment
    return [seen for seen in found.values() if is_of_this_namespace(seen.pid)]


def _climb(folder: RunFolder, grace: Grace, on_left: Callable[[int], None] | None) -> None:
    """TERM, and KILL each second once `grace.terminate` is over, until nothing is left or nothing obeys.

    One sweep at a time: another one waits, and goes on where that was should it end before.
    """
    begun = steady.seconds()
    give_up = begun + grace.terminate + 10 * ladder.KILL_AGAIN
    turn, ours, told, next_kill = turns.Turn(folder), False, -1, 0.0
    try:
        while (left := look(folder)) and (now := steady.seconds()) < give_up:
            if on_left is not None and len(left) != told:
                on_left(len(left))
            told = len(left)
            ours = ours or turn.take()
            if ours:
                _term(turn, left)
                oldest = min(begun, *(turn.termed[seen.birth] for seen in left))
                if now >= max(next_kill, oldest + grace.terminate):
                    _send([seen.birth for seen in left], signal.SIGKILL)
                    next_kill = now + ladder.KILL_AGAIN
            time.sleep(_TURN)  # processes of other parents cannot be waited for, only looked at
    finally:
        turn.end(over=not look(folder))


def _term(turn: turns.Turn, left: Iterable[proctree.Seen]) -> None:
    """TERM to those that have not been sent it, by whomever."""
    new = [seen.birth for seen in left if seen.birth not in turn.termed]
    if new:
        turn.note(new)
        _send(new, signal.SIGTERM)


def _send(births: Iterable[proctree.Birth], number: int) -> None:
    for birth in births:
        try:
            proctree.send(birth, number)
        except PermissionError:
            continue
