"""The launcher's log as the log of all ranks: who wrote a line stands before it, in the order of arrival.

torchrun hands on what each rank writes as it comes (`PET_TEE`), with `[default0]:` before it, its own lines between.
That is the one order over all ranks that is on disk: the ranks' own files carry no times. It has its price: each state of a
bar is a line of its own, and one rank's text may go on behind another's that had no end yet.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prl_tui.telemetry.line_index import LINE_LIMIT, LineIndex
from prl_tui.telemetry.tail_first import TailFirst

if TYPE_CHECKING:
    from pathlib import Path

_TAG = re.compile(rb"\[default(\d+)\]:")
_TAGS = re.compile(rb"(\[default\d+\]:)+")
_LONGEST_TAG = 20
_NAMED = re.compile(r"^r\d+ *│ ")
_STATE = re.compile(r"[^|]*\d{1,3}%\|[^|]*\|[^{\[]*\[[^\]]*\]\s*")
"""A bar's state, and nothing behind it."""
_BAR = re.compile(rb"\d{1,3}%\|[^|]*\|")
_OWN = re.compile(rb"[DIWEFC]\d{4} \d\d:\d\d:\d\d\.\d{6} \d+ torch/[\w./]+\.py:\d+\] ")
"""How torchrun's own lines begin (2.13); it puts them behind what a rank left without an end, as its bar when killed."""


def parted(raw: bytes) -> list[bytes]:
    """A line of the launcher's log as what each rank and torchrun itself wrote of it, else whole.

    `[default0]:` stands before what a rank wrote, where torchrun hands that on.
    """
    return [own for part in _by_rank(raw) for own in _by_writer(part)]


def _by_writer(part: bytes) -> list[bytes]:
    own = _OWN.search(part) if b" torch/" in part else None
    begin = own.start() if own else 0
    if not begin or _TAGS.fullmatch(part, 0, begin):  # a torchrun in a torchrun
        return [part]
    return [part[:begin], part[begin:]]


def _by_rank(raw: bytes) -> list[bytes]:
    if not raw.startswith(b"[default") or raw.count(b"[default") == 1:
        return [raw]
    begins, behind = [], -1
    for tag in _TAG.finditer(raw):
        if tag.start() != behind:  # one tag right behind another: a torchrun in a torchrun
            begins.append(tag.start())
        behind = tag.end()
    if not begins or begins[0]:
        return [raw]
    return [raw[begin:end] for begin, end in zip(begins, [*begins[1:], len(raw)], strict=True)]


def _named(raw: bytes) -> bytes:
    """`r0 │ ` for each `[default0]:` that torchrun put in; a bar that another rank's text was put behind goes."""
    if b"[default" not in raw:
        return raw
    before, *tagged = _TAG.split(raw)
    texts = list(zip(tagged[::2], tagged[1::2], strict=True))
    last, *own = _by_writer(texts[-1][1])
    texts[-1] = (texts[-1][0], last)
    kept = [one for one in texts[:-1] if not _BAR.search(one[1])]
    kept += [] if own and _BAR.search(last) else texts[-1:]
    named = b"  ".join([*(b"r%-2s\xe2\x94\x82 %s" % one for one in kept), *own])
    return named if not before.strip() or _BAR.search(before) else before + b"  " + named


class TeedLog(TailFirst):
    """The launcher's log; a rank's lines begin with `r0 │ `."""

    @classmethod
    def at(cls, path: Path) -> TeedLog:
        """That file's."""
        return cls(LineIndex(path), lambda: LineIndex(path, from_end=True))

    def read_lines(self, first: int, count: int, limit: int = LINE_LIMIT) -> list[bytes]:
        """Lines `first` to `first + count - 1` of what is shown, each cut to its last `limit` bytes."""
        raws = super().read_lines(first, count, limit)
        return [_named(raw if len(raw) < limit else self._tagged(raw, first + n)) for n, raw in enumerate(raws)]

    def _tagged(self, raw: bytes, line: int) -> bytes:
        """A line that was cut at its start, with whose it is before it."""
        shown = self._shown
        found = _TAG.match(shown.head_of(line, _LONGEST_TAG)) if isinstance(shown, LineIndex) else None
        return raw if found is None or raw.startswith(found[0]) else found[0] + raw


class RankLineTest:
    """Lines of a rank in a `TeedLog`: what is left without them is the launcher's own."""

    def may_hit(self, lines: bytes) -> bool:
        """Whether a line of these raw ones may hit."""
        return b"\xe2\x94\x82 " in lines

    def hits(self, text: str) -> bool:
        """Whether a plain line is a rank's."""
        return _NAMED.match(text) is not None


class IdleRankLineTest:
    """Lines of a rank in a `TeedLog` that say nothing among others: empty ones, and a bar's states; its own log has it."""

    def may_hit(self, lines: bytes) -> bool:
        """Whether a line of these raw ones may hit."""
        return b"\xe2\x94\x82 " in lines

    def hits(self, text: str) -> bool:
        """Whether a plain line is one of these."""
        named = _NAMED.match(text)
        if named is None:
            return False
        said = text[named.end() :]
        return not said.strip() or _STATE.fullmatch(said) is not None
