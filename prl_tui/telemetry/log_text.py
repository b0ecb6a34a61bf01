"""A log, or those of its lines that pass a filter, as plain text for a file: in parts, on whatever thread asks for them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from prl_tui.telemetry.escapes import plain
from prl_tui.telemetry.line_tests import LineFilter
from prl_tui.telemetry.tail_first import TailFirst
from prl_tui.telemetry.whole_line import GAP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prl_tui.telemetry.line_index import LineSource

_LINES = 256
_BREATH = 0.0005
"""Seconds for which the thread stands back after a part: keys are answered meanwhile."""
LONGEST = 1 << 20
"""Bytes of one line that are written, its last ones; `prl-tui logs` prints longer ones whole."""


class AnotherLogError(Exception):
    """The log was cut or replaced while it was read, or nobody wants it any more."""


def parts(source: LineSource, wanted: LineFilter | None, shown: bool, over: Callable[[], bool]) -> Iterator[bytes]:
    """The lines that are there at the beginning, each with its newline.

    `shown` as in `LineScan`; `over`: nobody wants it any more. AnotherLogError where it cannot be told to its end.
    """
    while isinstance(source, TailFirst) and not source.whole:
        if over():
            raise AnotherLogError
        time.sleep(_BREATH if source.count_ahead(not shown) else 0.02)
    with source.lock:
        generation, end = source.generation, source.lines
    for first in range(0, end, _LINES):
        with source.lock:
            same = source.generation == generation
            rows = source.read_lines(first, min(_LINES, end - first), LONGEST) if same else []
        if not rows or over():
            raise AnotherLogError
        chosen = range(len(rows)) if wanted is None else wanted.chosen(rows)
        yield "".join(f"{_text(rows[n])}\n" for n in chosen).encode("utf-8", "replace")
        time.sleep(_BREATH)


def _text(row: bytes) -> str:
    """A line as it is written; one that is longer than what is read of it has a sign at its beginning."""
    return plain(row) if len(row) < LONGEST else GAP + plain(row)
