"""What happened since the last log line: losses, accuracy and pace of one rank, and their sums over all."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol

    class Summing(Protocol):
        """What sums numbers over the ranks."""

        def sums(self, values: Sequence[float]) -> list[float]:
            """Each value summed over all ranks."""


@dataclass(frozen=True, slots=True)
class Period:
    """The steps between two log lines."""

    steps: int
    seconds: float
    loss: float
    """Mean over micro batches and ranks."""
    own_loss: float
    """Mean over this rank's micro batches."""
    accuracy: float
    """Share of characters guessed right, over all ranks."""
    grad_norm: float
    """Of the last step, before clipping."""


class Tally:
    """Adds up micro batches until they are taken."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._all_losses = 0.0
        self._all_steps = 0
        self._grad_norm = 0.0
        self._clear()

    @property
    def mean_loss(self) -> float:
        """Mean loss of all steps taken so far."""
        return self._all_losses / max(1, self._all_steps)

    def add(self, loss: float, correct: int, tokens: int) -> None:
        """Count one micro batch of this rank."""
        self._micro += 1
        self._losses += loss
        self._correct += correct
        self._tokens += tokens

    def close_step(self, grad_norm: float) -> None:
        """Count one optimizer step."""
        self._steps += 1
        self._grad_norm = grad_norm

    def take(self, comm: Summing) -> Period:
        """The period that ends now, summed over the ranks; a new one begins."""
        losses, micro, correct, tokens = comm.sums([self._losses, self._micro, self._correct, self._tokens])
        period = Period(
            steps=self._steps,
            seconds=max(1e-9, self._clock() - self._since),
            loss=losses / micro,
            own_loss=self._losses / self._micro,
            accuracy=correct / tokens,
            grad_norm=self._grad_norm,
        )
        self._all_losses += period.loss * period.steps
        self._all_steps += period.steps
        self._clear()
        return period

    def _clear(self) -> None:
        self._since = self._clock()
        self._steps = self._micro = self._correct = self._tokens = 0
        self._losses = 0.0
