"""The ids of runs."""

from __future__ import annotations

import os


def new_id() -> str:
    """Six hexadecimal digits, of which no id reads as a number: not even as 12e456."""
    while True:
        text = os.urandom(3).hex()
        if not _LETTERS.isdisjoint(text):
            return text


_LETTERS = frozenset("abcdf")
