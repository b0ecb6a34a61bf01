"""Which processes belong to a run, and signals that reach them and nobody else.

A process is named by its pid and its start time (a *birth*): pids come round again, births don't. torchrun puts
each rank in its own session, and a daemon leaves its parent, so a process group is never the whole run.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

from prl_tui.runs.records import BESIDE, MARKER, STATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    Birth = tuple[int, int]
    """pid, and start time in clock ticks since boot."""

_MARK = b"\0" + MARKER.encode() + b"="
_BESIDE = b"\0" + BESIDE.encode() + b"="
_PROGRAM = ["prl_tui", "runs", "supervisor.py"]
_MODULE = "prl_tui.runs.supervisor"
_KTHREADD = 2
_CHUNK = 1 << 14


class Seen:
    """One live process of one scan of /proc."""

    __slots__ = ("group", "parent", "pid", "ticks")

    def __init__(self, pid: int, parent: int, group: int, ticks: int) -> None:
        self.pid, self.parent, self.group, self.ticks = pid, parent, group, ticks

    @property
    def birth(self) -> Birth:
        """What names this process for good."""
        return self.pid, self.ticks


def start_ticks(pid: int) -> int | None:
    """Start time of a live process in clock ticks since boot; None when it is gone or a zombie."""
    seen = _look(pid)
    return seen.ticks if seen else None


def birth(pid: int) -> Birth | None:
    """The birth of a live process, None when it is gone or a zombie."""
    ticks = start_ticks(pid)
    return None if ticks is None else (pid, ticks)


def is_alive(process: Birth) -> bool:
    """Whether exactly this process still lives."""
    return start_ticks(process[0]) == process[1]


def scan() -> dict[int, Seen]:
    """Every live process that /proc shows, by pid."""
    try:
        names = os.listdir("/proc")  # noqa: PTH208  (hot: names, not paths)
    except OSError:
        return {}
    found = (_look(int(name)) for name in names if name.isdigit())
    return {seen.pid: seen for seen in found if seen is not None}


def tree(roots: Iterable[int], folder: Path, spare: Collection[int] = ()) -> list[Seen]:
    """The live processes of the run in `folder`: those below `roots`, and those that carry its mark.

    `roots` themselves count only when they carry the mark; `spare` never counts. A process below that carries the
    mark of another run, and all that is below it, belongs to that run; what stands beside a run belongs to none.
    """
    table = scan()
    children: dict[int, list[int]] = {}
    for seen in table.values():
        children.setdefault(seen.parent, []).append(seen.pid)
    mark = os.fsencode(folder)
    around = {pid: _environment_of(pid) for pid, seen in table.items() if _KTHREADD not in (pid, seen.parent)}
    beside = {pid for pid, environment in around.items() if _BESIDE in environment}
    marks = {pid: _mark_in(environment) for pid, environment in around.items() if pid not in beside}
    found = {pid for pid, carried in marks.items() if carried == mark}
    todo = [*found, *roots]
    walked = {*todo, *beside}
    while todo:
        for child in children.get(todo.pop(), ()):
            if child not in walked and not _is_another_run(child, marks.get(child), mark):
                walked.add(child)
                found.add(child)
                todo.append(child)
    return [table[pid] for pid in sorted(found) if pid not in spare]


class Watch:
    """Looks at one run again and again. A process once seen counts until it is gone: a dying one has lost its mark
    already, and may still hold a GPU for seconds.
    """

    def __init__(self, folder: Path, spare: Collection[int]) -> None:
        self._folder, self._spare = folder, spare
        self._known: dict[Birth, Seen] = {}

    def look(self, roots: Iterable[int]) -> list[Seen]:
        """What `tree` finds now, and what earlier looks found that still lives."""
        found = {seen.birth: seen for seen in tree(roots, self._folder, self._spare)}
        for known, seen in self._known.items():
            if known not in found and is_alive(known):
                found[known] = seen
        self._known = found
        return list(found.values())


def marked(pid: int) -> Path | None:
    """The folder of the run that a process carries as its mark; None without one, or where that is hidden."""
    carried = _mark_in(_environment_of(pid))
    return Path(os.fsdecode(carried)) if carried else None


def send(process: Birth, number: int) -> bool:
    """Signal exactly this process; False when it is gone. PermissionError when it belongs to somebody else."""
    pid, ticks = process
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    except (AttributeError, OSError):  # before Linux 5.3
        return _send_by_pid(process, number)
    try:
        if start_ticks(pid) != ticks:  # compared after the process was pinned, so that it cannot change hands
            return False
        signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(descriptor)
    return True


def command_of(pid: int) -> str:
    """The command line of a process as one text without secrets, its short name where that is hidden, "" when it is gone."""
    from prl_tui.core import secrets  # not for supervisors, which tell nobody

    line = " ".join(secrets.hidden_words(tuple(words_of(pid)))).rstrip()
    return os.fsencode(line).decode("utf-8", "replace") or _read(f"/proc/{pid}/comm").strip().decode("utf-8", "replace")


def words_of(pid: int) -> list[str]:
    """The command line of a process, word by word; empty when that is hidden, or it is gone."""
    line = _read(f"/proc/{pid}/cmdline").removesuffix(b"\0")
    return [os.fsdecode(word) for word in line.split(b"\0")] if line else []


def is_supervisor(words: Sequence[str]) -> bool:
    """Whether a command is a supervisor with its run: this installation's, or another one's of the same account."""
    return any(word == _MODULE or word.split("/")[-3:] == _PROGRAM for word in words[1:-1])


def _send_by_pid(process: Birth, number: int) -> bool:
    if not is_alive(process):
        return False
    try:
        os.kill(process[0], number)
    except ProcessLookupError:
        return False
    return True


def _look(pid: int) -> Seen | None:
    # the name in parentheses may hold spaces and parentheses itself, so count fields from its last one
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    if len(fields) < 20:
        return None
    if fields[0] in b"ZX" and int(fields[17]) <= 1:  # more threads: only the main one has ended
        return None
    return Seen(pid, int(fields[1]), int(fields[2]), int(fields[19]))


def _environment_of(pid: int) -> bytes:
    return b"\0" + _read(f"/proc/{pid}/environ")


def _mark_in(environment: bytes) -> bytes | None:
    start = environment.find(_MARK)
    if start < 0:
        return None
    return environment[start + len(_MARK) :].split(b"\0", 1)[0]


def _is_another_run(pid: int, carried: bytes | None, mark: bytes) -> bool:
    # a training script may use the name for a folder of its own: a real run's folder counts, and a supervisor, whose
    # folder may be gone; what is below it is below it
    if carried is None or carried == mark:
        return False
    return os.path.exists(os.path.join(os.fsdecode(carried), STATE)) or is_supervisor(words_of(pid))  # noqa: PTH110, PTH118  (Path raises for a folder of others)


def _read(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        data = part = os.read(descriptor, _CHUNK)
        while len(part) == _CHUNK:  # /proc gives all that there is: a short read is the end
            part = os.read(descriptor, _CHUNK)
            data += part
        return data
    except OSError:
        return b""
    finally:
        os.close(descriptor)
