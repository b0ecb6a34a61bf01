"""What a model answered while it trained, from ms-swift's `completions.jsonl`.

Each line of the file is one report: a JSON object whose values are columns of equal length. The shapes are those of
ms-swift 3.3 to 4.6 (PRL's fork: `messages` and `reward`; later: `prompt`, one column for each reward, advantages).
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from prl_tui import regular
from prl_tui.telemetry import counts

FILE = "completions.jsonl"
"""Its name, beside `logging.jsonl`."""

_KNOWN = frozenset({"step", "gen_step", "messages", "prompt", "completion", "advantages", "advantage"})
_LONGEST = 64 << 20
"""Bytes of one line that are parsed; a generation batch of long answers is far below."""


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer."""

    step: int | None
    """The optimizer step that was under way; None where the file does not say."""
    prompt: str
    text: str
    rewards: Mapping[str, float] = field(default_factory=dict)
    """Reward function → what it gave."""
    advantage: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Every other column: solution, num_turns …"""


def read(path: Path, most: int | None = None) -> list[Completion]:
    """The answers in a file, oldest first; `most` keeps only the newest. OSError where it cannot be read."""
    kept: deque[Completion] = deque(maxlen=most)
    with regular.opened(path) as file:
        while line := file.readline(_LONGEST):
            kept.extend(of_line(line))
    return list(kept)


def of_line(line: bytes) -> Iterator[Completion]:
    """The answers of one report; none for a line that is no report, such as one cut by a crash."""
    try:
        columns = json.loads(line)
    except (ValueError, RecursionError):
        return
    answers = columns.get("completion") if isinstance(columns, dict) else None
    if not isinstance(answers, list):
        return
    for at, text in enumerate(answers):
        yield _completion({name: _cell(column, at) for name, column in columns.items()}, str(text))


def _cell(column: object, at: int) -> Any:
    if not isinstance(column, list):
        return column
    return column[at] if at < len(column) else None


def _completion(row: Mapping[str, Any], text: str) -> Completion:
    rewards, extra = {}, {}
    for name, value in row.items():
        if name in _KNOWN or value is None:
            continue
        if name != "num_turns" and (reward := _float(value)) is not None:
            rewards[name] = reward
        else:
            extra[name] = value
    advantage = row.get("advantages", row.get("advantage"))
    return Completion(
        step=_step(row.get("step", row.get("gen_step"))),
        prompt=_prompt(row),
        text=text,
        rewards=MappingProxyType(rewards),
        advantage=_float(advantage),
        extra=MappingProxyType(extra),
    )


def _step(value: object) -> int | None:
    text = str(value)
    return counts.count(text) if text.isascii() and text.isdigit() else None


def _float(value: object) -> float | None:
    """A number of a row; None for what is none, and for whole ones that no float can hold."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _prompt(row: Mapping[str, Any]) -> str:
    """The prompt as text; of messages (ms-swift 3.3) every turn with its role."""
    messages = row.get("messages")
    if isinstance(messages, list):
        turns = [turn for turn in messages if isinstance(turn, dict)]
        return "\n".join(f"{turn.get('role', '')}: {turn.get('content', '')}" for turn in turns)
    return str(row.get("prompt", ""))
