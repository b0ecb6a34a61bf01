"""The guardian of one run: a small process of its own that starts the launcher, keeps its log and ends its tree.

It is a fresh interpreter, started as a file (`python -I -S …/supervisor.py RUN_DIR`) or as a module. What to run
comes as one JSON object on stdin: `{"argv": […], "env": {…}, "cwd": "…", "lock": descriptor | null}`; one JSON
object on stdout answers: `{"pid": …, "ticks": …}` or `{"error": {"code": …, "file": …, "text": …}}`. After that it
lives without a terminal, in its own session, and only the run folder and signals reach it: TERM or INT ask for a
stop. Only the standard library and modules that need nothing else are imported here.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

if not __package__:  # started as a file: find the very package that this file belongs to, behind the library
    sys.path.append(str(Path(__file__).resolve().parents[2]))

from prl_tui.runs import ladder, lock, place, proctree, records
from prl_tui.runs.logpump import LogPump
from prl_tui.runs.signals import STOP_SIGNALS, SignalPipe, adopt_orphans

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_CHUNK = 1 << 18
_PIPE_SIZE = 1 << 20
_LOOK_EVERY = 0.25
"""Seconds between two looks at what is left once the leader has ended."""


class Supervisor:
    """One run from its start to its exit record."""

    def __init__(self, folder: Path, argv: Sequence[str], env: dict[str, str], cwd: str) -> None:
        self.folder, self.argv, self.env, self.cwd = folder, list(argv), env, cwd
        self.place = place.here()
        self.leader: proctree.Birth | None = None
        self.started = self.ended = 0.0
        self.wait_status: int | None = None
        self.stop: dict[str, object] | None = None
        self.ladder = ladder.Ladder()
        self.strays: set[proctree.Birth] = set()
        self.killed: set[proctree.Birth] = set()
        self._signals = SignalPipe()
        self._pump = LogPump(folder / records.OUTPUT)
        self._pipe: int | None = None
        self._left: list[proctree.Seen] = []
        self._next_look = self._next_beat = 0.0
        self._state_written = False

    def start(self) -> None:
        """Start the leader. OSError when the system refuses, with the file that it is about."""
        self._pipe, write_end = os.pipe2(os.O_CLOEXEC)
        _widen(write_end)
        try:
            child = subprocess.Popen(
                self.argv,
                cwd=self.cwd,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=write_end,
                stderr=write_end,
                start_new_session=True,
            )
        finally:
            os.close(write_end)
        child.returncode = 0  # it is reaped here, among the adopted ones
        self.started = time.time()
        self.leader = (child.pid, proctree.start_ticks(child.pid) or 0)
        self._write_state()

    def loop(self) -> None:
        """Watch until nothing of the run is left."""
        if records.read_record(self.folder / records.STOP):
            self._heed_stop()  # asked before the signal could reach anybody
        while not self._is_over():
            numbers = self._wait()
            if not numbers.isdisjoint(STOP_SIGNALS):
                self._heed_stop()
            self._reap()
            self._look(at_once=signal.SIGCHLD in numbers)
            self._climb()
            self._beat()
        self._drain()

    def record_exit(self, error: dict[str, str] | None = None) -> None:
        """Write exit.json; while the disk is full the lock stays held, so that nobody reads the run as lost."""
        record = self._exit_record(error)
        while True:
            try:
                records.write_record(self.folder / records.EXIT, record)
            except OSError:
                if not self.folder.is_dir():
                    return  # somebody removed the whole run
                time.sleep(1)
                self._beat()
            else:
                return

    def take_down(self) -> None:
        """End the tree after a failure of the supervisor itself."""
        number, patience = signal.SIGTERM, ladder.ORPHAN_GRACE
        while left := self._tree():
            _send_all(left, number)
            deadline = time.monotonic() + patience
            while time.monotonic() < deadline and self._tree():
                self._reap()
                time.sleep(0.05)
            number, patience = signal.SIGKILL, ladder.KILL_AGAIN
        self._reap()

    # -- one turn -----------------------------------------------------------------------------------------------

    def _wait(self) -> set[int]:
        sources = [self._signals.descriptor]
        if self._pipe is not None:
            sources.append(self._pipe)
        now = time.monotonic()
        moments = [self._next_beat, self.ladder.next_at, self._next_look if self.wait_status is not None else None]
        timeout = min(moment for moment in moments if moment is not None) - now
        ready = select.select(sources, [], [], max(timeout, 0.0))[0]
        if self._pipe in ready:
            self._pump_once()
        return self._signals.take() if self._signals.descriptor in ready else set()

    def _pump_once(self) -> None:
        if self._pipe is None:
            return
        data = os.read(self._pipe, _CHUNK)
        if data:
            self._pump.put(data)
        else:
            os.close(self._pipe)
            self._pipe = None

    def _heed_stop(self) -> None:
        asked = records.read_record(self.folder / records.STOP)
        request = asked if isinstance(asked, dict) else {}
        grace = request.get("grace")
        graces = grace if isinstance(grace, dict) else {}
        if self.stop is None and self.wait_status is None:
            self.stop = {"asked": request.get("asked", time.time()), "by": request.get("by")}
        self.ladder.ask(
            time.monotonic(),
            _seconds(graces.get("interrupt"), ladder.INTERRUPT_GRACE),
            _seconds(graces.get("terminate"), ladder.TERMINATE_GRACE),
        )
        self._next_beat = 0.0

    def _reap(self) -> None:
        while True:
            try:
                pid, wait_status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if self.leader and pid == self.leader[0] and self.wait_status is None:
                self.wait_status, self.ended = wait_status, time.time()
                self._next_look = 0.0

    def _look(self, *, at_once: bool) -> None:
        now = time.monotonic()
        if self.wait_status is None or not (at_once or now >= self._next_look):
            return
        self._left = self._tree()
        self._next_look = now + _LOOK_EVERY
        if self._left:
            self.ladder.leader_gone(now)

    def _is_over(self) -> bool:
        return self.wait_status is not None and not self._left

    def _climb(self) -> None:
        while (stage := self.ladder.due(time.monotonic())) != ladder.NONE:
            self._next_beat = 0.0
            if stage == ladder.INTERRUPT:
                self._interrupt()
                continue
            left = self._tree()
            if self.stop is None:
                self.strays.update(seen.birth for seen in left)
            if stage == ladder.KILL:
                self.killed.update(seen.birth for seen in left)
            _send_all(left, signal.SIGTERM if stage == ladder.TERMINATE else signal.SIGKILL)

    def _interrupt(self) -> None:
        # the leader is not reaped yet, so its number is still its own, and that of its group
        if self.leader and self.wait_status is None:
            try:
                os.killpg(self.leader[0], signal.SIGINT)
            except OSError:
                return

    def _beat(self) -> None:
        now = time.monotonic()
        if now < self._next_beat:
            return
        self._next_beat = now + records.HEARTBEAT_EVERY
        if not self._state_written:
            self._write_state()
        beat = {**self.place, "time": time.time(), "stage": self._stage(), "dropped": self._pump.dropped}
        try:
            records.write_heartbeat(self.folder / records.HEARTBEAT, beat)
        except OSError:
            return

    # -- helpers ------------------------------------------------------------------------------------------------

    def _tree(self) -> list[proctree.Seen]:
        return proctree.tree([os.getpid()], self.folder, spare={os.getpid()})

    def _stage(self) -> str:
        if self.stop is None:
            return "run" if self.wait_status is None else "strays"
        return ladder.STAGES[self.ladder.stage]

    def _write_state(self) -> None:
        me = proctree.birth(os.getpid()) or (os.getpid(), 0)
        leader = self.leader or (0, 0)
        state = {
            "supervisor": {"pid": me[0], "ticks": me[1]},
            "leader": {"pid": leader[0], "ticks": leader[1]},
            **self.place,
            "started": self.started,
        }
        try:
            records.write_record(self.folder / records.STATE, state)
        except OSError:
            return  # tried again with the next heartbeat: the run itself goes on
        self._state_written = True

    def _drain(self) -> None:
        if self._pipe is not None:
            os.set_blocking(self._pipe, False)
        try:
            while self._pipe is not None:
                self._pump_once()
        except BlockingIOError:
            pass
        self._pump.close()

    def _exit_record(self, error: dict[str, str] | None) -> dict[str, object]:
        code = None if self.wait_status is None else os.waitstatus_to_exitcode(self.wait_status)
        return {
            "exit_code": 128 - code if code is not None and code < 0 else code,
            "signal": -code if code is not None and code < 0 else None,
            "error": error,
            "started": self.started,
            "ended": self.ended or time.time(),
            "tree_gone": time.time(),
            "stop": None if self.stop is None else {**self.stop, "stage": ladder.STAGES[self.ladder.stage]},
            "strays": len(self.strays),
            "killed": len(self.killed),
            "dropped": self._pump.dropped,
        }


def main(arguments: Sequence[str]) -> int:
    """Read the order, leave the caller behind, supervise. Always 0: the exit record is the result."""
    folder = Path(arguments[0]).resolve()
    order = json.loads(sys.stdin.buffer.read())
    if os.fork():
        os._exit(0)  # nobody's child from here on
    reply = _detach()
    descriptor = order.get("lock")
    if descriptor is None:
        descriptor = _take_lock(folder, reply)
    os.set_inheritable(descriptor, False)
    supervise(folder, order, reply)
    return 0


def supervise(folder: Path, order: dict[str, object], reply: int) -> None:
    """One run in this process, whatever happens; `reply` is the descriptor that waits for the answer."""
    adopt_orphans()
    run = Supervisor(folder, *_read_order(order, folder))
    try:
        try:
            run.start()
        except OSError as problem:
            _refuse(run, problem, reply)
            return
        _answer(reply, {"pid": os.getpid(), "ticks": proctree.start_ticks(os.getpid())})
        run.loop()
        run.record_exit()
    except BaseException as problem:  # noqa: BLE001  (nobody else is left to end the tree)
        _narrate(problem)
        run.take_down()
        run.record_exit({"code": "supervisor", "file": "", "text": f"{type(problem).__name__}: {problem}"})


def _refuse(run: Supervisor, problem: OSError, reply: int) -> None:
    code = "not-executable"
    if isinstance(problem, FileNotFoundError):
        code = "no-cwd" if str(problem.filename) == run.cwd else "no-program"
    error = {"code": code, "file": str(problem.filename or ""), "text": problem.strerror or str(problem)}
    run.wait_status = (127 if code == "no-program" else 126) << 8
    run.started = run.ended = time.time()
    run.record_exit(error)
    _answer(reply, {"error": error})


def _read_order(order: dict[str, object], folder: Path) -> tuple[list[str], dict[str, str], str]:
    argv, env, cwd = order["argv"], order["env"], order["cwd"]
    if not isinstance(argv, list) or not isinstance(env, dict) or not isinstance(cwd, str):
        raise TypeError("order")
    return argv, {**os.environ, **env, records.MARKER: str(folder)}, cwd


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
    descriptor = lock.take(folder / records.LOCK)
    if descriptor is None:
        _answer(reply, {"error": {"code": "locked", "file": records.LOCK, "text": ""}})
        raise SystemExit(1)
    return descriptor


def _answer(reply: int, value: dict[str, object]) -> None:
    try:
        os.write(reply, json.dumps(value).encode() + b"\n")
    except OSError:  # the caller is gone: the run is not
        pass
    os.close(reply)


def _widen(pipe: int) -> None:
    import fcntl  # noqa: PLC0415  (not on every system that imports this file)

    try:
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)
    except (AttributeError, OSError):
        return  # over the user's share of pipe memory: a small pipe works too


def _send_all(processes: Sequence[proctree.Seen], number: int) -> None:
    for seen in processes:
        try:
            proctree.send(seen.birth, number)
        except PermissionError:  # a set-uid helper: its own parent must end it
            continue


def _seconds(value: object, default: float) -> float:
    return max(float(value), 0.0) if isinstance(value, (int, float)) else default


def _narrate(problem: BaseException) -> None:
    import traceback  # noqa: PLC0415  (memory that a good run never needs)

    try:
        traceback.print_exception(problem)
    except OSError:
        return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
