"""Numbers of chosen lines of a growing log: a bit a line, so that millions of them take little room.

Lines are kept in blocks that come in any order outwards from the first one: later lines as they are written, earlier
ones as they are searched. Any chosen line is found by its place among all, and its place by its number, by bisection.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from functools import lru_cache

BLOCK_LINES = 8192
"""Lines of a block: its bits are a kibibyte."""
_SET = tuple(tuple(bit for bit in range(8) if byte >> bit & 1) for byte in range(256))


@lru_cache(maxsize=16)
def _offsets(bits: bytes) -> array[int]:
    """Which bits are set, from the first."""
    found = array("H")
    for at, byte in enumerate(bits):
        if byte:
            found.extend([8 * at + bit for bit in _SET[byte]])
    return found


class _Wing:
    """Blocks in one direction, with the number of chosen lines up to each."""

    def __init__(self) -> None:
        self.blocks: list[bytes] = []
        self.totals = array("Q", [0])

    def put(self, at: int, bits: bytes) -> None:
        """The next block, or the last one anew."""
        if at == len(self.blocks) - 1:
            self.blocks.pop()
            self.totals.pop()
        if at != len(self.blocks):
            raise ValueError(f"block {at} of a wing that has {len(self.blocks)}")
        self.blocks.append(bits)
        self.totals.append(self.totals[-1] + int.from_bytes(bits, "little").bit_count())


class LineSet:
    """Ascending line numbers, from 0."""

    def __init__(self) -> None:
        self._pivot: int | None = None
        self._down, self._up = _Wing(), _Wing()

    def put(self, block: int, bits: bytes) -> None:
        """The chosen lines of a block, bit n for line `block * BLOCK_LINES + n`.

        Beside the first block that was put, each wing takes its next block or the last one anew; ValueError else.
        """
        if self._pivot is None:
            self._pivot = block
        if block >= self._pivot:
            self._up.put(block - self._pivot, bits)
        else:
            self._down.put(self._pivot - 1 - block, bits)

    def __len__(self) -> int:
        """How many there are."""
        return self._down.totals[-1] + self._up.totals[-1]

    def before(self, line: int) -> int:
        """How many of them are smaller than `line`."""
        if self._pivot is None:
            return 0
        block, offset = divmod(line, BLOCK_LINES)
        below = self._down.totals[-1]
        if block >= self._pivot:
            at = block - self._pivot
            if at >= len(self._up.blocks):
                return len(self)
            return below + self._up.totals[at] + bisect_left(_offsets(self._up.blocks[at]), offset)
        at = self._pivot - 1 - block
        if at >= len(self._down.blocks):
            return 0
        return below - self._down.totals[at + 1] + bisect_left(_offsets(self._down.blocks[at]), offset)

    def __contains__(self, line: int) -> bool:
        """Whether a line is chosen."""
        return self.before(line + 1) > self.before(line)

    def between(self, first: int, count: int) -> list[int]:
        """The numbers at places `first` to `first + count - 1`; fewer where they end."""
        found: list[int] = []
        end = min(first + count, len(self))
        while 0 <= first < end:
            block, skipped, bits = self._at(first)
            offsets = _offsets(bits)[skipped : skipped + end - first]
            found += [block * BLOCK_LINES + offset for offset in offsets]
            first += len(offsets)
        return found

    def _at(self, place: int) -> tuple[int, int, bytes]:
        """The block in which the place is, how many chosen lines are before it there, and the block's bits."""
        pivot, below = self._pivot or 0, self._down.totals[-1]
        if place >= below:
            at = bisect_right(self._up.totals, place - below) - 1
            return pivot + at, place - below - self._up.totals[at], self._up.blocks[at]
        at = bisect_right(self._down.totals, below - 1 - place) - 1
        return pivot - 1 - at, place - (below - self._down.totals[at + 1]), self._down.blocks[at]
