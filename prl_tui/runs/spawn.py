"""Brings a supervisor to life and hears its first answer. Knows the protocol, not the sentences."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from prl_tui.machine import child, paths
from prl_tui.runs import lock, records

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prl_tui.runs.folder import RunFolder

PROGRAM = Path(__file__).resolve().with_name("supervisor.py")
"""The supervisor, as every one of them was started."""

_ANSWER_WITHIN = 60.0
"""Seconds; a Python on a cold network disk may need many."""


@dataclass(frozen=True, slots=True)
class Answer:
    """It lives, and so does the launcher."""

    pid: int
    """The supervisor's."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """It could not start the launcher, or did not start itself."""

    code: str
    """`no-program`, `no-interpreter`, `not-executable`, `no-cwd`, `locked`, `used`, `no-linux`, `no-python`,
    `silent`."""
    file: str = ""
    text: str = ""


def supervisor(
    folder: RunFolder, argv: Sequence[str], env: Mapping[str, str], cwd: Path, scope: Sequence[str] = ()
) -> Answer | Refusal:
    """Start a supervisor for `argv` in `folder`; returns once the launcher runs or cannot. OSError from the folder.

    `scope`: the words that start a command where a logout does not reach it.
    """
    if not sys.platform.startswith("linux"):
        return Refusal("no-linux")
    descriptor = _take(folder.path / records.LOCK)
    if descriptor is None:
        return Refusal("locked")
    try:
        if any((folder.path / name).exists() for name in (records.STATE, records.EXIT)):
            return Refusal("used")
        inherited = () if descriptor < 0 else (descriptor,)
        order = {"argv": list(argv), "env": dict(env), "cwd": str(cwd.absolute()), "lock": descriptor}
        return _start(folder, order, inherited, scope)
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def watcher(folder: RunFolder, steps: int, scope: Sequence[str] = ()) -> None:
    """Start what stops the run once its log shows so many steps. OSError when the system refuses."""
    package = str(PROGRAM.parents[2])
    inherited = os.environ.get("PYTHONPATH")
    around = {name: value for name, value in os.environ.items() if name != records.MARKER}
    around["PYTHONPATH"] = f"{package}{os.pathsep}{inherited}" if inherited else package
    command = [*scope, sys.executable, "-m", "prl_tui.runs.smoke_watch", str(folder.path), str(steps)]
    with (folder.path / records.NARRATION).open("ab") as narration:
        process = subprocess.Popen(
            command, env=around, cwd="/", stdin=subprocess.DEVNULL, stdout=narration, stderr=narration,
            start_new_session=True,
        )  # fmt: skip
    process.returncode = 0  # it outlives this process, or is nothing to it


def recorder(folder: RunFolder, added: Mapping[str, str], scope: Sequence[str] = ()) -> None:
    """Start what records the run, and a moment later what it was made of. The run is none the worse without it.

    It is one process at low priority, so that it does not stand in the way of a run that is just starting, and none
    of the run's: without its mark, in a session of its own. The environment goes through a file without a name: it
    may hold secrets, and nobody waits for a reader.
    """
    given = {name: value for name, value in {**os.environ, **added}.items() if name != records.MARKER}
    around = {name: value for name, value in os.environ.items() if name != records.MARKER}
    command = [*scope, *child.python_argv("prl_tui.runs.recorder", str(folder.path), "--snapshot")]
    with contextlib.suppress(OSError), tempfile.TemporaryFile() as order:
        order.write(json.dumps({"environment": given}).encode())
        order.seek(0)
        with (folder.path / records.NARRATION).open("ab") as narration:
            process = subprocess.Popen(
                command, env=around, cwd="/", stdin=order, stdout=narration, stderr=narration, start_new_session=True
            )
        process.returncode = 0  # it outlives this process, or is nothing to it
        os.setpriority(os.PRIO_PROCESS, process.pid, LOW)


LOW = 10
"""Niceness of what only looks on."""


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
    # -S: no .pth file of an environment costs time or memory; -I: no variable or user folder bends the imports
    command = [*scope, sys.executable or "python3", "-I", "-S", str(PROGRAM), str(folder.path)]
    with (folder.path / records.NARRATION).open("ab") as narration:
        try:
            process = subprocess.Popen(
                command,
                env={**os.environ, records.MARKER: str(folder.path)},
                cwd="/",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=narration,
                start_new_session=True,
                pass_fds=inherited,
            )
        except OSError as problem:
            return Refusal("no-python", command[0], problem.strerror or str(problem))
    with process:
        line = _converse(process, json.dumps(order).encode())
    return _understand(line, folder, order)


def _converse(process: subprocess.Popen[bytes], order: bytes) -> bytes:
    """Hand over the order, wait for one line; what came when the other side hangs up or stays silent too long."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(order)
        process.stdin.close()
    except BrokenPipeError:
        return b""
    line = b""
    while not line.endswith(b"\n"):
        if not select.select([process.stdout], [], [], _ANSWER_WITHIN)[0]:
            process.kill()
            break
        part = os.read(process.stdout.fileno(), 1 << 16)
        if not part:
            break
        line += part
    return line


def _understand(line: bytes, folder: RunFolder, order: Mapping[str, object]) -> Answer | Refusal:
    try:
        answer = json.loads(line)
    except ValueError:
        return Refusal("silent", text=_last_words(folder))
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
        return shutil.which(program, path=path) is not None
    return paths.exists(Path(str(order["cwd"]), program))


def _last_words(folder: RunFolder) -> str:
    try:
        lines = (folder.path / records.NARRATION).read_text(errors="replace").split("\n")
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
