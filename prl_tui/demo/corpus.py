"""The text that the demo learns: a harbour's log, told from our own sentences by a seeded program.

`python -m prl_tui.demo.corpus` prints it; `corpus.txt` is that output. Many rules repeat in it (who lives where,
which lamp opens which gate, small sums that are right), so that a small model's loss falls quickly and goes on falling.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import TypeVar

CORPUS = Path(__file__).with_name("corpus.txt")
SIZE = 110_000
"""Characters, about."""

T = TypeVar("T")

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_PEOPLE = (
    ("Anna", "she", "her", "the mill"),
    ("Bruno", "he", "his", "the old tower"),
    ("Clara", "she", "her", "the red house"),
    ("Dario", "he", "his", "the boat yard"),
    ("Edith", "she", "her", "the north pier"),
    ("Felix", "he", "his", "the bakery"),
    ("Greta", "she", "her", "the lighthouse"),
    ("Henrik", "he", "his", "the island"),
)
_GOODS = (
    ("basket", "apples"),
    ("crate", "lemons"),
    ("sack", "flour"),
    ("barrel", "salt"),
    ("box", "nails"),
    ("bundle", "rope"),
    ("jar", "honey"),
)
_BOATS = ("the Heron", "the Blue Anchor", "the Patience", "the Morning Star", "the Little Whale")
_WINDS = (
    ("north", "cold", "the sails were taken in"),
    ("south", "warm", "the windows stood open"),
    ("east", "dry", "the nets hung in the sun"),
    ("west", "wet", "the crates were covered"),
)
_LAMPS = (("red", "closed"), ("green", "open"), ("yellow", "open for small boats"))
_WORK = (
    ("mended the nets", "the nets hold again"),
    ("painted the door", "the door is blue now"),
    ("counted the crates", "the list is right again"),
    ("cleaned the lamp", "the light reaches the island"),
    ("repaired the pump", "the cellar is dry"),
    ("baked the bread", "the whole pier smells of it"),
)


class Teller:
    """Tells the log; only `random()` is asked for chance, as its sequence never changes between Pythons."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._tellings = (self._cargo, self._sum, self._gate, self._wind, self._work, self._home, self._talk)

    def day(self, number: int) -> str:
        """One day of the log: a heading and some entries."""
        entries = [self._pick(self._tellings)() for _ in range(5 + self._below(4))]
        return f"Day {number}.\n" + "\n".join(entries) + "\n\n"

    def _below(self, limit: int) -> int:
        return int(self._random.random() * limit)

    def _pick(self, choices: tuple[T, ...]) -> T:
        return choices[self._below(len(choices))]

    def _cargo(self) -> str:
        name, pronoun, possessive, home = self._pick(_PEOPLE)
        holder, goods = self._pick(_GOODS)
        count = 1 + self._below(12)
        return (
            f"{name} carried {_some(count, holder)} of {goods} from {self._pick(_BOATS)} to {home},"
            f" and {pronoun} wrote {_NUMBERS[count]} in {possessive} book."
        )

    def _sum(self) -> str:
        left, right = 1 + self._below(6), 1 + self._below(6)
        holder, goods = self._pick(_GOODS)
        return (
            f"{_some(left, holder).capitalize()} of {goods} and {_some(right, holder)} of {goods}"
            f" make {_some(left + right, holder)} of {goods}."
        )

    def _gate(self) -> str:
        colour, state = self._pick(_LAMPS)
        hour = 1 + self._below(12)
        return (
            f"At {_NUMBERS[hour]} o'clock the lamp was {colour}, so the gate was {state}."
            f" When the lamp is {colour}, the gate is {state}."
        )

    def _wind(self) -> str:
        quarter, feel, effect = self._pick(_WINDS)
        return f"The wind came from the {quarter}. It was {feel}, and {effect}."

    def _work(self) -> str:
        name, pronoun, _, _ = self._pick(_PEOPLE)
        deed, effect = self._pick(_WORK)
        return f"{name} {deed} today, as {pronoun} had promised. Because of that {effect}."

    def _home(self) -> str:
        name, pronoun, possessive, home = self._pick(_PEOPLE)
        return f"In the evening {name} went home to {home}, where {pronoun} lives with {possessive} family."

    def _talk(self) -> str:
        asker, answerer = self._pick(_PEOPLE)[0], self._pick(_PEOPLE)[0]
        name, pronoun, _, home = self._pick(_PEOPLE)
        return f'{asker} asked: "Where is {name}?" {answerer} said: "At {home}, {pronoun} lives there."'


def make_text(size: int = SIZE, seed: int = 7) -> str:
    """The log, of whole days, at least `size` characters long; the same for the same arguments."""
    teller = Teller(seed)
    days: list[str] = []
    length = 0
    while length < size:
        days.append(teller.day(len(days) + 1))
        length += len(days[-1])
    return "".join(days)


def _some(count: int, holder: str) -> str:
    many = holder + ("es" if holder.endswith("x") else "s")
    return f"{_NUMBERS[count]} {holder if count == 1 else many}"


if __name__ == "__main__":
    sys.stdout.write(make_text())
