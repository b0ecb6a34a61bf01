"""What may be said about a process by its number: user, short command, start.

A number can name nothing here: the driver reports pids of other containers, and 4294967295 for a process that it
does not name. Arguments are never kept: they can hold tokens.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from prl_tui.core.value import Value

_NOT_DRAWN = "\ufe0e\ufe0f"
_INTERPRETER = re.compile(r"(python|pypy|bash|sh|zsh|dash|perl|ruby|node|java)[\d.]*$")
_INLINE_CODE = re.compile(r"-[A-Za-z]*c$")
_INITIAL_PID_NAMESPACE = 0xEFFFFFFC
_GPU_DEVICES = ("/dev/nvidia", "/dev/dxg")
_GPU_LIBRARY = "libcuda.so"
_LARGEST_PID = 1 << 31
LONGEST = 60
"""A command is cut to this many characters."""


class ProcessInfo(Value):
    """One process of this PID namespace."""

    pid: int
    started: float
    """Seconds since the epoch."""
    user: str | None
    command: str | None
    """The program and its script: `python train.py`."""


def describe(pid: int) -> ProcessInfo | None:
    """The process with this number, or None if none is visible here."""
    started = _started(pid)
    return None if started is None else _read(pid, started)


class GpuProcessBook:
    """Processes by the numbers that the driver gives, each read once as long as it lives."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._namespace = pid_namespace(proc)
        self._known: dict[int, ProcessInfo] = {}

    def look_up(self, pid: int) -> ProcessInfo | None:
        """The process that the driver means by `pid`; None if it cannot be seen from this namespace."""
        started = _started(pid)
        if started is None:
            self._known.pop(pid, None)
            return None
        if pid in self._known and self._known[pid].started == started:
            return self._known[pid]
        # A refusal is not kept: the process may load CUDA later.
        if not may_use_gpu(pid, self._proc, self._namespace):
            return None
        self._known[pid] = found = _read(pid, started)
        return found


def may_use_gpu(pid: int, proc: Path, namespace: int | None) -> bool:
    """False if `pid` here cannot be the process that the driver means: a number of another PID namespace.

    In the initial namespace a number is always right. Elsewhere the process must hold a GPU device or the CUDA
    library; where that may not be read, it is believed.
    """
    if namespace in (None, _INITIAL_PID_NAMESPACE):
        return True
    folder = proc / str(pid)
    try:
        for link in (folder / "fd").iterdir():
            with contextlib.suppress(OSError):
                if os.readlink(link).startswith(_GPU_DEVICES):  # noqa: PTH115  (Path would resolve devices)
                    return True
        return _GPU_LIBRARY in (folder / "maps").read_text("utf-8", "replace")
    except OSError:
        return folder.exists()


def pid_namespace(proc: Path = Path("/proc")) -> int | None:
    """The number of our PID namespace; None where the kernel does not say."""
    try:
        target = os.readlink(proc / "self" / "ns" / "pid")  # noqa: PTH115
        return int(target.partition("[")[2].rstrip("]"))
    except (OSError, ValueError):
        return None


def user_name(uid: int) -> str:
    """The login name of `uid`, or its number where the box does not know it."""
    import pwd

    try:
        return printable(pwd.getpwuid(uid).pw_name)
    except KeyError:
        return str(uid)


def short_command(arguments: list[str]) -> str | None:
    """Program and script of a command line: `python train.py`, `python -m swift.cli.rlhf`, `vllm`."""
    if not arguments or not arguments[0].strip():
        return None
    first = arguments[0]
    if len(arguments) == 1 and " " in first.strip():  # a title that the process wrote over its arguments
        first = first.split()[0].rstrip(":")
    program = Path(first).name
    script = _script(arguments[1:]) if _INTERPRETER.match(program) else ""
    return printable(f"{program} {script}".strip())[:LONGEST]


def printable(text: str) -> str:
    """`text` on one line, without controls, escapes and joiners that would move or recolour a screen."""
    return "".join(c if c.isprintable() else "·" for c in text if c not in _NOT_DRAWN)


def _script(arguments: list[str]) -> str:
    rest = iter(arguments)
    for argument in rest:
        if argument == "-m":
            return f"-m {next(rest, '')}"
        if _INLINE_CODE.match(argument):
            return "-c"
        if argument in ("-W", "-X"):
            next(rest, "")
        elif argument and not argument.startswith("-"):
            return Path(argument).name
    return ""


def _started(pid: int) -> float | None:
    if not 0 < pid < _LARGEST_PID:  # psutil raises OverflowError for 4294967295
        return None
    import psutil  # only paid for once something runs on a GPU

    try:
        return float(psutil.Process(pid).create_time())
    except (psutil.Error, OSError):
        return None


def _read(pid: int, started: float) -> ProcessInfo:
    import psutil

    user = command = None
    with contextlib.suppress(psutil.Error, OSError):
        process = psutil.Process(pid)
        user = user_name(process.uids().real)
        command = printable(process.name())[:LONGEST] or None
        # Last, as another user's arguments may be hidden.
        command = short_command(process.cmdline()) or command
    return ProcessInfo(pid, started, user, command)
