"""New bytes of a growing file, each once, as whole lines or as the few parts of it that matter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prl_tui.telemetry.followed_file import FollowedFile

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator
    from pathlib import Path

_PIECE = 1 << 18
_LONGEST = 1 << 20  # bytes of one unfinished line that are kept
SHORT_HEAD, SHORT_END = 1 << 20, 2 << 20
"""Bytes at a log's start and end that a short look reads."""
BLOCK = 4096


class ByteTail:
    """Incremental reader of one file; starts again when the file was truncated or replaced."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.position = 0
        """Bytes consumed so far."""
        self.behind = False
        """Whether the last reading left bytes for the next one."""
        self._file = FollowedFile(path)
        self._generation = 0

    @property
    def generation(self) -> int:
        """Grows when the file was truncated or replaced: what was read from it so far is void."""
        return self._file.generation

    @property
    def problem(self) -> OSError | None:
        """Why the file cannot be read now; None when it can, or is not there yet."""
        return self._file.problem

    @property
    def modified(self) -> float | None:
        """When the file last changed, in seconds since the epoch; None before it exists."""
        return self._file.modified

    def close(self) -> None:
        """Give the file descriptor back."""
        self._file.close()

    def chunks(self, budget: int) -> Iterator[bytes]:
        """The next at most `budget` bytes, in pieces."""
        size = self._file.size(self.position)
        if self._file.generation != self._generation:
            self._generation = self._file.generation
            self.position = 0
            self._start_again()
        self.behind = size is not None and self.position < size
        if size is None:
            return
        end = min(size, self.position + budget)
        while self.position < end:
            data = self._file.read(self.position, min(_PIECE, end - self.position))
            if not data:
                break
            self._file.note(self.position, data)
            self.position += len(data)
            self.behind = self.position < size
            yield data

    def _start_again(self) -> None:
        """Forget what was kept of the former content."""


class LineTail(ByteTail):
    """Whole lines, without their newline; a cut last line waits for its rest, an over-long one loses its end."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._rest: list[bytes] = []
        self._rest_size = 0

    @property
    def pending(self) -> bytes:
        """The unfinished last line."""
        return b"".join(self._rest)

    def take_pending(self) -> bytes:
        """The unfinished last line, which then counts as read."""
        line = self.pending
        self._start_again()
        return line

    def poll(self, budget: int) -> list[bytes]:
        """Lines that were finished by the next at most `budget` bytes."""
        lines: list[bytes] = []
        for data in self.chunks(budget):
            *whole, rest = data.split(b"\n")
            if whole:
                self._keep(whole[0])
                whole[0] = self.pending
                self._start_again()
            self._keep(rest)
            lines += whole
        return lines

    def _keep(self, part: bytes) -> None:
        part = part[: _LONGEST - self._rest_size]
        if part:
            self._rest.append(part)
            self._rest_size += len(part)

    def _start_again(self) -> None:
        self._rest.clear()
        self._rest_size = 0


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands between two line breaks or carriage returns."""

    text: bytes
    line: int
    """Number of its line in the file, from 0; only newlines count. -1 behind what a short look left out."""


class FrameTail(ByteTail):
    """Only the frames in which a pattern is found: a log of other lines costs one search, no Python per line."""

    def __init__(self, path: Path, wanted: re.Pattern[bytes], *, short: bool = False) -> None:
        """`wanted` is searched with carriage returns turned into newlines.

        `short`: of a huge log only its start and its end are read.
        """
        super().__init__(path)
        self._wanted = wanted
        self._short = short
        self._cut, self._numbered = False, True
        self._rest = b""
        self._line = 0

    @property
    def pending(self) -> Frame:
        """The unfinished last frame."""
        return Frame(self._rest, self._number())

    def poll(self, budget: int) -> list[Frame]:
        """Wanted frames that were finished by the next at most `budget` bytes, in order."""
        if self._short:
            self._skip_middle()
        frames: list[Frame] = []
        for data in self.chunks(budget):
            text = self._rest + (self._whole_lines(data) if self._cut else data)
            end = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
            frames += self._frames(text[:end])
            self._rest = text[end:][:_LONGEST]
        return frames

    def _skip_middle(self) -> None:
        """Once the start is read, go on near the end where that is far away."""
        size = self._file.size(self.position)
        if size is None or self.position < SHORT_HEAD or size - self.position < SHORT_HEAD + SHORT_END:
            return
        self._rest, self._cut, self._numbered = b"", True, False
        self.position = size - SHORT_END
        before = self._file.read(self.position - BLOCK, BLOCK)
        self._file.note(self.position - BLOCK, before)  # what tells later that the file is still the same

    def _number(self) -> int:
        return self._line if self._numbered else -1

    def _whole_lines(self, data: bytes) -> bytes:
        """What stands behind the first newline: the line before it was cut."""
        at = data.find(b"\n") + 1
        if at == 0:
            return b""
        self._cut = False
        return data[at:]

    def _frames(self, text: bytes) -> Iterator[Frame]:
        """Wanted frames of `text`, which ends with a line break or carriage return; counts its lines."""
        level = text.replace(b"\r", b"\n")
        counted = position = 0
        while match := self._wanted.search(level, position):
            start = level.rfind(b"\n", 0, match.start()) + 1
            end = level.find(b"\n", max(start, match.end() - 1))
            self._line += text.count(b"\n", counted, start)
            counted = start
            yield Frame(text[start:end], self._number())
            position = end + 1
        self._line += text.count(b"\n", counted)

    def _start_again(self) -> None:
        self._rest = b""
        self._line = 0
        self._cut, self._numbered = False, True
