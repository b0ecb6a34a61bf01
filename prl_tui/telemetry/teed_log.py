"""The launcher's log as the log of all ranks: who wrote a line stands before it, in the order of arrival.

torchrun hands on what each rank writes as it comes (`PET_TEE`), with `[default0]:` before it, its own lines between.
That is the one order over all ranks that is on disk: the ranks' own files carry no times. It has its price: a bar's
carriage returns are lines of their own, and one rank's text may go on behind another's that had no end yet.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prl_tui.telemetry.line_index import LINE_LIMIT, LineIndex
from prl_tui.telemetry.tail_first import TailFirst

if TYPE_CHECKING:
    from pathlib import Path

_TAG = re.compile(rb"\[default(\d+)\]:")
_NAMED = re.compile(r"^r\d+ *│ ")


def _named(raw: bytes) -> bytes:
    """`r0 │ ` for each `[default0]:` that torchrun put in."""
    if b"[default" not in raw:
        return raw
    return _TAG.sub(lambda tag: b"%sr%-2s\xe2\x94\x82 " % (b"  " if tag.start() else b"", tag[1]), raw)


class TeedLog(TailFirst):
    """The launcher's log; a rank's lines begin with `r0 │ `."""

    @classmethod
    def at(cls, path: Path) -> TeedLog:
        """That file's."""
        return cls(LineIndex(path), lambda: LineIndex(path, from_end=True))

    def read_lines(self, first: int, count: int, limit: int = LINE_LIMIT) -> list[bytes]:
        """Lines `first` to `first + count - 1` of what is shown, each cut to its last `limit` bytes."""
        return [_named(raw) for raw in super().read_lines(first, count, limit)]


class RankLineTest:
    """Lines of a rank in a `TeedLog`: what is left without them is the launcher's own."""

    def may_hit(self, lines: bytes) -> bool:
        """Whether a line of these raw ones may hit."""
        return b"\xe2\x94\x82 " in lines

    def hits(self, text: str) -> bool:
        """Whether a plain line is a rank's."""
        return _NAMED.match(text) is not None
