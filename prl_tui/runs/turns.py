"""Who is ending what a run has left behind whose folder is gone or has its exit record, and how far that has got.

It lies beside the runs, as the folder may be gone: one sweep at a time is at it, and the next goes on where that was.
"""

from __future__ import annotations

from contextlib import suppress
from os import close
from pathlib import Path

from prl_tui import steady
from prl_tui.runs import lock, proctree, records
from prl_tui.runs.folder import RunFolder, number
from prl_tui.runs.place import here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = "sweeps"
_HELD_BY_NOBODY = -1


class Turn:
    """One sweep's turn at one run."""

    def __init__(self, folder: RunFolder) -> None:
        self._place = _place(folder)
        self._descriptor: int | None = None
        self.termed: dict[proctree.Birth, float] = {}
        """Who was sent TERM and when, by the clock of ages; by earlier sweeps too."""

    def take(self) -> bool:
        """Whether it is this one's turn; where no lock can be had, it always is."""
        try:
            self._place.parent.mkdir(mode=0o700, exist_ok=True)
            self._descriptor = lock.take(_lock(self._place))
        except OSError:
            self._descriptor = _HELD_BY_NOBODY
        if self._descriptor is not None:
            self.termed = _kept(self._place)
        return self._descriptor is not None

    def note(self, births: Iterable[proctree.Birth]) -> None:
        """These are sent TERM now. Written before that is done: a second TERM may break off the saving of a checkpoint."""
        now = steady.seconds()
        self.termed.update(dict.fromkeys(births, now))
        termed = [[*birth, since] for birth, since in self.termed.items()]
        with suppress(OSError):
            records.write_record(self._place, {**here(), "termed": termed})

    def end(self, *, over: bool) -> None:
        """Let the next one go on, or, where nothing is left, leave nothing either."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        if over:
            for path in (self._place, _lock(self._place)):
                with suppress(OSError):
                    path.unlink()
        if descriptor != _HELD_BY_NOBODY:
            close(descriptor)


def is_taken(folder: RunFolder) -> bool:
    """Whether a sweep is at it."""
    return bool(lock.held(_lock(_place(folder))))


def taken(root: Path) -> list[str]:
    """The ids of the runs of a root at which a sweep is."""
    locks = sorted((root.parent / FOLDER).glob("*.lock"))
    return [path.stem for path in locks if lock.held(path)]


def _place(folder: RunFolder) -> Path:
    return folder.path.parent.parent / FOLDER / f"{folder.id}.json"


def _lock(place: Path) -> Path:
    return place.with_suffix(".lock")


def _kept(place: Path) -> dict[proctree.Birth, float]:
    """What an earlier sweep of this place has written down."""
    record = records.read_record(place)
    if not isinstance(record, dict) or any(record.get(key) != value for key, value in here().items()):
        return {}
    termed, found, now = record.get("termed"), {}, steady.seconds()
    for one in termed if isinstance(termed, list) else ():
        if isinstance(one, list) and len(one) == 3 and isinstance(one[0], int) and isinstance(one[1], int):
            since = number(one[2])
            found[one[0], one[1]] = now if since is None or since > now else since
    return found
