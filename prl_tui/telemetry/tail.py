"""New whole lines of a growing file, in order, each once: what parsers of a run's output read from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prl_tui.telemetry.followed_file import FollowedFile

if TYPE_CHECKING:
    from pathlib import Path

_PIECE = 1 << 20


class Tail:
    """Incremental reader; a cut last line waits for its rest, an over-long line loses its end."""

    def __init__(self, path: Path, separators: bytes = b"\n", longest: int = 1 << 20) -> None:
        """`separators`: bytes that end a line. `longest`: bytes of one line that are kept."""
        self.path = path
        self.position = 0
        """Bytes consumed so far."""
        self._file = FollowedFile(path)
        self._generation = 0
        self._separators = separators
        self._longest = longest
        self._rest: list[bytes] = []
        self._rest_size = 0

    @property
    def generation(self) -> int:
        """Grows when the file was truncated or replaced: what was read from it so far is void."""
        return self._file.generation

    @property
    def problem(self) -> OSError | None:
        """Why the file cannot be read now; None when it can, or is not there yet."""
        return self._file.problem

    @property
    def pending(self) -> bytes:
        """The unfinished last line."""
        return b"".join(self._rest)

    def poll(self, budget: int = 4 << 20) -> list[bytes]:
        """Lines that were finished by at most `budget` new bytes, without their separators."""
        end = self._file.size(self.position)
        if self._file.generation != self._generation:
            self._generation = self._file.generation
            self.position = 0
            self._drop_rest()
        if end is None:
            return []
        end = min(end, self.position + budget)
        lines: list[bytes] = []
        while self.position < end:
            data = self._file.read(self.position, min(_PIECE, end - self.position))
            if not data:
                break
            self._file.note(self.position, data)
            self.position += len(data)
            lines += self._split(data)
        return lines

    def close(self) -> None:
        """Give the file descriptor back."""
        self._file.close()

    def _split(self, data: bytes) -> list[bytes]:
        first = self._separators[:1]
        for other in self._separators[1:]:
            data = data.replace(bytes([other]), first)
        *whole, rest = data.split(first)
        if whole:
            self._keep(whole[0])
            whole[0] = self.pending
            self._drop_rest()
        self._keep(rest)
        return [line[: self._longest] for line in whole]

    def _keep(self, part: bytes) -> None:
        part = part[: self._longest - self._rest_size]
        if part:
            self._rest.append(part)
            self._rest_size += len(part)

    def _drop_rest(self) -> None:
        self._rest.clear()
        self._rest_size = 0
