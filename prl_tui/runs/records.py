"""Names of the files in a run folder, and its JSON records in and out.

The supervisor imports this, so it stays light: no dataclasses, no typing, no sentences.
"""

from __future__ import annotations

import json
import os

from prl_tui import atomic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SCHEMA = 1
"""Version of every record in the folder; a reader refuses newer ones."""

MARKER = "PRL_RUN_DIR"
"""Environment variable that every process of a run inherits: the run folder's absolute path."""

BESIDE = "PRL_BESIDE_RUN"
"""The same for what stands by a run and is none of its processes: its recorder, and what that starts."""

RUN = "run.json"
STATE = "state.json"
LOCK = "lock"
HEARTBEAT = "heartbeat"
STOP = "stop.json"
STOP_LOCK = "stop.lock"
EXIT = "exit.json"
LOG_END = "log-end.json"
OUTPUT = "output.log"
RANKS = "ranks"
FILES = "files"
NARRATION = "supervisor.log"

HEARTBEAT_EVERY = 5.0
"""Seconds between two heartbeats."""

HEARTBEAT_FRESH = 30.0
"""Seconds after which a heartbeat proves nothing any more: six missed ones."""


LAST_WORD = "last_word"
"""In a heartbeat: the exit record for which there was no room, and the reason."""

SURE = "log"
"""In a heartbeat: the log's inode, and its size when it was last seen at its path."""

_HEARTBEAT_SIZE = 4096
"""Bytes, with room for the last word from the first one on."""


class Broken:
    """A record that is there but cannot be used."""

    __slots__ = ("code", "file", "reason")

    def __init__(self, file: str, code: str, reason: str = "") -> None:
        self.file = file
        """Name of the file inside the run folder."""
        self.code = code
        """`unreadable`, `not-json`, `newer` or `shape`."""
        self.reason = reason
        """The system's or the parser's words, the newer schema, or the missing key."""


def _whole(path: Path) -> bytes:
    """OSError for what is no file too: a pipe would be waited for."""
    if path.exists() and not path.is_file():
        raise OSError(0, "not a regular file")
    return path.read_bytes()


def read_record(path: Path) -> dict[str, object] | Broken | None:
    """The record, what is wrong with it, or None when there is no such file. Never raises."""
    try:
        raw = _whole(path)
    except FileNotFoundError:
        return None
    except OSError as problem:
        return Broken(path.name, "unreadable", problem.strerror or str(problem))
    try:
        value = json.loads(raw.decode())
    except (ValueError, RecursionError) as problem:
        return Broken(path.name, "not-json", "empty file" if not raw.strip() else str(problem))
    if not isinstance(value, dict):
        return Broken(path.name, "shape", "schema")
    schema = value.get("schema")
    if not isinstance(schema, int):
        return Broken(path.name, "shape", "schema")
    if schema > SCHEMA:
        return Broken(path.name, "newer", str(schema))
    return value


def write_record(path: Path, value: Mapping[str, object]) -> None:
    """Write a record durably (fsync + rename), readable by its owner only. OSError when that is impossible."""
    record = {"schema": SCHEMA, **value}
    try:
        atomic.write_text(path, json.dumps(record, ensure_ascii=False, indent=1) + "\n", 0o600)
    except UnicodeEncodeError:  # a path or an argument that is not UTF-8: keep its bytes as escapes
        atomic.write_text(path, json.dumps(record, indent=1) + "\n", 0o600)


def write_heartbeat(path: Path, value: Mapping[str, object]) -> None:
    """Overwrite the heartbeat in its place, in one write of one size: no fsync, and no room needed on a full disk.

    A disk busy with a checkpoint must not stall the log. A reader that meets half a text still has the time of
    change. OSError when it cannot be written.
    """
    text = json.dumps({"schema": SCHEMA, **value}).ljust(_HEARTBEAT_SIZE - 1) + "\n"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.pwrite(descriptor, text.encode(), 0)
    finally:
        os.close(descriptor)
