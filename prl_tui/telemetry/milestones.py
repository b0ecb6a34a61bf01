"""What a run has reached before and after its steps, from lines that engines print.

An anchor is a pattern of one line. The default ones are ms-swift's (3.3 to 4.6, seen in captured runs); a recipe of
another program adds its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prl_tui.i18n import t
from prl_tui.telemetry import counts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PHASES = ("waiting", "launching", "ranks", "arguments", "model", "dataset", "ready", "training", "done")
"""In the order in which a run goes through them; the last that was reached is the run's phase."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A line that tells something."""

    key: str
    """One of PHASES, or `checkpoint` (which may come any number of times)."""
    pattern: str
    """Searched in one line, no look-behind; best begun with a plain character, which keeps reading fast.
    Named groups become facts: metrics_path, checkpoint, world_size …"""


SWIFT_ANCHORS = (
    Anchor("ranks", r"\[INFO:swift\] rank: \d+, local_rank: \d+, world_size: (?P<world_size>\d+)"),
    Anchor("arguments", r"\[INFO:swift\] output_dir: (?P<output_dir>\S(?:.*\S)?)\s*$"),
    Anchor("arguments", r"\[INFO:swift\] args: \w+Arguments\("),
    Anchor("model", r"\[INFO:swift\] model_info: "),
    Anchor("dataset", r"\[INFO:swift\] train_dataset: "),
    Anchor("ready", r"\[INFO:swift\] The logging file will be saved in: (?P<metrics_path>\S(?:.*\S)?)\s*$"),
    Anchor("checkpoint", r"\[INFO:swift\] Saving model checkpoint to (?P<checkpoint>\S(?:.*\S)?)\s*$"),
    Anchor("done", r"\[INFO:swift\] End time of running main: "),
)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A saved state that the run named."""

    path: str
    """As the run wrote it; relative to the run's working directory if not absolute."""
    step: int | None
    """The number at the end of its name."""
    seen_at: float | None
    """When its line was read, in seconds of the reader's steady clock; None for one that was there before reading began."""


class Milestones:
    """Collects what anchors found."""

    def __init__(self, anchors: Sequence[Anchor] = SWIFT_ANCHORS) -> None:
        self.facts: dict[str, str] = {}
        """The newest value of each named group."""
        self.lines: dict[str, int] = {}
        """Phase → number of the line, from 0, where it was first seen."""
        self.checkpoints: dict[str, Checkpoint] = {}
        """By path."""
        self._anchors = [(anchor.key, re.compile(anchor.pattern)) for anchor in anchors]

    def observe(self, text: str, line: int, now: float | None) -> bool:
        """Take in one line of plain text, read at `now` (None: not live); whether it told something."""
        for key, pattern in self._anchors:
            match = pattern.search(text)
            if match is None:
                continue
            facts = {name: value for name, value in match.groupdict().items() if value is not None}
            path = facts.pop("checkpoint", None)
            if path is not None and path not in self.checkpoints:
                self.checkpoints[path] = Checkpoint(path, _last_number(path), now)
            self.facts |= facts
            self.lines.setdefault(key, line)
            return True
        return False

    def phase(self, any_output: bool, stepping: bool) -> str:
        """The furthest of PHASES; `stepping`: a training step was seen."""
        reached = {"waiting", *self.lines}
        if any_output:
            reached.add("launching")
        if stepping:
            reached.add("training")
        return max(reached & set(PHASES), key=PHASES.index)

    def ordered_checkpoints(self) -> tuple[Checkpoint, ...]:
        """By step number; those without one first."""
        return tuple(sorted(self.checkpoints.values(), key=lambda one: -1 if one.step is None else one.step))


def _last_number(path: str) -> int | None:
    match = re.search(r"(\d+)\D*$", path.rstrip("/").rsplit("/", 1)[-1])
    return counts.count(match[1]) if match else None


def trigger_of(patterns: Iterable[str]) -> bytes:
    """One pattern over bytes that is found wherever one of these could match: no named groups, no line ends.

    Patterns that begin with a plain character keep the search fast.
    """
    plain = (re.sub(r"\(\?P<\w+>", "(?:", pattern).removeprefix("^").removesuffix("$") for pattern in patterns)
    return "|".join(f"(?:{pattern})" for pattern in plain).encode()


def phase_words(phase: str) -> str:
    """What a run is doing, for one of PHASES."""
    return {
        "waiting": t("waiting for the first output"),
        "launching": t("starting the processes"),
        "ranks": t("the ranks have met"),
        "arguments": t("settings read"),
        "model": t("loading the model"),
        "dataset": t("reading the data"),
        "ready": t("about to train"),
        "training": t("training"),
        "done": t("training done"),
    }.get(phase, phase)
