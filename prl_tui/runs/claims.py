"""GPUs and ports that live runs have reserved, while their cards still look idle: imports take most of a minute.

A claim is a small file beside the runs. It counts as long as its run lives, as `state` judges that, so nobody ever
has to clean one up. A launch writes its own claim first and looks at the others then: where the lock of the folder
does not work, two launches at one moment may both withdraw, and never both start.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from prl_tui import reasons
from prl_tui.core.value import Value
from prl_tui.i18n import nt, t
from prl_tui.lists import listed
from prl_tui.machine import paths
from prl_tui.runs import adrift, lock, proctree, records
from prl_tui.runs.folder import Ended, RunFolder, Started, number, read_ended, read_started
from prl_tui.runs.place import here
from prl_tui.runs.state import ALIVE, is_heard, status
from prl_tui.runs.stop import leftovers

FOLDER = "claims"
_LOCK = "lock"
"""One launch at a time; a claim is safe without it too."""


class Claim(Value):
    """What one run has reserved."""

    run: str
    folder: RunFolder
    source: str
    """`recipe/preset`, or the recipe alone."""
    gpus: Mapping[str, int]
    """UUID → index on its box."""
    port: int | None
    since: float
    """Seconds since 1970."""
    place: Mapping[str, str] = {}
    claimer: proctree.Birth | None = None
    """Who launched it: that counts until its supervisor has reported."""

    def words(self) -> str:
        """`run 7f3a1c, prl-grpo/standard-4gpu, since 14:02`; with the day where that is another."""
        now, then = time.localtime(), time.localtime(self.since)
        form = "%H:%M" if now[:3] == then[:3] else "%m-%d %H:%M"
        return t("run {id}, {source}, since {time}", id=self.run, source=self.source, time=time.strftime(form, then))


class Taken(Value):
    """A claim that was refused."""

    claims: tuple[Claim, ...]
    """The other runs' that stand against it."""
    gpus: Mapping[str, int]
    """What was wanted."""
    port: int | None

    @property
    def sentence(self) -> str:
        """For a person: what is taken, and by whom."""
        told = []
        for claim in self.claims:
            both = sorted(self.gpus[uuid] for uuid in claim.gpus if uuid in self.gpus)
            if both:
                names = listed(map(str, both))
                told.append(
                    nt("GPU {names} is reserved by {run}", "GPUs {names} are reserved by {run}", len(both),
                       names=names, run=claim.words())
                )  # fmt: skip
            elif claim.port == self.port:
                told.append(t("Port {port} is reserved by {run}", port=self.port, run=claim.words()))
        return t("; ").join(told)


def held(root: Path) -> list[Claim]:
    """The claims of live runs of `root`, oldest first; files of dead ones are removed on the way."""
    found = []
    for file in sorted(_folder(root).glob("*.json")):
        claim = _read(file) if paths.is_file(file) else None  # a pipe would be waited for
        if claim is None:
            continue
        if _lives(claim, file):
            found.append(claim)
        elif _is_ours_to_remove(claim):
            with contextlib.suppress(OSError):
                file.unlink()
    return sorted(found, key=lambda claim: claim.since)


def reserve(
    root: Path,
    folder: RunFolder,
    source: str,
    gpus: Mapping[str, int],
    port: int | None,
    share: bool = False,
    on_note: Callable[[str], None] = lambda _: None,
) -> Taken | None:
    """Reserve GPUs and a port for the run in `folder`; what stands against it, or None.

    `share`: other runs' claims are no hindrance. A folder that cannot be written is none either, but `on_note` is
    told: the others' claims are still heeded, and nobody sees this one.
    """
    if not gpus and port is None:
        return None
    place = _folder(root)
    with contextlib.suppress(OSError):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    with lock.turn(place / _LOCK):
        try:
            _write(root, folder, source, gpus, port)
        except OSError as problem:
            on_note(_unreserved(root, problem))
        others = [claim for claim in held(root) if claim.run != folder.id]
        against = tuple(claim for claim in others if _meet(claim, gpus, port, share))
        if against:
            release(root, folder)
            return Taken(against, gpus, port)
    return None


def release(root: Path, folder: RunFolder) -> None:
    """Withdraw a run's claim: it never began."""
    with contextlib.suppress(OSError):
        _file(root, folder.id).unlink()


def of_port(claims: list[Claim], port: int) -> Claim | None:
    """Whose port it is, also before anybody listens there."""
    return next((claim for claim in claims if claim.port == port and _is_here(claim)), None)


def run_of(pid: int) -> str:
    """The id of the run that a process carries as its mark, "" for none."""
    folder = proctree.marked(pid)
    return folder.name if folder is not None and paths.is_file(folder / records.RUN) else ""


def _meet(claim: Claim, gpus: Mapping[str, int], port: int | None, share: bool) -> bool:
    if port is not None and claim.port == port and _is_here(claim):
        return True
    return not share and not claim.gpus.keys().isdisjoint(gpus)


def _is_here(claim: Claim) -> bool:
    """A port is one host's; a GPU's UUID is the world's."""
    return claim.place.get("host") == here()["host"]


def _folder(root: Path) -> Path:
    return root.parent / FOLDER


def _file(root: Path, run: str) -> Path:
    return _folder(root) / f"{run}.json"


def _write(root: Path, folder: RunFolder, source: str, gpus: Mapping[str, int], port: int | None) -> None:
    me = proctree.birth(os.getpid()) or (os.getpid(), 0)
    record = {
        "schema": records.SCHEMA,
        "run": folder.id,
        "folder": str(folder.path),
        "source": source,
        "gpus": dict(gpus),
        "port": port,
        "since": time.time(),
        "claimer": {"pid": me[0], "ticks": me[1]},
        **here(),
    }
    file = _file(root, folder.id)
    beside = file.with_suffix(f".{os.getpid()}.tmp")
    # Whole, but not durable: no claim outlives a crash of the box.
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w") as out:
            out.write(json.dumps(record))
        beside.replace(file)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def _unreserved(root: Path, problem: OSError) -> str:
    return t(
        "The GPUs and the port of this run are not reserved, another launch may take them: "
        "{path} cannot be written: {reason}",
        path=_folder(root),
        reason=reasons.of(problem),
    )


def _read(file: Path) -> Claim | None:
    record = records.read_record(file)
    if not isinstance(record, dict):
        return None
    run, folder, gpus, since = record.get("run"), record.get("folder"), record.get("gpus"), number(record.get("since"))
    if (
        not isinstance(run, str)
        or not isinstance(folder, str)
        or "\0" in folder
        or not isinstance(gpus, dict)
        or since is None
    ):
        return None
    claimer, port = record.get("claimer"), record.get("port")
    pid, ticks = (claimer.get("pid"), claimer.get("ticks")) if isinstance(claimer, dict) else (None, None)
    return Claim(
        run,
        RunFolder(Path(folder)),
        str(record.get("source") or "–"),
        {str(uuid): index for uuid, index in gpus.items() if isinstance(index, int)},
        port if isinstance(port, int) else None,
        since,
        {key: str(record.get(key, "")) for key in here()},
        (pid, ticks) if isinstance(pid, int) and isinstance(ticks, int) else None,
    )


def _lives(claim: Claim, file: Path) -> bool:
    folder = claim.folder
    if dict(claim.place) != dict(here()):
        return _lives_elsewhere(claim, file)
    if isinstance(read_ended(folder), Ended) and not lock.held(folder.path / records.LOCK):
        return False
    seen = status(folder)
    if seen.state in ALIVE or lock.held(folder.path / records.LOCK) or adrift.lives(folder):
        return True
    started = read_started(folder)
    if isinstance(started, Started) and started.supervisor is not None:
        return bool(leftovers(folder))  # its supervisor is gone: what it left still holds the cards
    if adrift.living(folder):
        return True  # the same, by its mark alone
    return folder.path.is_dir() and claim.claimer is not None and proctree.is_alive(claim.claimer)


def _lives_elsewhere(claim: Claim, file: Path) -> bool:
    """Another host's or pod's: only what it writes can be seen from here."""
    if isinstance(read_ended(claim.folder), Ended):
        return False
    if is_heard(claim.folder) or lock.held(claim.folder.path / records.LOCK):
        return True
    if claim.place.get("host") == here()["host"] and claim.place.get("boot_id") != here()["boot_id"]:
        return False
    with contextlib.suppress(OSError):
        return abs(time.time() - file.stat().st_mtime) < records.HEARTBEAT_FRESH  # its first heartbeat may be to come
    return False


def _is_ours_to_remove(claim: Claim) -> bool:
    """A dead claim of this very place, or of a run that has ended or is gone, whoever's it was."""
    if dict(claim.place) == dict(here()) or isinstance(read_ended(claim.folder), Ended):
        return True
    return not claim.folder.path.exists() and claim.folder.path.parent.is_dir()
