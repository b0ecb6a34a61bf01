"""A line of any length as whole text, for who prints it: read in pieces, so that a line of a gigabyte costs little memory.

An index hands out the last bytes of a line, which is enough for a screen and for a bar. Where what a terminal would still show
of the line begins before them, it is looked for here, from the end.
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from prl_tui.i18n import t
from prl_tui.telemetry.escapes import last_frame, plain, plain_parts, safe_end, without_escapes
from prl_tui.telemetry.line_index import LETTER, LINE_LIMIT, last_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prl_tui.telemetry.line_index import LineIndex

LONGEST = 64 << 20
"""Bytes of a line that are printed; of a longer one its first and last halves of that, with words between them."""
JUDGED = 64 << 10
"""Bytes of a line's start and of its end by which it is judged; shorter ones are judged whole."""
PIECE = 1 << 20
"""Bytes that are read at once."""
LOOKED_BACK = 1 << 20
"""The same where the last state's begin is looked for."""
GAP = "…"
"""Stands for what is left out of a line that is judged."""


def is_all(row: bytes) -> bool:
    """Whether a row of `read_lines` has all that is shown of its line: it is not cut, or its last state is whole in it."""
    if len(row) < LINE_LIMIT:
        return True
    shown = last_frame(row) if b"\r" in row else b""
    return bool(shown) and shown != row[: row.find(b"\r")]


class WholeLine:
    """What a terminal would still show of one line: its last state that is not blank."""

    def __init__(self, source: LineIndex, line: int) -> None:
        """Line `line`, from 0, of a file's index."""
        self._source = source
        self._start, self._end = self._last_state(*source.extent(line))

    def judged(self) -> str:
        """The plain text by which the line is judged: all of it, or its first and last `JUDGED` bytes."""
        if self._end - self._start <= 2 * JUDGED:
            return plain(self._source.read_at(self._start, self._end - self._start))
        head = _decoder().decode(self._source.read_at(self._start, JUDGED))
        begin = self._end - JUDGED - LETTER + 1
        return f"{plain(head)}{GAP}{plain(last_of(self._source.read_at(begin, self._end - begin), JUDGED))}"

    def parts(self) -> Iterator[str]:
        """The plain text, in parts; it says where some of it is left out."""
        if self._end - self._start <= LONGEST:
            yield from plain_parts(self._texts(self._start, self._end))
            return
        stop, begin = self._start + LONGEST // 2, self._end - LONGEST // 2
        yield from plain_parts(self._texts(self._start, stop, ends=False))
        yield t(" [… left out of this line: {n} {n:byte|bytes} …] ", n=begin - stop)
        before = self._source.read_at(begin - LETTER + 1, LETTER)
        yield from plain_parts(self._texts(begin + 1 - len(last_of(before, 1)), self._end))

    def _texts(self, start: int, end: int, *, ends: bool = True) -> Iterator[str]:
        """What stands between two offsets, cut neither in a letter nor in an escape sequence. `ends`: the line does there."""
        decoder, rest = _decoder(), ""
        while start < end and (data := self._source.read_at(start, min(PIECE, end - start))):
            start += len(data)
            text = rest + decoder.decode(data, final=ends and start >= end)
            cut = safe_end(text)
            rest = text[cut:]
            yield text[:cut]
        yield rest

    def _last_state(self, start: int, end: int) -> tuple[int, int]:
        """From where to where the last part between carriage returns is that is not blank; nothing if all of several are."""
        at, filled, whole = end, False, end
        while at > start:
            begin = max(start, at - LOOKED_BACK)
            data = self._source.read_at(begin, at - begin)
            if len(data) < at - begin:
                break  # the file shrank under us
            parts = data.split(b"\r")
            for n in range(len(parts) - 1, -1, -1):
                filled = filled or bool(without_escapes(parts[n]).strip())
                at -= len(parts[n])
                if n and filled:
                    return at, end
                if n:
                    at -= 1
                    end = at
        return start, end if filled or end == whole else start


def _decoder() -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder("utf-8")("replace")
