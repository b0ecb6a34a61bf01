"""Failures that a program goes on from: its exit code says nothing of them, its log does."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prl_tui.core.secrets import hidden_said
from prl_tui.i18n import t

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prl_tui.telemetry.run_view import RunView

TORCHRUN = r"torch\.distributed\.elastic\.multiprocessing\.errors\.ChildFailedError"
"""The report of torchrun (2.0 to 2.13) on a rank that failed: behind it a script that pipes into `tee` returns 0."""
_MOST = 400


@dataclass(frozen=True, slots=True)
class Swallowed:
    """Lines of a log that tell of failures."""

    text: str
    """The first one."""
    count: int = 1
    """Lines so far."""

    def words(self) -> str:
        """One sentence, for a run that ended as if all had gone well."""
        return t(
            "{n} {n:line of its log tells|lines of its log tell} of a failure that the exit code hides: {text}",
            n=self.count,
            text=self.text,
        )


class Finder:
    """Counts what the patterns find, line by line."""

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        """`patterns`: a recipe's own, beside torchrun's."""
        self.found: Swallowed | None = None
        self._pattern = re.compile("|".join(f"(?:{one})" for one in (TORCHRUN, *patterns)))

    def take(self, text: str) -> bool:
        """Take in one line of plain text; whether it told something."""
        match = self._pattern.search(text)
        if match is None:
            return False
        first = self.found.text if self.found else hidden_said(text[match.start() :].strip()[: 8 * _MOST])[:_MOST]
        self.found = Swallowed(first, self.found.count + 1 if self.found else 1)
        return True


def of(state: str, view: RunView) -> str:
    """What a run that finished by its exit code hides, in words; "" for every other one."""
    return view.swallowed.words() if state == "finished" and view.swallowed is not None else ""
