"""Exit codes: scripts rely on them."""

from __future__ import annotations

import enum
from collections.abc import Sequence


class Exit(enum.IntEnum):
    """What a command's exit code says."""

    OK = 0
    FINDINGS = 1
    """The config has errors."""
    USAGE = 2
    """A wrong command line, unreadable input, an unknown key."""
    NO_RUN = 3
    IMPOSSIBLE = 4
    """It cannot be done on this box."""
    INTERRUPTED = 130


class CommandError(Exception):
    """A command that cannot go on: one sentence for stderr, `more` where several things are wrong, and the exit code."""

    def __init__(self, sentence: str, code: Exit = Exit.USAGE, more: Sequence[str] = ()) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.code = code
        self.more = tuple(more)
