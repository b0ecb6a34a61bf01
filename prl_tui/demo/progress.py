"""A progress bar on stderr in tqdm's text shape (tqdm itself is no dependency of ours)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable

WIDTH = 10
"""Cells of the bar: what tqdm takes where it is not told a terminal's width."""
INTERVAL = 0.1
"""Seconds between two paintings, but for the last."""

_BLOCKS = " ▏▎▍▌▋▊▉█"
_PLAIN = " 123456789#"


def clock_text(seconds: float) -> str:
    """`MM:SS`, or `H:MM:SS` from one hour on."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"


def rate_text(per_second: float | None) -> str:
    """`23.61it/s`, or seconds per iteration below one a second; `?it/s` if unknown."""
    if not per_second:
        return "?it/s"
    return f"{per_second:5.2f}it/s" if per_second >= 1 else f"{1 / per_second:5.2f}s/it"


def bar_text(fraction: float, blocks: str = _BLOCKS) -> str:
    """A bar of `WIDTH` cells; `blocks` are the characters from empty to full."""
    steps = len(blocks) - 1
    full, part = divmod(int(fraction * WIDTH * steps), steps)
    cells = blocks[-1] * full
    return (cells + blocks[part] if full < WIDTH else cells).ljust(WIDTH)


class ProgressBar:
    """One bar, `initial` of `total` done when it starts; a bar that is not `shown` is silent."""

    def __init__(
        self,
        label: str,
        total: int,
        stream: TextIO,
        *,
        initial: int = 0,
        shown: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._label = label
        self._total = total
        self._stream = stream
        self._initial = initial
        self._shown = shown
        self._clock = clock
        self._blocks = _BLOCKS if _can_write(stream, _BLOCKS) else _PLAIN
        self._start = self._painted = clock()
        self._width = 0
        self.done = initial
        self.paint()

    def advance(self, steps: int = 1) -> None:
        """Count `steps` more and paint if the last painting is old enough."""
        self.done += steps
        if self.done >= self._total or self._clock() - self._painted >= INTERVAL:
            self.paint()

    def text(self) -> str:
        """The bar as it stands."""
        seconds = self._clock() - self._start
        new = self.done - self._initial
        rate = new / seconds if new and seconds > 0 else None
        left = clock_text((self._total - self.done) / rate) if rate else "?"
        fraction = self.done / self._total
        return (
            f"{self._label}: {int(fraction * 100 + 0.5):3d}%|{bar_text(fraction, self._blocks)}|"
            f" {self.done}/{self._total} [{clock_text(seconds)}<{left}, {rate_text(rate)}]"
        )

    def paint(self) -> None:
        """Write the bar over the last one."""
        if not self._shown:
            return
        text = self.text()
        self._put("\r" + text.ljust(self._width))
        self._width = len(text)
        self._painted = self._clock()

    def clear(self) -> None:
        """Wipe the bar, so that a line can be printed in its place."""
        if self._shown and self._width:
            self._put("\r" + " " * self._width + "\r")

    def close(self) -> None:
        """Leave the bar as it was painted last and go to the next line."""
        if self._shown:
            self._put("\n")
            self._shown = False

    def _put(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def _can_write(stream: TextIO, text: str) -> bool:
    try:
        text.encode(stream.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
