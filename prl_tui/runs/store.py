"""The folder of all runs: new ones, the list, one by id, removal."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import re
import time
from pathlib import Path

from prl_tui import reasons
from prl_tui.core.value import Value
from prl_tui.i18n import t
from prl_tui.lists import listed
from prl_tui.runs import lock, records, removal
from prl_tui.runs.folder import RunFolder, last_word, number
from prl_tui.runs.ids import new_id
from prl_tui.runs.place import here
from prl_tui.runs.state import ALIVE, status
from prl_tui.runs.stop import leftovers, let_go

LAST = "last"
"""What a person writes for the newest run."""

_ID = re.compile(r"[0-9a-f]{6}")
_TRIES = 100
_NEWEST = ".newest"
"""Beside the runs: the place of the one that was launched last."""


class NoRun(Value):
    """Nothing goes by that name."""

    wanted: str

    @property
    def sentence(self) -> str:
        """For a person."""
        if not self.wanted.strip():
            return t("The name of the run is empty; an id, the beginning of one, or last would work")
        if self.wanted == LAST:
            return t("There are no runs yet")
        return t("There is no run {name}", name=self.wanted)


class Ambiguous(Value):
    """Several runs begin like that."""

    wanted: str
    candidates: tuple[RunFolder, ...]
    """Newest first."""

    @property
    def sentence(self) -> str:
        """For a person."""
        ids = listed(folder.id for folder in self.candidates[:10])
        return t("{name} may be any of {n} runs: {ids}", name=self.wanted, n=len(self.candidates), ids=ids)


class Kept(Value):
    """A run that was not removed, and why."""

    sentence: str


def make_folder(root: Path, wanted: str = "") -> RunFolder:
    """A new empty folder with an id of its own, the wanted one if that is free. OSError when it cannot be made."""
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError:
        root.stat()  # says what is wrong with a link
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(root)) from None
    home = Path(os.path.realpath(root))  # Path.resolve raises RuntimeError for links that lead in a circle
    for tried in range(_TRIES):
        path = home / (new_id() if tried or not wanted else wanted)
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            continue
        return RunFolder(path)
    raise FileExistsError(None, "no free id", str(home))


def list_runs(root: Path) -> list[RunFolder]:
    """Every run of `root`, newest first. A damaged folder counts too, by its time of change; no root means none."""
    return [RunFolder(Path(path)) for _, path in sorted(_placed(root), reverse=True)]


def next_place(folder: RunFolder) -> float:
    """Where a new run stands among those of its root: seconds since 1970, but behind all of them in any case.

    A clock that was set back, or had been ahead once, would put it before older ones.
    """
    root, now = folder.path.parent, time.time()
    newest = _noted(root)
    if newest is None:
        newest = max((place for place, path in _placed(root) if path != str(folder.path)), default=0.0)
    place = now if now > newest else max(newest + 0.001, math.nextafter(newest, math.inf))
    with contextlib.suppress(OSError):  # then all runs are looked at the next time
        (root / _NEWEST).write_text(f"{place!r}\n", "ascii")
    return place


def _noted(root: Path) -> float | None:
    """The place of the newest run, as its launch wrote it down: a thousand runs take a while to read."""
    try:
        text = (root / _NEWEST).read_text("ascii")
        place = float(text)
        return place if text.endswith("\n") and math.isfinite(place) else None  # cut: the disk was full
    except (OSError, ValueError):
        return None


def _placed(root: Path) -> list[tuple[float, str]]:
    """The runs' places and paths."""
    found = []
    try:
        with os.scandir(os.path.realpath(root)) as entries:
            for entry in entries:
                place = _place(entry)
                if place is not None:
                    found.append((place, entry.path))
    except OSError:
        return []
    return found


def recorded(root: Path) -> list[RunFolder]:
    """The runs of a folder that need be no root of ours, newest first: only those with a record of their start."""
    return [one for one in list_runs(root) if os.path.isfile(one.path / records.RUN)]  # noqa: PTH113  (Path.is_file raises for a folder that is shut)


def find(root: Path, wanted: str) -> RunFolder | NoRun | Ambiguous:
    """The run that `wanted` means: `last`, an id, or the beginning of just one id."""
    runs = list_runs(root)
    name = wanted.strip().lower()
    if name == LAST:
        return runs[0] if runs else NoRun(LAST)
    matching = [folder for folder in runs if name and folder.id.lower().startswith(name)]
    exact = [folder for folder in matching if folder.id.lower() == name]
    if len(exact or matching) == 1:
        return (exact or matching)[0]
    return Ambiguous(wanted, tuple(matching)) if matching else NoRun(wanted)


def why_kept(folder: RunFolder) -> Kept | None:
    """Why a run may not be deleted: it lives, or may live elsewhere, or processes outlived it.

    A run of another place counts as ended only by its own record of that: no clock and no lock of here proves it.
    """
    seen = status(folder)
    if seen.state in ALIVE or (not seen.unwritten and lock.held(folder.path / records.LOCK)):
        return Kept(t("Run {id} is alive; stop it first", id=folder.id))
    if seen.state == "unknown" and (host := _other_place(folder)) is not None:
        return Kept(
            t(
                "Run {id} is of {host}, and nothing tells that it has ended: delete it there, or, where you are sure, "
                "remove its folder {path} yourself",
                id=folder.id,
                host=host,
                path=folder.path,
            )
        )
    if leftovers(folder):
        return Kept(t("Processes of run {id} are still alive; prl-tui sweep ends them", id=folder.id))
    return None


def _other_place(folder: RunFolder) -> str | None:
    """The host of a run that was not started in this place, as far as its records tell; None for one of here."""
    for name in (records.STATE, records.RUN):
        record = records.read_record(folder.path / name)
        told = {key: record[key] for key in here() if key in record} if isinstance(record, dict) else {}
        if told:
            return None if all(here()[key] == value for key, value in told.items()) else str(told.get("host") or "–")
    return None


def remove(folder: RunFolder) -> Kept | None:
    """Delete the run's folder, logs and all, unless something stands against it (`why_kept`).

    What cannot be deleted stays listed as the run, with its records and its log, and is named.
    """
    kept = why_kept(folder)
    if kept is not None:
        return kept
    if last_word(folder) is not None and lock.held(folder.path / records.LOCK):
        let_go(folder)  # else its supervisor would try on to write into a folder that is gone
    hidden = folder.path.with_name(f".{folder.id}.removed")  # what still writes there finds no folder any more
    try:
        folder.path.rename(hidden)
    except OSError as problem:
        return Kept(t("{path} cannot be removed: {reason}", path=folder.path, reason=reasons.of(problem)))
    left = removal.delete(hidden)
    if left is None:
        return None
    place = hidden
    with contextlib.suppress(OSError):
        place = hidden.rename(folder.path)
    path = str(left.problem.filename or place).replace(str(hidden), str(place))
    told = {"path": path, "reason": reasons.of(left.problem), "id": folder.id, "place": place}
    if left.readable:
        return Kept(
            t(
                "{path} cannot be removed: {reason}. Run {id} stays with its records and its log in {place}; "
                "whatever else could be deleted of it is gone",
                **told,
            )
        )
    return Kept(
        t("{path} cannot be removed: {reason}. What is left of run {id} is in {place}; the rest is gone", **told)
    )


def _place(entry: os.DirEntry[str]) -> float | None:
    """What `next_place` gave it, else when it was made; None when the entry is no run."""
    try:
        if entry.name.startswith(".") or not entry.is_dir():
            return None
        record = records.read_record(Path(entry.path, records.RUN))
        if record is None and not _ID.fullmatch(entry.name):
            return None
        told = [number(record.get(key)) for key in ("place", "created")] if isinstance(record, dict) else []
        known = [place for place in told if place is not None]
        return known[0] if known else entry.stat().st_mtime
    except OSError:
        return None
