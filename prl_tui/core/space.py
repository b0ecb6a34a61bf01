"""Where the values of one field can lie while others are fixed: quick steps for the search of fixes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import gcd
from typing import Any, NamedTuple

from prl_tui.core.assess import Case
from prl_tui.core.batch import divisors
from prl_tui.core.constraints import VISIBLE, Constraint

Values = dict[str, Any]
DEVICES = "cuda_visible_devices"


class Range(NamedTuple):
    """Whole numbers from `low` to `high` that are multiples of `step` and, unless 0, divide `divides`."""

    low: int
    high: int
    step: int = 1
    divides: int = 0

    def has(self, n: int) -> bool:
        """One of its numbers."""
        return self.low <= n <= self.high and n % self.step == 0 and not (self.divides and self.divides % n)

    def nearest(self, now: int) -> Iterator[int]:
        """Its numbers, the nearest to `now` first; of two equally near ones the lower."""
        if self.divides:
            found = [n for n in divisors(self.divides, 1) if self.has(n)]
            yield from sorted(found, key=lambda n: (abs(n - now), n))
            return
        below = min(now, self.high) // self.step * self.step
        above = max(below + self.step, -(-self.low // self.step) * self.step)
        while below >= self.low or above <= self.high:
            if below >= self.low and (above > self.high or now - below <= above - now):
                yield below
                below -= self.step
            else:
                yield above
                above += self.step


class _Side(NamedTuple):
    """One side of a rule: the product of what stays as it is (None: not a number), and the names that may change."""

    product: int | None
    names: tuple[str, ...]


class _Rule(NamedTuple):
    """A rule, with its guards and sides as far as they are open."""

    rule: Constraint
    guards: tuple[tuple[str, str], ...]
    whole: _Side
    of: _Side
    reads: frozenset[str]
    """The free parts that it depends on."""


class Space:
    """The values of a case in which some parts may change; the parts that follow those change with them."""

    def __init__(self, case: Case, rules: Iterable[Constraint], free: Iterable[str]) -> None:
        self.case = case
        self.values: Values = {**case.values, VISIBLE: _visible(case.values.get(DEVICES), case)}
        self._free = frozenset(free)
        self._open = set(self._free)
        self._as = {part: source for part, source in case.followers.items() if part not in self._free}
        self._as[VISIBLE] = DEVICES
        self._as = {part: source for part, source in self._as.items() if source in self._free}
        self._counts = {"nnodes", *(() if case.stack.default_accumulation else ("gradient_accumulation_steps",))}
        """Parts that count as 1 where they are not set."""
        self._read: set[str] = set()
        """The free parts that some rule depends on."""
        self._rules: dict[str, list[_Rule]] = {part: [] for part in self._free}
        for rule in rules:
            self._take(rule)

    def _take(self, rule: Constraint) -> None:
        """Keep a rule beside the free parts that it depends on; what cannot change is worked out once."""
        names = (*rule.whole, *rule.of, *(part for part, _ in rule.guards))
        reads = self._free.intersection(self._as.get(part, part) for part in names)
        self._read |= reads
        guards = []
        for name, test in rule.guards:
            if self._changes(name):
                guards.append((name, test))
            elif not self._holds(name, test, ""):
                return  # it says nothing, whatever the free parts become
        kept = _Rule(rule, tuple(guards), self._side(rule.whole), self._side(rule.of), reads)
        for part in reads:
            self._rules[part].append(kept)

    def _changes(self, name: str) -> bool:
        return name in self._free or name in self._as

    def _side(self, names: tuple[str, ...]) -> _Side:
        product: int | None = 1
        for name in names:
            if not self._changes(name):
                value = self._factor(name)
                product = None if product is None or value is None else product * value
        return _Side(product, tuple(name for name in names if self._changes(name)))

    def _factor(self, name: str) -> int | None:
        value = self.values.get(name)
        if name in self._counts:
            value = value or 1
        return value if isinstance(value, int) else None

    def put(self, part: str, value: object) -> None:
        """Fix a free part."""
        self.values[part] = value
        self._open.discard(part)
        for follower, source in self._as.items():
            if source == part and follower != VISIBLE:
                self.values[follower] = value
        if part == DEVICES:
            self.values[VISIBLE] = _visible(value, self.case)

    def release(self, part: str) -> None:
        """Let a part be free again."""
        self._open.add(part)

    def within(self, part: str, low: int, high: int, step: int = 1) -> Range | None:
        """Where a free part can lie, by the rules of whose parts no other is still free; None for nowhere.

        `low`, `high` and `step` are the field's own.
        """
        divides = 0
        others = self._open - {part}
        for kept in self._rules[part]:
            rule = kept.rule
            sides = self._sides(kept, part) if kept.reads.isdisjoint(others) else None
            if sides is None:
                continue
            whole, of, is_whole = sides
            if rule.kind == "covers":
                if is_whole:
                    low = max(low, -(-(of + rule.extra) // whole))
                else:
                    high = min(high, (whole - rule.extra) // of)
            elif is_whole:
                need = of // gcd(of, whole)
                step = step * need // gcd(step, need)
            elif whole % of:
                return None
            else:
                divides = gcd(divides, whole // of)
        return Range(low, high, step, divides) if low <= high else None

    def _sides(self, kept: _Rule, part: str) -> tuple[int, int, bool] | None:
        """The products of both sides without the part, and whether it stands in the whole; None: says nothing."""
        for name, test in kept.guards:
            if not self._holds(name, test, part):
                return None
        whole, in_whole = self._product(kept.whole, part)
        of, in_of = self._product(kept.of, part)
        least = 0 if kept.rule.kind == "covers" and not in_of else 1
        if in_whole + in_of != 1 or whole is None or of is None or whole < 1 - in_of or of < least:
            return None
        return whole, of, in_whole == 1

    def _holds(self, name: str, test: str, part: str) -> bool:
        if self._as.get(name, name) == part:
            return test == "set"  # the part is about to get a number
        value = self.values.get(name)
        if test == "many":
            return isinstance(value, int) and value > 1
        return (test == "none") is (value is None)

    def _product(self, side: _Side, part: str) -> tuple[int | None, int]:
        """The product of all but the part, and how often that stands there."""
        product, times = side.product, 0
        for name in side.names:
            if name == part or self._as.get(name) == part:
                times += 1
            elif product is not None:
                value = self._factor(name)
                product = None if value is None else product * value
        return product, times

    def matters(self, part: str) -> bool:
        """Some rule depends on the part."""
        return part in self._read


def _visible(spec: object, case: Case) -> int | None:
    return case.seen(spec).count


def neighbours(rules: Iterable[Constraint], parts: Iterable[str], followers: Mapping[str, str]) -> set[str]:
    """The parts that share a rule with one of these."""
    wanted, found = set(parts), set()
    for rule in rules:
        named = {*rule.whole, *rule.of, *(part for part, _ in rule.guards)}
        named |= {followers[part] for part in named if part in followers}
        if VISIBLE in named:
            named.add(DEVICES)
        if named & wanted:
            found |= named
    return found
