"""Where each Python process of a run stands now: its stacks by py-spy, kept in the run's folder. For ranks that hang.

py-spy reads a process from outside and changes nothing in it; the process pauses for some milliseconds. It needs leave
to look at other processes: the same user and no ptrace restriction, or root; a container needs SYS_PTRACE.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from prl_tui import atomic, reasons
from prl_tui.i18n import t
from prl_tui.runs import proctree, seats, stop
from prl_tui.runs.folder import RunFolder, Started, explain, read_started
from prl_tui.runs.place import here
from prl_tui.runs.records import Broken

FOLDER = "stacks"
"""Below the run's folder: one folder for each time that somebody asked."""
WITHIN = 20.0
"""Seconds that one process may take: one in an uninterruptible wait cannot be read."""
AT_ONCE = 8
"""Processes that are read side by side."""
_COMMAND = 60
"""Characters of a command in a summary."""
_SHOWN = 6
"""Frames of a thread that a summary shows."""
_OWN = 2
"""How many of them are of the person's own program, where that lies deeper."""


class StacksError(Exception):
    """The stacks of this run cannot be read; the message is one sentence with a way out."""


@dataclass(frozen=True, slots=True)
class Stack:
    """One process."""

    pid: int
    rank: int | None
    """None for the launcher and what is no rank's own process."""
    command: str
    text: str
    """What py-spy says: every thread, innermost frame first; "" where it could not read it."""
    problem: str = ""
    """One sentence why there is no text."""

    @property
    def name(self) -> str:
        """The name of its file, without the ending."""
        return f"rank-{self.rank}" if self.rank is not None else f"pid-{self.pid}"

    def top(self) -> list[str]:
        """Where the thread that works stands: the main one, or the first that py-spy calls active.

        Its innermost frames, and those of the person's own program wherever they are; "…" stands for what is left out.
        """
        threads: list[list[str]] = []
        for line in map(str.strip, self.text.splitlines()):
            if line.startswith("Thread "):  # py-spy puts no blank line between two
                threads.append([line])
            elif line and threads:
                threads[-1].append(line)
        chosen = next((one for one in threads if '"MainThread"' in one[0]), threads[0] if threads else [])
        frames = chosen[1:]
        if len(frames) <= _SHOWN:
            return [_brief(frame) for frame in frames]
        program = _program(frames)
        own = next((n for n, frame in enumerate(frames) if _is_own(frame, program)), 0)
        if own < _SHOWN:
            return [*map(_brief, frames[:_SHOWN]), CUT]
        calling = frames[own : own + _OWN]
        more = [CUT] if own + _OWN < len(frames) else []
        return [*map(_brief, frames[: _SHOWN - _OWN]), CUT, *map(_brief, calling), *more]


CUT = "…"
"""Frames that a summary leaves out."""
_PLACE = re.compile(r"(?P<name>.*) \((?P<file>.*):(?P<line>\d+)\)$")
_INSTALLED = re.compile(r".*/(?:site|dist)-packages/|.*/lib(?:64)?/python3(?:\.\d+t?)?/")


def _program(frames: list[str]) -> str:
    """The installed package whose module or script was started, as `prl_tui/` or `swift/`; "" for a file of one's own."""
    for frame in reversed(frames):
        found = _PLACE.fullmatch(frame)
        if found is None or found["name"] != "<module>":
            continue
        inside = _INSTALLED.match(found["file"])
        return found["file"][: inside.end()] + found["file"][inside.end() :].partition("/")[0] + "/" if inside else ""
    return ""


def _is_own(frame: str, program: str) -> bool:
    """Whether a frame is of the person's program: that which was started, or what neither Python nor a package brought."""
    found = _PLACE.fullmatch(frame)
    if found is None or found["file"].startswith("<"):
        return False
    return not _INSTALLED.match(found["file"]) or bool(program and found["file"].startswith(program))


def _brief(frame: str) -> str:
    """A frame with its file from the package on."""
    found = _PLACE.fullmatch(frame)
    return f"{found['name']} ({_INSTALLED.sub('', found['file'])}:{found['line']})" if found else frame


@dataclass(frozen=True, slots=True)
class Stacks:
    """All processes of a run at one moment."""

    place: Path
    """The folder with one text file a process."""
    found: tuple[Stack, ...]


def read(folder: RunFolder) -> Stacks:
    """Read every Python process of a live run of this place, ranks first, and keep the texts; StacksError if none can be."""
    started = read_started(folder)
    if isinstance(started, Started) and not started.is_at(here()):
        raise StacksError(
            t("Run {id} belongs to {host}: its stacks can be read there.", id=folder.id, host=started.host)
        )
    processes = [seen for seen in stop.leftovers(folder) if _is_python(seen.pid)]
    if not processes and isinstance(started, Broken):
        raise StacksError(t("run {id}: {words}", id=folder.id, words=f"{explain(started)}."))
    if not processes:
        raise StacksError(t("No Python process of run {id} lives.", id=folder.id))
    found_program = program(folder)
    if found_program is None:
        raise StacksError(
            t("py-spy is not here; this puts it into prl-tui's own environment: {command}", command=install_command())
        )
    ranks = {seat.pid: seat.rank for seat in seats.of_processes(processes, seats.environment).ranks}
    found = _side_by_side([partial(_stack, found_program, one.pid, ranks.get(one.pid)) for one in processes])
    found.sort(key=lambda one: (one.rank is None, one.rank or 0, one.pid))
    return Stacks(_keep(folder, found), tuple(found))


def _side_by_side(calls: Sequence[Callable[[], Stack]]) -> list[Stack]:
    """What they give, a few at a time: on threads that no exit waits for, as those of an executor would be."""
    given: list[Stack | Exception | None] = [None] * len(calls)
    left = iter(range(len(calls)))

    def work() -> None:
        for n in left:  # one step of it is whole: threads never get the same number
            try:
                given[n] = calls[n]()
            except Exception as error:
                given[n] = error

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(AT_ONCE, len(calls)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in given:
        if isinstance(one, Exception):
            raise one
    return [one for one in given if isinstance(one, Stack)]


def _is_python(pid: int) -> bool:
    try:
        return Path(os.readlink(f"/proc/{pid}/exe")).name.startswith("python")  # noqa: PTH115
    except OSError:
        return False


def program(folder: RunFolder) -> str | None:
    """py-spy: beside this interpreter, beside the run's program, or on the PATH."""
    info = folder.info()
    words = info.get("argv") if isinstance(info, dict) else None
    beside = [Path(sys.executable).parent]
    if isinstance(words, list) and words and os.sep in str(words[0]):
        beside.append(Path(str(words[0])).parent)
    places = os.pathsep.join([*map(str, beside), os.environ.get("PATH", os.defpath)])
    return shutil.which("py-spy", path=places)


def install_command() -> str:
    """The command that installs py-spy beside this interpreter, for any shell; environments made by uv have no pip."""
    python = shlex.quote(sys.executable)
    if importlib.util.find_spec("pip") is None:
        return f"uv pip install --python {python} py-spy"
    return f"{python} -m pip install py-spy"


def _stack(spy: str, pid: int, rank: int | None) -> Stack:
    command = proctree.command_of(pid)
    words = [spy, "dump", "--full-filenames", "--pid", str(pid)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=WITHIN, check=False)
    except subprocess.TimeoutExpired:
        return Stack(pid, rank, command, "", t("not read within {n} seconds: it waits in the kernel", n=int(WITHIN)))
    except OSError as error:
        return Stack(pid, rank, command, "", t("{path} cannot be run: {reason}", path=spy, reason=reasons.of(error)))
    if done.returncode == 0:
        return Stack(pid, rank, command, done.stdout)
    return Stack(pid, rank, command, "", _reason(done.stderr))


def _reason(said: str) -> str:
    if "permission" in said.lower():
        return t(
            "the system forbids looking into it: run prl-tui as the same user or root; a container needs SYS_PTRACE"
        )
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[0] if lines else t("py-spy gave no reason")


def _keep(folder: RunFolder, found: list[Stack]) -> Path:
    """Write the texts; StacksError where the folder takes none."""
    place = folder.path / FOLDER / time.strftime("%Y%m%d-%H%M%S")
    try:
        place.mkdir(parents=True, exist_ok=True)
        for one in found:
            atomic.write_text(place / f"{one.name}.txt", one.text or one.problem + "\n")
    except OSError as error:
        raise StacksError(t("{path} cannot be written: {reason}.", path=place, reason=reasons.of(error))) from None
    return place


def lines(stacks: Stacks) -> list[str]:
    """For a person: each process with the frames in which it stands, where the whole texts are."""
    out = []
    for one in stacks.found:
        title = t("rank {rank}", rank=one.rank) if one.rank is not None else _short(one.command)
        out.append(f"{title} (pid {one.pid})")
        out += [f"  {line}" for line in one.top()] or [f"  {one.problem}"]
    return [*out, "", t("Every thread of each: {place}", place=stacks.place)]


def _short(command: str) -> str:
    """A command that leaves room for the stack below it."""
    return command if len(command) <= _COMMAND else command[: _COMMAND - 1] + "…"


def as_data(stacks: Stacks) -> dict[str, object]:
    """For --json."""
    return {
        "place": str(stacks.place),
        "processes": [
            {"pid": one.pid, "rank": one.rank, "command": one.command, "top": one.top(), "problem": one.problem,
             "file": str(stacks.place / f"{one.name}.txt")}
            for one in stacks.found
        ],
    }  # fmt: skip
