"""The deletion of a run's folder: what tells of the run goes last, so that half a deletion leaves a run and no wreck."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from prl_tui.core.value import Value
from prl_tui.runs import records

_TELLING = (records.OUTPUT, records.HEARTBEAT, records.STATE, records.EXIT, records.RUN)
"""In the order in which they go; by the last one a run is known."""
_TRIES = 3
"""Looks at a folder into which something still writes."""


class Left(Value):
    """A deletion that could not be finished."""

    problem: OSError
    """Why the first of what stays could not be deleted."""
    readable: bool
    """The run's records and its log are all there still."""


def delete(folder: Path) -> Left | None:
    """Delete a folder and all that is in it; what is left where something cannot be deleted, all else is gone then."""
    for tries_left in reversed(range(_TRIES)):
        stuck = _delete_others(folder)
        if stuck is not None:
            return Left(stuck, readable=True)
        try:
            for name in _TELLING:
                with contextlib.suppress(FileNotFoundError):
                    (folder / name).unlink()
            folder.rmdir()
        except OSError as error:
            if error.errno != errno.ENOTEMPTY or not tries_left:
                return Left(error, readable=False)
        else:
            break
    return None


def _delete_others(folder: Path) -> OSError | None:
    """Delete all but what tells of the run; the first failure, after everything was tried."""
    found: list[OSError] = []

    def failed(_do: object, path: str, fault: tuple[type[BaseException], BaseException, object]) -> None:
        error = fault[1]
        if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
            error.filename = path  # its own is relative to a descriptor
            found.append(error)

    try:
        with os.scandir(folder) as entries:
            others = [entry for entry in entries if entry.name not in _TELLING or entry.is_dir(follow_symlinks=False)]
    except OSError as error:
        return error
    import shutil  # for those who delete a run, not for those who start one

    for entry in others:
        try:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, onerror=failed)
            else:
                os.unlink(entry.path)  # noqa: PTH108  (an entry, no path)
        except FileNotFoundError:
            continue
        except OSError as error:
            found.append(error)
    return found[0] if found else None
