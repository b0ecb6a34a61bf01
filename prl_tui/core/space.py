"""Where the values of one field can lie while others are fixed: quick steps for the search of fixes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import gcd
from typing import Any, NamedTuple

from prl_tui.core import devices
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


class Space:
    """The values of a case in which some parts may change; the parts that follow those change with them."""

    def __init__(self, case: Case, rules: Iterable[Constraint], free: Iterable[str]) -> None:
        self.case = case
        self.values: Values = {**case.values, VISIBLE: _visible(case.values.get(DEVICES), case.node_gpus)}
        self._free = frozenset(free)
        self._open = set(self._free)
        self._as = {part: source for part, source in case.followers.items() if part not in self._free}
        self._as[VISIBLE] = DEVICES
        self._as = {part: source for part, source in self._as.items() if source in self._free}
        self._counts = {"nnodes", *(() if case.stack.default_accumulation else ("gradient_accumulation_steps",))}
        """Parts that count as 1 where they are not set."""
        self._rules: dict[str, list[tuple[Constraint, frozenset[str]]]] = {part: [] for part in self._free}
        for rule in rules:
            reads = self._reads(rule)
            for part in reads:
                self._rules[part].append((rule, reads - {part}))

    def _reads(self, rule: Constraint) -> frozenset[str]:
        """The free parts that a rule depends on."""
        named = (*rule.whole, *rule.of, *(part for part, _ in rule.guards))
        return self._free.intersection(self._as.get(part, part) for part in named)

    def put(self, part: str, value: object) -> None:
        """Fix a free part."""
        self.values[part] = value
        self._open.discard(part)
        for follower, source in self._as.items():
            if source == part and follower != VISIBLE:
                self.values[follower] = value
        if part == DEVICES:
            self.values[VISIBLE] = _visible(value, self.case.node_gpus)

    def release(self, part: str) -> None:
        """Let a part be free again."""
        self._open.add(part)

    def within(self, part: str, low: int, high: int) -> Range | None:
        """Where a free part can lie, by the rules that depend on nothing else that is free; None for nowhere."""
        step, divides = 1, 0
        for rule, others in self._rules[part]:
            sides = self._sides(rule, part) if self._open.isdisjoint(others) else None
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

    def _sides(self, rule: Constraint, part: str) -> tuple[int, int, bool] | None:
        """The products of both sides without the part, and whether it stands in the whole; None: says nothing."""
        for name, test in rule.guards:
            if not self._holds(name, test, part):
                return None
        whole, in_whole = self._product(rule.whole, part)
        of, in_of = self._product(rule.of, part)
        least = 0 if rule.kind == "covers" and not in_of else 1
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

    def _product(self, names: tuple[str, ...], part: str) -> tuple[int | None, int]:
        """The product of all but the part, and how often that stands there."""
        product, times = 1, 0
        for name in names:
            if name == part or self._as.get(name) == part:
                times += 1
                continue
            value = self.values.get(name)
            if name in self._counts:
                value = value or 1
            if not isinstance(value, int):
                return None, times
            product *= value
        return product, times

    def matters(self, part: str) -> bool:
        """Some rule depends on the part."""
        return bool(self._rules[part])


def _visible(spec: object, node_gpus: int | None) -> int | None:
    return devices.read(spec if isinstance(spec, str) else None, node_gpus).count


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
