"""A clock that nobody sets: for ages and durations, which a step of the wall clock must not make negative or absurd."""

from __future__ import annotations

import time


def seconds() -> float:
    """Seconds since this box was started, sleep included: the same for all of its processes, no other box's."""
    try:
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    except (AttributeError, OSError):
        return time.monotonic()
