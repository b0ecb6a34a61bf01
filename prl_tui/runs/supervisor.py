"""The guardian of one run: a small process of its own that starts the launcher, keeps its log and ends its tree.

It is a fresh interpreter, started as a file (`python -I -S …/supervisor.py RUN_DIR`) or as a module. What to run
comes as one JSON object on stdin: `{"argv": […], "env": {…}, "cwd": "…", "lock": descriptor | null,
"recorder": [word, …], "narrate": bool}`; without words there is no recorder, and told nothing it ends. `narrate`: what
it says goes into the folder, which was not there when it was started. One JSON object on stdout answers:
`{"pid": …, "ticks": …}` or `{"error": {"code": …, "file": …, "text": …}}`. After that it lives without a terminal, in
its own session, and only the run folder and signals reach it: TERM or INT ask for a stop.
Only the standard library, and modules that need nothing else, are imported here.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
import time
from pathlib import Path

if not __package__:  # started as a file: find the very package that this file belongs to, behind the library
    sys.path.append(str(Path(__file__).resolve().parents[2]))

from prl_tui.runs import lock, proctree, records
from prl_tui.runs.companion import Companion
from prl_tui.runs.guardian import CannotRecordError, Guardian
from prl_tui.runs.signals import adopt_orphans

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Read the order, leave the caller behind, supervise. Always 0: the exit record is the result."""
    folder = Path(arguments[0]).resolve()
    _prepare()
    told = sys.stdin.buffer.read()
    if not told:  # started ahead of a launch that was refused
        return 0
    order = json.loads(told)
    if order.get("narrate"):
        _narrate_into(folder / records.NARRATION)
    if os.fork():
        os._exit(0)  # nobody's child from here on
    reply = _detach()
    descriptor = order.get("lock")
    if descriptor is None:
        descriptor = _take_lock(folder, reply)
    if descriptor >= 0:
        os.set_inheritable(descriptor, False)
    supervise(folder, order, reply)
    return 0


def _prepare() -> None:
    """Import what the run needs later, while the order may still be to come."""
    with contextlib.suppress(ImportError):
        import ctypes  # noqa: F401


def _narrate_into(path: Path) -> None:
    """For one that was started before there was a folder."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    os.dup2(descriptor, 2)
    os.close(descriptor)


def supervise(folder: Path, order: dict[str, object], reply: int) -> None:
    """One run in this process, whatever happens; `reply` is the descriptor that waits for the answer."""
    adopt_orphans()
    run = Guardian(folder, *_read_order(order, folder), _companion(order, folder))
    try:
        try:
            run.start()
        except OSError as problem:
            _refuse(run, problem, reply)
            return
        _answer(reply, {"pid": os.getpid(), "ticks": proctree.start_ticks(os.getpid())})
        run.loop()
        run.record_exit()
    except BaseException as problem:  # whatever it is, nobody else is left to end the tree
        _narrate(problem)
        try:
            run.take_down()
        finally:
            run.record_exit({"code": "supervisor", "file": "", "text": f"{type(problem).__name__}: {problem}"})


def _refuse(run: Guardian, problem: OSError, reply: int) -> None:
    if isinstance(problem, CannotRecordError):
        full = problem.errno in {errno.ENOSPC, errno.EDQUOT}
        told = {"file": str(problem.filename or run.folder), "text": problem.strerror or str(problem)}
        _answer(reply, {"error": {"code": "no-room" if full else "unwritable", **told}})
        return
    code = "not-executable"
    if isinstance(problem, FileNotFoundError):
        code = "no-cwd" if str(problem.filename) == run.cwd else "no-program"
    error = {"code": code, "file": str(problem.filename or ""), "text": problem.strerror or str(problem)}
    run.wait_status = (127 if code == "no-program" else 126) << 8
    run.started = run.ended = time.time()
    run.record_exit(error, insist=False)
    _answer(reply, {"error": error})


def _read_order(order: dict[str, object], folder: Path) -> tuple[list[str], dict[str, str], str]:
    argv, env, cwd = order["argv"], order["env"], order["cwd"]
    if not isinstance(argv, list) or not isinstance(env, dict) or not isinstance(cwd, str):
        raise TypeError("order")
    return argv, {**os.environ, **env, records.MARKER: str(folder)}, cwd


def _companion(order: dict[str, object], folder: Path) -> Companion | None:
    """The recorder that the order asks for; it gets the environment of the run, to write it down."""
    words, added = order.get("recorder"), order["env"]
    if not isinstance(words, list) or not words or not isinstance(added, dict):
        return None
    given = {name: value for name, value in {**os.environ, **added}.items() if name != records.MARKER}
    return Companion(folder, words, json.dumps({"environment": given}).encode())


def _detach() -> int:
    """Leave terminal, folder and streams of the caller; returns the descriptor for the answer."""
    reply = os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    os.chdir("/")
    return reply


def _take_lock(folder: Path, reply: int) -> int:
    """For a supervisor whose caller has not looked at the folder; -1 where the file system has no such locks."""
    try:
        descriptor = lock.take(folder / records.LOCK)
    except OSError:
        if not (folder / records.LOCK).exists():
            raise
        descriptor = -1
    used = any((folder / name).exists() for name in (records.STATE, records.EXIT))
    if descriptor is None or used:
        code = "locked" if descriptor is None else "used"
        _answer(reply, {"error": {"code": code, "file": records.LOCK, "text": ""}})
        raise SystemExit(1)
    return descriptor


def _answer(reply: int, value: dict[str, object]) -> None:
    with contextlib.suppress(OSError):  # the caller is gone: the run is not
        os.write(reply, json.dumps(value).encode() + b"\n")
    os.close(reply)


def _narrate(problem: BaseException) -> None:
    import traceback  # memory that a good run never needs

    try:
        traceback.print_exception(problem)
    except OSError:
        return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
