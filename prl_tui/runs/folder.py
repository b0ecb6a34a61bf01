"""One run's folder as a value: where its files are, and what its records say, shape-checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prl_tui import reasons
from prl_tui.core.value import Value
from prl_tui.i18n import t
from prl_tui.runs import lock, records
from prl_tui.runs.records import Broken

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from prl_tui.runs.proctree import Birth

_PIDS = 1 << 31
"""Above every pid."""
_MOST = 1 << 62
"""Beyond every whole number of a record."""


class RunFolder(Value):
    """The folder of one run. The path alone: nothing is read until asked for."""

    path: Path
    """Absolute, without symbolic links: the processes of the run carry it as their mark."""

    @property
    def id(self) -> str:
        """The run's name within its root."""
        return self.path.name

    @property
    def output(self) -> Path:
        """The launcher's stdout and stderr."""
        return self.path / records.OUTPUT

    @property
    def ranks(self) -> Path:
        """Where torchrun puts its per-rank logs."""
        return self.path / records.RANKS

    def info(self) -> dict[str, object] | Broken | None:
        """What was known before the start (run.json); None when there is no such file."""
        return records.read_record(self.path / records.RUN)


class Started(Value):
    """state.json: who runs it, and where."""

    host: str
    boot_id: str
    pid_namespace: str
    supervisor: Birth | None
    """None in what run.json knows: the supervisor has not reported yet."""
    leader: Birth | None
    started: float | None
    """Seconds since 1970."""
    uptime: float | None = None
    """The same by `steady.seconds` of its box."""

    def is_at(self, place: Mapping[str, str]) -> bool:
        """Whether its pids mean the same at `place`."""
        return (self.host, self.boot_id, self.pid_namespace) == (
            place["host"],
            place["boot_id"],
            place["pid_namespace"],
        )


class Ended(Value):
    """exit.json: how it ended."""

    exit_code: int | None
    """The leader's, 128 + n for signal n; None when nobody saw it end."""
    signal: int | None
    error_code: str
    """`no-program`, `not-executable`, `no-cwd`, `supervisor`, `supervisor-gone`, or empty."""
    error_file: str
    error_text: str
    started: float | None
    ended: float | None
    stopped_by: str
    """The front end that asked for the end first (`stop.stop`), or empty."""
    stop_stage: str
    """`interrupt`, `terminate`, `kill` when a person stopped it, else empty."""
    strays: int
    """Processes that outlived the leader and had to be ended."""
    killed: int
    """Processes that only SIGKILL ended."""
    dropped: int
    """Bytes of output that did not fit on the disk."""
    seconds: float | None = None
    """From its start to its end, by a clock that nobody sets."""
    log_cut: bool = False
    """Output that nobody has counted may be missing at the end of the log."""

    @property
    def was_stopped(self) -> bool:
        """Whether a person asked for the end."""
        return bool(self.stop_stage)


class LogEnd(Value):
    """log-end.json: who read a log on whose supervisor was killed, and how far."""

    whole: bool
    """To its end: nothing of the run has it open any more."""
    dropped: int
    """Bytes of the whole log that did not fit on the disk."""
    reader: Birth | None


def read_log_end(folder: RunFolder) -> LogEnd | None:
    """How the log of a killed supervisor ends; None where nobody read it on."""
    record = records.read_record(folder.path / records.LOG_END)
    if not isinstance(record, dict):
        return None
    return LogEnd(record.get("whole") is True, _integer(record.get("dropped")) or 0, _birth(record.get("reader")))


def read_started(folder: RunFolder) -> Started | Broken | None:
    """Who runs it and where; before the supervisor has reported, what the launcher wrote down about the place."""
    record = records.read_record(folder.path / records.STATE)
    if isinstance(record, Broken):
        return record
    name = records.STATE
    if record is None:
        name = records.RUN
        record = folder.info()
        if record is None or isinstance(record, Broken):
            return record
    texts = [record.get(key) for key in ("host", "boot_id", "pid_namespace")]
    host, boot_id, pid_namespace = (text if isinstance(text, str) else None for text in texts)
    if host is None or boot_id is None or pid_namespace is None:
        return Broken(name, "shape", "host, boot_id, pid_namespace")
    supervisor, leader = _birth(record.get("supervisor")), _birth(record.get("leader"))
    if name == records.STATE and (supervisor is None or leader is None):
        return Broken(name, "shape", "supervisor, leader")
    return Started(
        host, boot_id, pid_namespace, supervisor, leader, number(record.get("started")), number(record.get("uptime"))
    )


def read_ended(folder: RunFolder) -> Ended | Broken | None:
    """How it ended; None while there is no exit record.

    Where there was no room for one, what the last heartbeat says counts once nobody tries to write it any more.
    """
    ended, unwritten = known_end(folder)
    return None if unwritten and lock.held(folder.path / records.LOCK) else ended


def known_end(folder: RunFolder) -> tuple[Ended | Broken | None, str]:
    """How it ended, and why that is not written down ("" where it is), also while its supervisor waits for room.

    Nothing of the run but that supervisor lives by then.
    """
    record = records.read_record(folder.path / records.EXIT)
    if record is None:
        return last_word(folder) or (None, "")
    return record if isinstance(record, Broken) else _ended(record), ""


def last_word(folder: RunFolder) -> tuple[Ended, str] | None:
    """How a run ended whose exit record cannot be written, and why it cannot."""
    beat = records.read_record(folder.path / records.HEARTBEAT)
    said = beat.get(records.LAST_WORD) if isinstance(beat, dict) else None
    record = said.get("record") if isinstance(said, dict) else None
    ended = _ended(record) if isinstance(record, dict) else None
    return (ended, str(said.get("reason") or "–")) if isinstance(ended, Ended) and isinstance(said, dict) else None


def _ended(record: Mapping[str, object]) -> Ended | Broken:
    code = record.get("exit_code", "")
    if code is not None and _integer(code) is None:
        return Broken(records.EXIT, "shape", "exit_code")
    error, stop = record.get("error"), record.get("stop")
    error = error if isinstance(error, dict) else {}
    stop = stop if isinstance(stop, dict) else {}
    return Ended(
        exit_code=_integer(code),
        signal=_integer(record.get("signal")),
        error_code=str(error.get("code", "")),
        error_file=str(error.get("file", "")),
        error_text=str(error.get("text", "")),
        started=number(record.get("started")),
        ended=number(record.get("ended")),
        stopped_by=str(by.get("via", "")) if isinstance(by := stop.get("by"), dict) else "",
        stop_stage=str(stop.get("stage", "")),
        strays=_count(record.get("strays")),
        killed=_count(record.get("killed")),
        dropped=_count(record.get("dropped")),
        seconds=number(record.get("seconds")),
        log_cut=record.get("log_cut") is True,
    )


def explain(broken: Broken) -> str:
    """What is wrong with a record, for a person."""
    if broken.code == "unreadable":
        return t("{file} cannot be read: {reason}", file=broken.file, reason=reasons.told(broken.reason))
    if broken.code == "not-json":
        return t("{file} is damaged: {reason}", file=broken.file, reason=broken.reason)
    if broken.code == "newer":
        return t("{file} was written by a newer prl-tui (schema {n})", file=broken.file, n=broken.reason)
    return t("{file} is damaged: it lacks {reason}", file=broken.file, reason=broken.reason)


def number(value: object) -> float | None:
    """A finite number of a record, else None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if abs(value) < 1e15 else None  # also drops inf and nan, which Python's JSON lets in


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _MOST else None


def _count(value: object) -> int:
    return max(0, _integer(value) or 0)


def _birth(value: object) -> Birth | None:
    if not isinstance(value, dict):
        return None
    pid, ticks = _integer(value.get("pid")), _integer(value.get("ticks"))
    return None if pid is None or ticks is None or not 0 < pid < _PIDS else (pid, ticks)
