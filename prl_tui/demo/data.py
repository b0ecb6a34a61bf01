"""The training text as rows of characters, and which sample comes when: a pure function of seed and position."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

TRAIN_SHARE = 0.9
"""The first part of the text is for training, the rest for evaluation."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A text cut into samples of `block` characters; each has one more character, the last target."""

    tokens: Sequence[int]
    block: int

    def __len__(self) -> int:
        return max(0, (len(self.tokens) - 1) // self.block)

    def row(self, index: int) -> list[int]:
        """The `block + 1` tokens of one sample."""
        start = index * self.block
        return list(self.tokens[start : start + self.block + 1])

    def length_text(self) -> str:
        """Mean, deviation and bounds of the samples' lengths, in ms-swift's form."""
        mean = f"{self.block:.6f}"
        return f"{mean}±0.000000, min={mean}, max={mean}, size={len(self)}"


@dataclass(frozen=True, slots=True)
class Corpus:
    """A text as numbers."""

    characters: str
    """The vocabulary, in order."""
    train: Rows
    evaluation: Rows


def read_corpus(text: str, block: int) -> Corpus:
    """Cut a text into training and evaluation rows; ValueError if it is too short for `block`."""
    characters = "".join(sorted(set(text)))
    numbers = {character: number for number, character in enumerate(characters)}
    tokens = [numbers[character] for character in text]
    cut = int(len(tokens) * TRAIN_SHARE)
    corpus = Corpus(characters, Rows(tokens[:cut], block), Rows(tokens[cut:], block))
    if not corpus.evaluation:
        raise ValueError(f"block_size ({block}) is too long for the text of {len(text)} characters")
    return corpus


class Order:
    """The endless sequence of samples: each epoch is another shuffle of all rows."""

    def __init__(self, rows: int, seed: int) -> None:
        self._rows = rows
        self._seed = seed
        self._epoch = -1
        self._shuffled: list[int] = []

    def row_at(self, position: int) -> int:
        """The row of the sample at `position`, counted over all epochs and ranks from 0."""
        epoch, place = divmod(position, self._rows)
        if epoch != self._epoch:
            self._epoch, self._shuffled = epoch, self._shuffle(epoch)
        return self._shuffled[place]

    def _shuffle(self, epoch: int) -> list[int]:
        # Only random() has the same sequence in every Python; shuffle() is not promised to.
        chance = random.Random(f"{self._seed}/{epoch}")
        keys = [chance.random() for _ in range(self._rows)]
        return sorted(range(self._rows), key=keys.__getitem__)


def positions(seen: int, micro: int, per_device: int, rank: int, world_size: int) -> range:
    """The sample positions that `rank` takes in micro batch `micro`, after `seen` samples over all ranks."""
    start = seen + (micro * world_size + rank) * per_device
    return range(start, start + per_device)
