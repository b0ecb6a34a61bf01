"""Whole numbers that a log shows, bounded where they are read: anybody can print anything into one."""

from __future__ import annotations

MOST = 10**12
"""Steps of the longest training that is believed; what is larger was no count of steps."""
_DIGITS = 13


def count(text: str) -> int | None:
    """The number that some digits stand for; None for one that is no plausible count. Never raises for digits."""
    digits = text.lstrip("0")
    if len(digits) > _DIGITS:  # int() itself refuses thousands of digits
        return None
    number = int(digits or "0")
    return number if number <= MOST else None
