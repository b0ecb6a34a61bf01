"""How many rows the training data has, counted in its own files: JSONL, CSV, TSV, parquet.

A file is counted once for as long as it stays as it is, and one file of a disk at a time, whoever asks.
"""

from __future__ import annotations

import csv
import glob
import io
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

from prl_tui import regular
from prl_tui.core.config import RunConfig
from prl_tui.machine import paths

LARGEST = 20 << 30
"""Bytes of text beyond which nobody counts while a person waits."""
_CHUNK = 1 << 22
_TURN = 0.1
"""Seconds between two looks at whether a count that waits for another one is wanted still."""
_REMEMBERED = 1000
_SOME = 10_000
"""CSV records between two such looks."""

Stale = Callable[[], bool]
"""Whether nobody wants a count any more."""

_counted: dict[tuple[str, int, int, int], int | None] = {}
"""By path, inode, size and time of change."""
_counting: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)
"""By device: one that hangs holds up none of the others."""


class StaleError(Exception):
    """Nobody wants the count any more."""


def never() -> bool:
    """Who asked waits for the count."""
    return False


def training(config: RunConfig, here: Path, stale: Stale = never) -> int | None:
    """The rows that a config trains on; None where the files are not here. StaleError."""
    return of_fields(config, config.recipe.data.batch.rows, here, stale)


def validation(config: RunConfig, here: Path, stale: Stale = never) -> int | None:
    """The rows that a config evaluates on; None where the files are not here. StaleError."""
    return of_fields(config, config.recipe.data.batch.validation, here, stale)


def named(config: RunConfig) -> object:
    """What a config says of the files that are counted: configs that say the same have the same counts."""
    batch = config.recipe.data.batch
    keys = (*batch.rows, *batch.validation, "workdir")
    return config.recipe.name, tuple(config.text(key) for key in keys if key in config.settings)


def of_fields(config: RunConfig, keys: tuple[str, ...], here: Path, stale: Stale = never) -> int | None:
    """The rows of all files that some fields name; None where there are none, or one cannot be counted. StaleError."""
    base = here / paths.expanded(str(config.value("workdir") or "")) if "workdir" in config.settings else here
    total, files = 0, 0
    for key in keys:
        value = config.value(key) if key in config.settings else None
        for name in value if isinstance(value, tuple) else (value,) if value else ():
            rows = _of_name(base, str(name), stale)
            if rows is None:
                return None
            total, files = total + rows, files + 1
    return total if files else None


def _of_name(base: Path, name: str, stale: Stale) -> int | None:
    """A file, or a pattern that matches one; a data set by name, or a share of one, is not counted."""
    found = glob.glob(name, root_dir=base) if glob.has_magic(name) else [name]  # noqa: PTH207  (absolute ones too)
    return count(base / found[0], stale) if len(found) == 1 else None


def count(path: Path, stale: Stale = never) -> int | None:
    """The rows of one file; None for one that cannot be read, is too large, or is of another kind. StaleError."""
    try:
        if not paths.is_file(path) or (there := path.stat()).st_size > LARGEST:
            return None
        turn = _counting[there.st_dev]
        while not turn.acquire(timeout=_TURN):
            _heed(stale)
        try:
            _heed(stale)
            return _once(path, stale)
        finally:
            turn.release()
    except (OSError, ValueError, csv.Error):
        return None


def _once(path: Path, stale: Stale) -> int | None:
    """Count it, or remember its count. OSError, ValueError."""
    there = path.stat()
    key = (os.path.abspath(path), there.st_ino, there.st_size, there.st_mtime_ns)  # noqa: PTH100
    if key not in _counted:
        found = _count(path, stale)
        if len(_counted) >= _REMEMBERED:
            _counted.clear()
        _counted[key] = found
    return _counted[key]


def _heed(stale: Stale) -> None:
    if stale():
        raise StaleError


def _count(path: Path, stale: Stale) -> int | None:
    kind = path.suffix.lower()
    if kind in {".jsonl", ".ndjson"}:
        return _lines(path, stale)
    if kind in {".csv", ".tsv"}:
        return _records(path, "\t" if kind == ".tsv" else ",", stale)
    return _parquet(path) if kind == ".parquet" else None


def _chunks(path: Path, stale: Stale) -> Iterable[bytes]:
    with regular.opened(path) as file:
        while part := file.read(_CHUNK):
            _heed(stale)
            yield part


def _lines(path: Path, stale: Stale, blanks: bytes = b" \t\r\v\f") -> int:
    """Lines with more than `blanks` in them; a last one without its end counts."""
    lines, begun = 0, False
    for part in _chunks(path, stale):
        first, *others = part.split(b"\n")
        begun = begun or bool(first.strip(blanks))
        if others:
            *whole, last = others
            lines += begun + sum(bool(line.strip(blanks)) for line in whole)
            begun = bool(last.strip(blanks))
    return lines + begun


def _records(path: Path, delimiter: str, stale: Stale) -> int:
    """CSV records without the header; a line end inside quotes is part of its record."""
    if not any(b'"' in part for part in _chunks(path, stale)):
        return max(0, _lines(path, stale, b"\r") - 1)
    csv.field_size_limit(1 << 30)
    with io.TextIOWrapper(regular.opened(path), "utf-8", "replace", newline="") as file:
        records = 0
        for n, row in enumerate(csv.reader(file, delimiter=delimiter)):
            records += bool(row)
            if n % _SOME == 0:
                _heed(stale)
        return max(0, records - 1)


def _parquet(path: Path) -> int | None:
    """From the footer: FileMetaData's field 3 in Thrift's compact protocol. Source: the parquet-format specification."""
    with regular.opened(path) as file:
        file.seek(0, 2)
        if file.tell() < 12:
            return None
        file.seek(-8, 2)
        tail = file.read(8)
        length = int.from_bytes(tail[:4], "little")
        if tail[4:] != b"PAR1" or length > 1 << 28:
            return None
        file.seek(-8 - length, 2)
        return Compact(file.read(length)).number_of_rows()


class Compact:
    """As much of Thrift's compact protocol as leads to one number."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def number_of_rows(self) -> int | None:
        """The i64 in field 3 of the outermost struct."""
        field = 0
        while self.at < len(self.data):
            kind, field = self._header(field)
            if kind == 0:
                return None
            if field == 3:
                return self._zigzag()
            self._skip(kind)
        return None

    def _header(self, before: int) -> tuple[int, int]:
        byte = self._byte()
        kind, step = byte & 15, byte >> 4
        if kind == 0:
            return 0, 0
        return kind, before + step if step else self._zigzag()

    def _byte(self) -> int:
        self.at += 1
        if self.at > len(self.data):
            raise ValueError("the parquet footer is cut")
        return self.data[self.at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _skip(self, kind: int) -> None:
        if kind in {1, 2}:
            return
        if kind == 3:
            self.at += 1
        elif kind in {4, 5, 6}:
            self._varint()
        elif kind == 7:
            self.at += 8
        elif kind == 8:
            length = self._varint()
            self.at += length
        elif kind in {9, 10}:
            self._skip_list()
        elif kind == 12:
            self._skip_struct()
        else:
            raise ValueError("an unknown type in the parquet footer")

    def _skip_list(self) -> None:
        byte = self._byte()
        size = byte >> 4 if byte >> 4 != 15 else self._varint()
        for _ in range(size):
            if byte & 15 in {1, 2}:
                self.at += 1  # a boolean in a list has a byte of its own
            else:
                self._skip(byte & 15)

    def _skip_struct(self) -> None:
        field = 0
        while True:
            kind, field = self._header(field)
            if kind == 0:
                return
            self._skip(kind)
