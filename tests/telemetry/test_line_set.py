"""The set of chosen lines, judged by a plain sorted list of the same numbers."""

from __future__ import annotations

import random

import pytest

from prl_tui.telemetry.line_set import BLOCK_LINES, LineSet


def bits_of(offsets):
    bits = bytearray(BLOCK_LINES // 8)
    for offset in offsets:
        bits[offset >> 3] |= 1 << (offset & 7)
    return bytes(bits)


@pytest.mark.parametrize("seed", range(6))
def test_places_and_numbers_are_those_of_a_sorted_list_in_whatever_order_blocks_come(seed):
    chance = random.Random(seed)
    first, last = 0, 9
    pivot = chance.randrange(first, last)
    blocks = {n: sorted(chance.sample(range(BLOCK_LINES), chance.choice([0, 1, 3, 500, 8000]))) for n in range(10)}
    lines, known = LineSet(), []
    down, up = list(range(pivot - 1, -1, -1)), list(range(pivot + 1, 10))
    order = [pivot]
    while down or up:
        wing = chance.choice([one for one in (down, up) if one])
        order.append(wing.pop(0))
    for block in order:
        lines.put(block, bits_of(blocks[block][:2]))
        lines.put(block, bits_of(blocks[block]))  # the last one anew: it has more lines by now
        known = sorted([*known, *(block * BLOCK_LINES + offset for offset in blocks[block])])
        assert len(lines) == len(known)
        for place in [0, len(known) // 3, max(0, len(known) - 5)]:
            assert lines.between(place, 50) == known[place : place + 50]
        for _ in range(20):
            line = chance.randrange(12 * BLOCK_LINES)
            assert lines.before(line) == sum(one < line for one in known)
            assert (line in lines) == (line in known)
    assert lines.between(0, len(known) + 5) == known


def test_an_empty_set_has_nothing_at_no_place():
    lines = LineSet()
    assert (len(lines), lines.between(0, 10), lines.before(77), 3 in lines) == (0, [], 0, False)


def test_a_block_that_skips_one_is_refused():
    lines = LineSet()
    lines.put(4, bits_of([]))
    with pytest.raises(ValueError, match="block 2 of a wing that has 1"):
        lines.put(6, bits_of([1]))


def test_ten_million_lines_take_little_more_than_a_bit_each():
    lines = LineSet()
    full = (b"\xff" * (BLOCK_LINES // 8),)
    for block in range(1220):
        lines.put(block, bytes(bytearray(full[0])))
    kept = sum(len(bits) for bits in lines._up.blocks) + lines._up.totals.itemsize * len(lines._up.totals)
    assert len(lines) == 1220 * BLOCK_LINES
    assert kept < len(lines) / 8 * 1.01
