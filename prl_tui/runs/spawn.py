"""Brings a supervisor to life and hears its first answer. Knows the protocol, not the sentences."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from prl_tui.core.value import Value
from prl_tui.machine import child, paths
from prl_tui.runs import ahead as aheads
from prl_tui.runs import lock, records

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prl_tui.runs.folder import RunFolder

_ANSWER_WITHIN = 60.0
"""Seconds; a Python on a cold network disk may need many."""
_SCOPE_WITHIN = 15.0
"""The same where the user's service manager has to make a scope first; without one it starts all the same."""
_ENDS_WITHIN = 2.0
"""Seconds in which what was killed is gone."""


class Answer(Value):
    """It lives, and so does the launcher."""

    pid: int
    """The supervisor's."""


class Refusal(Value):
    """It could not start the launcher, or did not start itself."""

    code: str
    """`no-program`, `no-interpreter`, `not-executable`, `no-cwd`, `locked`, `used`, `no-linux`, `no-python`, `no-room`, `unwritable`,
    `silent`."""
    file: str = ""
    text: str = ""


def supervisor(
    folder: RunFolder,
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    scope: Sequence[str] = (),
    *,
    recorded: bool = False,
    ahead: aheads.Ahead | None = None,
) -> Answer | Refusal:
    """Start a supervisor for `argv` in `folder`; returns once the launcher runs or cannot. OSError from the folder.

    `recorded`: it starts what records the run too, and a moment later what it was made of.
    `scope`: the words that start a command where a logout does not reach it.
    `ahead`: one that was started for this folder before; not taken where a scope is needed, or it has died.
    """
    if not sys.platform.startswith("linux"):
        return Refusal("no-linux")
    recorder = child.python_argv("prl_tui.runs.recorder", str(folder.path), "--snapshot") if recorded else []
    order = {"argv": list(argv), "env": dict(env), "cwd": str(cwd.absolute()), "recorder": recorder}
    if ahead is not None and not scope:
        whole = json.dumps({**order, "lock": None, "narrate": True}).encode()  # it takes the lock itself
        if (process := ahead.told(folder.path, whole)) is not None:
            return _heard(process, folder, order, _ANSWER_WITHIN)
    descriptor = _take(folder.path / records.LOCK)
    if descriptor is None:
        return Refusal("locked")
    try:
        if any((folder.path / name).exists() for name in (records.STATE, records.EXIT)):
            return Refusal("used")
        inherited = () if descriptor < 0 else (descriptor,)
        return _start(folder, {**order, "lock": descriptor}, inherited, scope)
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def watcher(folder: RunFolder, steps: int, scope: Sequence[str] = ()) -> None:
    """Start what stops the run once its log shows that many steps. OSError when the system refuses."""
    package = str(aheads.PROGRAM.parents[2])
    inherited = os.environ.get("PYTHONPATH")
    around = {name: value for name, value in os.environ.items() if name != records.MARKER}
    around["PYTHONPATH"] = f"{package}{os.pathsep}{inherited}" if inherited else package
    command = [sys.executable, "-m", "prl_tui.runs.smoke_watch", str(folder.path), str(steps)]
    _beside(folder, command, around, scope)


def _beside(folder: RunFolder, command: Sequence[str], env: Mapping[str, str], scope: Sequence[str]) -> None:
    """Start a process that is none of the run's and outlives this one. Without its scope where that is refused."""
    for before in (scope, ()) if scope else ((),):
        with (folder.path / records.NARRATION).open("ab") as narration:
            process = subprocess.Popen(
                [*before, *command], env=env, cwd="/", stdin=subprocess.DEVNULL, stdout=narration, stderr=narration,
                start_new_session=True,
            )  # fmt: skip
        if not before or _has_become(process, before[0]):
            break
    process.returncode = 0  # it outlives this process, or is nothing to it


def _has_become(process: subprocess.Popen[bytes], wrapper: str) -> bool:
    """Whether a wrapper has become what it starts; False once it has ended instead."""
    end = time.monotonic() + _SCOPE_WITHIN
    while process.poll() is None:
        with contextlib.suppress(OSError):
            first = Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")[0]
            if first and first not in _names(wrapper):  # one that has just ended has no words
                return True
        if time.monotonic() > end:
            _end(process)
            return False
        time.sleep(0.01)  # an exec tells nobody
    return False


def _names(wrapper: str) -> tuple[bytes, ...]:
    """How the command line of a program may begin, a script's own interpreter included."""
    path = Path(wrapper)
    with contextlib.suppress(OSError), path.open("rb") as file:
        first = file.readline(256)
        if first.startswith(b"#!"):
            return (os.fsencode(wrapper), first[2:].split()[0])
    return (os.fsencode(wrapper),)


def _take(path: Path) -> int | None:
    """The lock's descriptor, None when it is held, -1 where the file system has no such locks."""
    try:
        return lock.take(path)
    except OSError:
        if path.exists():
            return -1
        raise


def _start(
    folder: RunFolder, order: Mapping[str, object], inherited: Sequence[int], scope: Sequence[str]
) -> Answer | Refusal:
    command = [*scope, *aheads.argv(folder.path)]
    with (folder.path / records.NARRATION).open("ab") as narration, _unnamed(json.dumps(order).encode()) as given:
        try:
            process = subprocess.Popen(
                command,
                env={**os.environ, records.MARKER: str(folder.path)},
                cwd="/",
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=narration,
                start_new_session=True,
                pass_fds=inherited,
            )
        except OSError as problem:
            return Refusal("no-python", command[0], problem.strerror or str(problem))
    return _heard(process, folder, order, _SCOPE_WITHIN if scope else _ANSWER_WITHIN)


def _heard(
    process: subprocess.Popen[bytes], folder: RunFolder, order: Mapping[str, object], within: float
) -> Answer | Refusal:
    try:
        answer = _listen(process, within)
    except BaseException:  # somebody does not want it any more
        _end(process)
        raise
    if answer is None:
        _end(process)
        return Refusal("silent", text=_last_words(folder))
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_ENDS_WITHIN)  # it has forked and is over: else the app keeps a dead child a launch
    process.returncode = 0  # a wrapper that stays is nothing to wait for
    return _understand(answer, order)


def _unnamed(data: bytes) -> BinaryIO:
    """A file that has no name and holds this, to be read from its start: nobody waits for a reader."""
    file = open(os.memfd_create("order"), "r+b")  # noqa: SIM115, PTH123  (a descriptor, closed by the caller's `with`)
    file.write(data)
    file.seek(0)
    return file


def _listen(process: subprocess.Popen[bytes], within: float) -> Mapping[str, Any] | None:
    """The first line that is an answer; None where the other side hangs up, or stays silent for too long."""
    assert process.stdout is not None
    end, rest = time.monotonic() + within, b""
    with process.stdout as stdout:
        while (left := end - time.monotonic()) > 0 and select.select([stdout], [], [], left)[0]:
            part = os.read(stdout.fileno(), 1 << 16)
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:  # a wrapper may say something first
                if (found := _answer(line)) is not None:
                    return found
            if not part:
                break
    return None


def _answer(line: bytes) -> Mapping[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    error = found.get("error")
    whole = isinstance(found.get("pid"), int) or (
        isinstance(error, dict) and all(isinstance(error.get(key), str) for key in ("code", "file", "text"))
    )
    return found if whole else None


def _end(process: subprocess.Popen[bytes]) -> None:
    """End what did not answer, with what it has started in its session; the lock that all of it holds is free then."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_ENDS_WITHIN)
    end = time.monotonic() + _ENDS_WITHIN
    with contextlib.suppress(OSError):  # no such group any more
        while time.monotonic() < end:
            os.killpg(process.pid, 0)
            time.sleep(0.01)  # its members are no children to wait for


def _understand(answer: Mapping[str, Any], order: Mapping[str, object]) -> Answer | Refusal:
    error = answer.get("error")
    if error is None:
        return Answer(answer["pid"])
    code, file = error["code"], error["file"]
    if code == "no-program" and _exists(file, order):
        code = "no-interpreter"
    return Refusal(code, file, error["text"])


def _exists(program: str, order: Mapping[str, object]) -> bool:
    if "/" not in program:
        env = order["env"]
        path = env.get("PATH") if isinstance(env, dict) else None
        return paths.which(program, path=path) is not None
    return paths.exists(Path(str(order["cwd"]), program))


def _last_words(folder: RunFolder) -> str:
    try:
        lines = (folder.path / records.NARRATION).read_text(errors="replace").split("\n")
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
