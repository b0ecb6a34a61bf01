"""`logging.jsonl`, line by line in ms-swift 4.x's shape, and the log history that a checkpoint carries."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

PROGRESS_KEY = "global_step/max_steps"
SPEED_KEY = "train_speed(s/it)"


def duration_text(seconds: float) -> str:
    """`1d 2h 3m 4s`, rounded to seconds, with leading zero units left out."""
    whole = max(0, round(seconds))
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    day, hour = divmod(hours, 24)
    parts = [(day, "d"), (hour, "h"), (minute, "m"), (second, "s")]
    while len(parts) > 1 and parts[0][0] == 0:
        del parts[0]
    return " ".join(f"{number}{unit}" for number, unit in parts)


def rounded(value: object) -> object:
    """Floats to 8 places, as ms-swift writes them; anything else as it is."""
    return round(value, 8) if isinstance(value, float) else value


def console_text(line: Mapping[str, object]) -> str:
    """The line as transformers 5 prints it: a dict whose floats are quoted, with 4 significant digits."""
    return str({key: f"{value:.4g}" if isinstance(value, float) else value for key, value in line.items()})


@dataclass(slots=True)
class Journal:
    """The log of one run; only rank 0 has one."""

    path: Path
    max_steps: int
    first_step: int = 0
    """Steps that were done before this process started (a resumed run)."""
    history: list[dict[str, object]] = field(default_factory=list)
    """Every logged line in full precision, with its step."""
    clock: Callable[[], float] = time.monotonic
    start: float = field(init=False)
    """When training began, by `clock`."""

    def __post_init__(self) -> None:
        self.start = self.clock()

    def write(
        self, step: int, epoch: float, values: Mapping[str, object], memory_gib: float = 0.0
    ) -> dict[str, object]:
        """Append a line of metrics after `step`, and give it; `memory_gib` of 0 leaves that key out."""
        self.history.append({**values, "epoch": epoch, "step": step})
        line = {key: rounded(value) for key, value in values.items()}
        line["epoch"] = round(epoch, 8)
        line.update(self._progress(step, memory_gib))
        self._append(line)
        return line

    def summarize(self, summary: Mapping[str, object]) -> None:
        """Append the last line, which has no progress."""
        self._append(summary)

    def _progress(self, step: int, memory_gib: float) -> dict[str, object]:
        elapsed = self.clock() - self.start
        speed = elapsed / max(1, step - self.first_step)
        line: dict[str, object] = {
            PROGRESS_KEY: f"{step}/{self.max_steps}",
            "elapsed_time": duration_text(elapsed),
            "remaining_time": duration_text(speed * (self.max_steps - step)),
        }
        if memory_gib:
            line["memory(GiB)"] = round(memory_gib, 2)
        line[SPEED_KEY] = round(speed, 6)
        return line

    def _append(self, line: Mapping[str, object]) -> None:
        # One write for a whole line: who follows the file sees no half of it.
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def speed_metrics(prefix: str, seconds: float, samples: int, steps: int) -> dict[str, object]:
    """The three speed figures that transformers logs under `train_` and `eval_`."""
    safe = max(seconds, 1e-9)
    return {
        f"{prefix}_runtime": round(seconds, 4),
        f"{prefix}_samples_per_second": round(samples / safe, 3),
        f"{prefix}_steps_per_second": round(steps / safe, 3),
    }
