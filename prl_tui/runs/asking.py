"""stop.json: that somebody asked for a run's end, when, with which graces, and how far who is at it has got."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from prl_tui.core.value import Value
from prl_tui.runs import ladder, lock, records
from prl_tui.runs.folder import RunFolder, number
from prl_tui.runs.place import here

if TYPE_CHECKING:
    from collections.abc import Mapping


class Grace(Value):
    """Seconds between the steps of a stop: INT, `interrupt`, TERM, `terminate`, KILL each second."""

    interrupt: float = ladder.INTERRUPT_GRACE
    """0 starts with TERM."""
    terminate: float = ladder.TERMINATE_GRACE
    """torchrun itself gives its ranks 30 s after a signal: the default outlasts that."""

    @property
    def total(self) -> float:
        """Seconds from the request to the first KILL."""
        return self.interrupt + self.terminate


def note(folder: RunFolder, grace: Grace, by: str) -> tuple[dict[str, object], bool]:
    """Ask in stop.json: what it says now, and whether that could be written.

    It keeps the first asker's name and moment, and the shortest graces that anybody gave.
    """
    with lock.turn(folder.path / records.STOP_LOCK):
        request = _made(folder, grace, by)
        return request, _write(folder, request)


def _made(folder: RunFolder, grace: Grace, by: str) -> dict[str, object]:
    asked = begun(folder) or {}
    now, moment, asker = time.time(), number(asked.get("asked")), asked.get("by")
    who = {"user": _user(), "pid": os.getpid(), "host": here()["host"], "via": by}
    request: dict[str, object] = {
        "asked": moment if moment is not None and 0 <= moment <= now else now,
        "grace": shortest(folder, grace),
        "by": asker if isinstance(asker, dict) else who,
    }
    return {**request, **{key: asked[key] for key in ("stage", "since") if key in asked}}


def begun(folder: RunFolder) -> dict[str, object] | None:
    """What stop.json says; None where nobody has asked for a stop."""
    before = records.read_record(folder.path / records.STOP)
    return before if isinstance(before, dict) else None


def sent(folder: RunFolder) -> tuple[int, float | None]:
    """The last stage of a stop whose signal somebody has sent, and when where that is known, in seconds since 1970.

    Its supervisor says it in its heartbeat, who went on for that in stop.json. A heartbeat that cannot be read may have
    said that INT was sent, and a second INT breaks off the saving of a checkpoint: it counts as sent.
    """
    beat, request = records.read_record(folder.path / records.HEARTBEAT), begun(folder)
    by_supervisor, by_other = _stage(beat), _stage(request)
    if isinstance(beat, records.Broken):
        by_supervisor = ladder.INTERRUPT
    if by_other < by_supervisor:
        return by_supervisor, None
    since = number((request or {}).get("since"))
    return by_other, since if since is not None and 0 <= since <= time.time() else None


def _stage(record: object) -> int:
    said = record.get("stage") if isinstance(record, dict) else None
    return ladder.STAGES.index(said) if said in ladder.STAGES else ladder.NONE


def shortest(folder: RunFolder, grace: Grace) -> dict[str, float]:
    """The shorter of these graces and of what stop.json says, each in seconds."""
    earlier = (begun(folder) or {}).get("grace")
    found = {"interrupt": grace.interrupt, "terminate": grace.terminate}
    for step, value in earlier.items() if isinstance(earlier, dict) else ():
        seconds = number(value)
        if step in found and seconds is not None and seconds >= 0:
            found[step] = min(found[step], seconds)
    return found


def _user() -> str:
    import getpass  # for those who stop a run, not for those who start one

    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's uid without a name
        return str(os.getuid())


def note_stage(folder: RunFolder, stage: int) -> None:
    """For who goes on with this stop, should this process end before the run does."""
    with lock.turn(folder.path / records.STOP_LOCK):
        _write(folder, {**(begun(folder) or {}), "stage": ladder.STAGES[stage], "since": time.time()})


def _write(folder: RunFolder, request: Mapping[str, object]) -> bool:
    try:
        records.write_record(folder.path / records.STOP, request)
    except OSError:  # the signal still reaches the supervisor, which then takes the default graces
        return False
    return True
