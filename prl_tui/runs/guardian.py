"""One run from its start to its exit record: pipes the log, reaps what ends, climbs the ladder when asked to stop.

The supervisor's inside. It runs in a process of its own and must outlive full disks and foolish programs.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time

from prl_tui import steady
from prl_tui.runs import ladder, place, proctree, records
from prl_tui.runs.logpump import LogPump, open_log
from prl_tui.runs.signals import STOP_SIGNALS, SignalPipe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prl_tui.runs.companion import Companion

try:
    import fcntl
except ImportError:  # not a POSIX system: nothing is started there, but this must import
    fcntl = None  # type: ignore[assignment]

_PIPE_SIZE = 1 << 20
_LOOK_EVERY = 0.25
"""Seconds between two looks at what is left once the leader has ended."""

_RETRY_EVERY = 0.5
"""Seconds between two tries to write the exit record."""

_RETRY_FOR = 600.0
"""Seconds in which somebody may make room for it; after that the heartbeat alone says how the run ended."""


class CannotRecordError(OSError):
    """The run's folder takes no record: a run that nobody could find or stop is not started."""


class Guardian:
    """One run from its start to its exit record."""

    def __init__(
        self, folder: Path, argv: Sequence[str], env: dict[str, str], cwd: str, companion: Companion | None = None
    ) -> None:
        self.folder, self.argv, self.env, self.cwd = folder, list(argv), env, cwd
        self.place = place.here()
        self.leader: proctree.Birth | None = None
        self.started = self.ended = 0.0
        self._begun = self._over = 0.0
        self.wait_status: int | None = None
        self.stop: dict[str, object] | None = None
        self.ladder = ladder.Ladder()
        self.strays: set[proctree.Birth] = set()
        self.killed: set[proctree.Birth] = set()
        self._signals = SignalPipe()
        self._pump = LogPump(open_log(folder / records.OUTPUT), folder / records.OUTPUT)
        self._companion = companion
        self._watch = proctree.Watch(folder, spare={os.getpid()})
        self._pipe: int | None = None
        self._left: list[proctree.Seen] = []
        self._next_look = self._next_beat = 0.0
        self._last_word: dict[str, object] | None = None

    def start(self) -> None:
        """Start the leader. OSError when the system refuses, with the file that it is about.

        CannotRecordError, with nothing left alive, where the folder takes no heartbeat or no state.
        """
        try:
            self._write_heartbeat()  # from here on it needs no more room
        except OSError as problem:
            raise _cannot_record(problem) from problem
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
        self.started, self._begun = time.time(), steady.seconds()
        self.leader = (child.pid, proctree.start_ticks(child.pid) or 0)
        try:
            self._write_state()
        except OSError as problem:
            self.take_down()
            raise _cannot_record(problem) from problem

    def loop(self) -> None:
        """Watch until nothing of the run is left."""
        self._accompany()  # before the first byte is read: from then on the log has an heir; also of a run that is over by now
        while not self._is_over():
            numbers = self._wait()
            self._reap()
            if not numbers.isdisjoint(STOP_SIGNALS):
                self._heed_stop()
            self._look(at_once=signal.SIGCHLD in numbers)
            self._climb()
            self._beat()
            self._accompany()
        self._drain()

    def record_exit(self, error: dict[str, str] | None = None, *, insist: bool = True) -> None:
        """Write exit.json; while the disk is full the lock stays held, so that nobody reads the run as lost.

        A signal to stop ends the wait for room after one more try, and so does time: the heartbeat, which needs none,
        says it by then.
        """
        record = self._exit_record(error)
        until = time.monotonic() + _RETRY_FOR
        last = False
        while True:
            try:
                records.write_record(self.folder / records.EXIT, record)
            except OSError as problem:
                if last or not insist or not self.folder.is_dir():
                    return  # reported otherwise, or somebody removed the whole run
                if self._last_word is None:
                    self._last_word = {"record": _short(record), "reason": problem.strerror or str(problem)}
                    self._next_beat = 0.0
                self._beat()
                last = self._told_to_go(_RETRY_EVERY) or time.monotonic() >= until
            else:
                return

    def _told_to_go(self, within: float) -> bool:
        """Whether a signal to stop came in so many seconds."""
        until = time.monotonic() + within
        while (left := until - time.monotonic()) > 0:
            if select.select([self._signals.descriptor], [], [], left)[0]:
                if not self._signals.take().isdisjoint(STOP_SIGNALS):
                    return True
                self._reap()
        return False

    def take_down(self) -> None:
        """End the tree after a failure of this program itself."""
        number, patience = signal.SIGTERM, ladder.ORPHAN_GRACE
        while left := self._tree():
            _send_all(left, number)
            deadline = time.monotonic() + patience
            while time.monotonic() < deadline and self._tree():
                self._reap()
                time.sleep(0.05)  # grandchildren are no children to wait for
            number, patience = signal.SIGKILL, ladder.KILL_AGAIN
        self._reap()

    # -- one turn -----------------------------------------------------------------------------------------------

    def _wait(self) -> set[int]:
        sources = [self._signals.descriptor]
        if self._pipe is not None:
            sources.append(self._pipe)
        now = time.monotonic()
        moments = [self._next_beat, self.ladder.next_at, self._next_look if self.wait_status is not None else None]
        moments.append(self._companion.next_at if self._companion else None)
        timeout = min(moment for moment in moments if moment is not None) - now
        ready = select.select(sources, [], [], max(timeout, 0.0))[0]
        if self._pipe in ready:
            self._pump_once()
        return self._signals.take() if self._signals.descriptor in ready else set()

    def _pump_once(self) -> None:
        if self._pipe is None:
            return
        before = self._pump.dropped
        if self._pump.move(self._pipe) == 0:
            os.close(self._pipe)
            self._pipe = None
        if before == 0 and self._pump.dropped:
            self._next_beat = 0.0  # the first loss is news

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
            if self._companion and pid == self._companion.pid:
                self._companion.ended(time.monotonic(), wait_status)
            elif self.leader and pid == self.leader[0] and self.wait_status is None:
                self.wait_status, self.ended, self._over = wait_status, time.time(), steady.seconds()
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

    def _accompany(self) -> None:
        if self._companion is None or self._companion.next_at is None or time.monotonic() < self._companion.next_at:
            return
        if self.wait_status is None:  # else it is not worth it
            inherited = () if self._pipe is None else (self._pipe, self._pump.tank, self._pump.log)
            self._companion.start(time.monotonic(), inherited)
        else:
            self._companion = None

    def _beat(self) -> None:
        now = time.monotonic()
        if now < self._next_beat:
            return
        self._next_beat = now + records.HEARTBEAT_EVERY
        self._pump.look()
        try:
            self._write_heartbeat()
        except OSError:
            return  # tried again with the next one: the run itself goes on

    def _write_heartbeat(self) -> None:
        beat = {**self.place, "time": time.time(), "uptime": steady.seconds(), "stage": self._stage()}
        beat["dropped"] = self._pump.dropped
        beat[records.SURE] = self._pump.sure()
        if self._last_word is not None:
            beat[records.LAST_WORD] = self._last_word
        records.write_heartbeat(self.folder / records.HEARTBEAT, beat)

    # -- helpers ------------------------------------------------------------------------------------------------

    def _tree(self) -> list[proctree.Seen]:
        return self._watch.look([os.getpid()])

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
            "uptime": self._begun,
            "pipe": os.fstat(self._pipe).st_ino if self._pipe is not None else None,
        }
        records.write_record(self.folder / records.STATE, state)
        if isinstance(records.read_record(self.folder / records.STOP), dict):
            self._heed_stop()  # asked while nobody could know whom to signal

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
            "seconds": (self._over or steady.seconds()) - self._begun if self._begun else 0.0,
            "tree_gone": time.time(),
            "stop": None if self.stop is None else {**self.stop, "stage": ladder.STAGES[self.ladder.stage]},
            "strays": len(self.strays),
            "killed": len(self.killed),
            "dropped": self._pump.dropped,
        }


def _short(record: dict[str, object]) -> dict[str, object]:
    """The record with the texts of its error cut, so that a heartbeat has room for it."""
    error = record["error"]
    return {
        **record,
        "error": {key: str(text)[:400] for key, text in error.items()} if isinstance(error, dict) else None,
    }


def _cannot_record(problem: OSError) -> CannotRecordError:
    return CannotRecordError(problem.errno, problem.strerror, problem.filename)


def _widen(pipe: int) -> None:
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
