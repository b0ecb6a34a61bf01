"""The nearest changes that satisfy every rule at once: fewest fields first, then the smallest change.

Every field whose own value is wrong must change; the rest of the search is about the rules between fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations, islice
from typing import Any

from prl_tui.core import constraints, repairs, space, values
from prl_tui.core.assess import RANKS, Assessment, Case, assess
from prl_tui.core.batch import Violation
from prl_tui.core.candidates import OPTIONAL, TUNABLE, Hunt
from prl_tui.core.config import RunConfig
from prl_tui.core.findings import Fix
from prl_tui.core.space import Space
from prl_tui.i18n import t
from prl_tui.lists import listed

MOST = 4
"""How many fixes are offered."""

TRAIN = {"num_generations", "per_device_train_batch_size", "nproc_per_node"}
COUNTED = {"gradient_accumulation_steps", "steps_per_generation", "generation_batch_size"}
EVALUATION = {"num_generations", "num_generations_eval", "per_device_eval_batch_size", "nproc_per_node"}
PLACES = {"nproc_per_node", "cuda_visible_devices"}
WORKERS = PLACES | {"num_infer_workers"}
SINGLE_BATCH = {"batch_size", "micro_batch_size", "nproc_per_node", "gradient_accumulation_steps", "train_batch_size"}

NOTHING: Any = object()
TRIES = 64
"""How many values of one field are judged in full before it is given up."""
CLEANER = 16
"""How many more values are tried for one that nothing warns of, once one works."""
RADII = (4, 16, 64)
"""How far several fields may move together, the near first."""
EFFORT, FAR_EFFORT, KNOWN_EFFORT = 600, 300, 120
"""How many values all tries of several fields may look at: near, far, and where changes that work are known already."""


INVOLVED: dict[str, set[str]] = {
    "num-generations-divides": TRAIN | COUNTED,
    "num-generations-min": {"num_generations"},
    "too-few-rows": TRAIN | COUNTED,
    "eval-batch-divides": EVALUATION,
    "eval-rows": EVALUATION,
    "steps-per-generation-positive": {"steps_per_generation"},
    "generation-batch-divides": {"generation_batch_size", "per_device_train_batch_size", "nproc_per_node"},
    "generation-batch-agrees": COUNTED | {"per_device_train_batch_size", "nproc_per_node"},
    "generation-batch-and-steps": {"generation_batch_size", "steps_per_generation"},
    "global-batch-divides": {"global_batch_size", "per_device_train_batch_size", "nproc_per_node"},
    "total-batch-too-small": SINGLE_BATCH,
    "accumulation-zero": SINGLE_BATCH,
    "no-update": {"gradient_accumulation_steps", "per_device_train_batch_size", "nproc_per_node", "batch_size"},
    "deepspeed-triple": SINGLE_BATCH,
    "sequence-parallel-divides": {"sequence_parallel_size", "nproc_per_node"},
    "tensor-parallel-divides": {"vllm_tensor_parallel_size", "nproc_per_node"},
    "infer-workers-exceed-processes": {"num_infer_workers", "nproc_per_node"},
    "async-generate-shares": WORKERS | {"async_generate"},
    "tensor-parallel-layout": WORKERS | {"tensor_parallel_size"},
    "node-rank-beyond": {"node_rank", "nnodes"},
    "rank-beyond": {*RANKS, "nproc_per_node"},
    "devices-unreadable": {"cuda_visible_devices"},
    "devices-repeated": {"cuda_visible_devices"},
    "devices-none": {"cuda_visible_devices"},
    "devices-beyond-node": {"cuda_visible_devices"},
    "devices-unknown": {"cuda_visible_devices"},
    "devices-ambiguous": {"cuda_visible_devices"},
}
"""Which fields a rule reads; the GPU rules read PLACES."""


def search(config: RunConfig, judge: Callable[[RunConfig], tuple[Case, Mapping[str, Any]]]) -> tuple[Fix, ...]:
    """Fixes for everything that a change of fields can mend; empty where nothing is broken or nothing helps.

    `judge` gives the case of a config, and changes that its other findings ask for.
    """
    always = repairs.plain(config, TUNABLE)
    sound = repairs.applied(config, always)
    case, asked = judge(sound)
    if asked:
        always |= asked
        case, _ = judge(repairs.applied(config, always))
    open_parts = [part for part in TUNABLE if part in case.values and part not in case.fixed]
    forced = frozenset(part for part in open_parts if _is_bad(sound, part))
    found = assess(case)
    if not forced and not found.errors:
        return (as_fix(config, always),) if always else ()
    hunt = _hunt(config, case, found, forced)
    works = _best_first(hunt, found, _works(hunt))
    if works:
        return tuple(_offered(hunt, changes, always) for changes in works[:MOST])
    return _all_back(config, judge)


def _best_first(hunt: Hunt, found: Assessment, works: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Fewer processes last, and what brings a new warning not at all, unless everything does."""
    before = _warned(found)
    new = [len(_warned(assess(hunt.case.with_values(changes))) - before) for changes in works]
    ranked = [
        (count, hunt.fewer_processes(changes), at) for at, (count, changes) in enumerate(zip(new, works, strict=True))
    ]
    return [works[at] for count, _, at in sorted(ranked) if not count or min(new)]


def _warned(found: Assessment) -> set[str]:
    return {violation.code for violation in found.violations if violation.severity == "warning"}


def _offered(hunt: Hunt, changes: Mapping[str, Any], always: Mapping[str, Any]) -> Fix:
    """A change as a fix; one for which more GPUs are needed than the config has says so."""
    fix = as_fix(hunt.config, {**_keys(hunt.config, changes), **always})
    count = changes.get("nproc_per_node")
    if not hunt.case.needs_gpu or count is None or count <= hunt.processes:
        return fix
    return Fix(fix.changes, t("{change}, which needs {n} {n:GPU|GPUs}", change=fix.label, n=count))


def _works(hunt: Hunt) -> list[dict[str, Any]]:
    """The changes that work, of the fewest fields and the nearest of these first.

    More processes than the config has need GPUs that nobody spoke of: only where as few fields mend it in no other way.
    """
    known = _from_preset(hunt) if hunt.forced else []
    least = max(1, len(hunt.forced))
    for size in range(least, least + 3):
        last = bool(known) and size == len(known[0])
        effort = KNOWN_EFFORT if known else EFFORT
        works = _of_size(hunt, size, not last, effort)
        if not works and not last and "nproc_per_node" in hunt.parts:
            works = _of_size(hunt.with_more_processes(), size, not last, effort)
        if works or last:
            return works + [changes for changes in known if last and changes not in works]
    return known


def _of_size(hunt: Hunt, size: int, far: bool, effort: int) -> list[dict[str, Any]]:
    return _single(hunt) if size == 1 else _several(hunt, size, far, effort)


def _from_preset(hunt: Hunt) -> list[dict[str, Any]]:
    """What works once every field whose own value is wrong has the preset's: more than enough, but surely right."""
    given = {part: repairs.preset_number(hunt.config, part) for part in hunt.forced}
    given = {part: hunt.bounds(part)[0] if n is None and part not in OPTIONAL else n for part, n in given.items()}
    case = hunt.case.with_values(given)
    found = assess(case)
    if not found.errors:
        return [given]
    rest = _hunt(hunt.config, case, found, frozenset())
    rest = rest._replace(parts=[part for part in rest.parts if part not in hunt.forced])
    return [{**changes, **given} for changes in _single(rest) or _several(rest, 2, far=True, effort=EFFORT)]


def _hunt(config: RunConfig, case: Case, found: Assessment, forced: frozenset[str]) -> Hunt:
    rules = constraints.of_case(case)
    broken = [violation for violation in found.violations if violation.severity == "error"]
    readers = [_involved(case, violation) for violation in broken] + [{part} for part in forced]
    involved = set().union(*readers)
    open_parts = involved | (space.neighbours(rules, involved, case.followers) - {"nnodes", "node_rank"})
    open_parts |= {"async_generate"} if "nproc_per_node" in open_parts and case.values.get("async_generate") else set()
    may = [part for part in TUNABLE if part in case.values and part in open_parts and _can_change(case, part, forced)]
    return Hunt(config, case, rules, may, forced, readers, {}, _processes(config, case, found))


def _processes(config: RunConfig, case: Case, found: Assessment) -> int:
    """The processes that a config has GPUs for, as far as it says: its own number, the preset's, the GPUs that it lists."""
    own = None if config.wrong(config.recipe.part("nproc_per_node")) else case.values.get("nproc_per_node")
    listed_gpus = None if config.wrong(config.recipe.part(space.DEVICES)) else found.devices.listed
    return max(own or 0, repairs.preset_number(config, "nproc_per_node") or 0, listed_gpus or 0)


def _can_change(case: Case, part: str, forced: frozenset[str]) -> bool:
    """A field that nobody set is not offered, except for a list of GPUs; nor what stands in a file of the person's."""
    if part in case.fixed:
        return False
    return part in forced or part == space.DEVICES or case.values[part] is not None


def _is_bad(config: RunConfig, part: str) -> bool:
    return bool(config.settings[config.recipe.part(part)].problem)


def _involved(case: Case, violation: Violation) -> set[str]:
    """The fields that a rule reads, and those that these follow."""
    read = INVOLVED.get(violation.code, PLACES)
    if violation.code == "rank-beyond":
        read = read.difference(RANKS) | {violation.part}
    if case.rule == "grpo":
        read = read - _idle(case)
    return read | {source for part, source in case.followers.items() if part in read}


def _idle(case: Case) -> set[str]:
    """Fields that have no say in the generation batch."""
    if not case.stack.accumulation_counts:
        return COUNTED
    speaking = next(
        (p for p in ("generation_batch_size", "steps_per_generation") if case.values.get(p) is not None), ""
    )
    return {"gradient_accumulation_steps"} if speaking else set()


def _keys(config: RunConfig, changes: Mapping[str, Any]) -> dict[str, Any]:
    return {config.recipe.part(part): changes[part] for part in _in_order(changes)}


# --- one field ---


def _single(hunt: Hunt) -> list[dict[str, Any]]:
    """Every single-field change that works: the nearest below and above, nearest first."""
    works: list[tuple[float, dict[str, Any]]] = []
    for rank, part in enumerate(part for part in hunt.parts if all(part in read for read in hunt.readers)):
        for value in _working(hunt, part):
            works.append((hunt.cost(part, value) + rank / 100, {part: value}))
    works.sort(key=lambda entry: entry[0])
    return [changes for _, changes in works]


def _working(hunt: Hunt, part: str) -> list[Any]:
    """What a part alone can become: left out, the nearest below and above, and the preset's value if its own is bad."""
    now, case = hunt.case.values[part], hunt.case
    place = Space(case, hunt.rules, (part,))
    found: dict[str, Any] = {}
    clean: set[str] = set()
    last = TRIES
    for tried, value in enumerate(hunt.options(place, part)):
        side = _side(now, value)
        if tried >= last or {"below", "above"} <= clean or "own" in clean:
            break
        if side in clean or value == now:
            continue
        after = assess(case.with_values({part: value}))
        if after.errors:
            continue
        if not _warned(after):
            clean.add(side)
            found[side] = value
        elif side not in found:
            found[side] = value
            last = min(last, tried + CLEANER)
    preset = repairs.preset_number(hunt.config, part) if part in hunt.forced else None
    if preset is not None and preset not in found.values() and _fits(hunt, part, preset):
        found["preset"] = preset
    return list(found.values())


def _side(now: object, value: object) -> str:
    if value is None:
        return "out"
    if not isinstance(now, int) or not isinstance(value, int):
        return "own"
    return "below" if value < now else "above"


def _fits(hunt: Hunt, part: str, value: int) -> bool:
    low, high = hunt.bounds(part)
    return low <= value <= high and not assess(hunt.case.with_values({part: value})).errors


# --- several fields ---


class _Trial:
    """Changes of just these parts that work, the smallest first."""

    def __init__(self, hunt: Hunt, effort: list[int]) -> None:
        self.hunt, self.effort = hunt, effort
        self.works: list[tuple[float, dict[str, Any]]] = []
        self._known: dict[tuple[str, ...], tuple[Space, dict[str, float]]] = {}

    def run(self, parts: tuple[str, ...], most: float, far: bool) -> None:
        """Try these parts; `most` is the cost that is not exceeded, `far` jumps instead of creeping."""
        self._most, self._far = most, far
        if parts not in self._known:  # the same ones come again with every radius
            self._at = Space(self.hunt.case, self.hunt.rules, parts)
            self._known[parts] = (self._at, {part: self._least(part) for part in parts})
        self._at, self._rest = self._known[parts]
        if far or sum(self._rest.values()) <= self._limit():
            self._go(parts if far else self._tightest_first(parts, self._rest), {}, 0.0)

    def _limit(self) -> float:
        return min(self._most, self.works[-1][0] if len(self.works) >= MOST else self._most)

    def _least(self, part: str) -> float:
        """The least that a change of the part can cost, by the rules that depend on it alone."""
        first = next((v for v in self.hunt.options(self._at, part) if v != self.hunt.case.values[part]), NOTHING)
        if first is NOTHING:
            return 0.0 if part == space.DEVICES else float("inf")
        return self.hunt.cost(part, first)

    def _tightest_first(self, parts: tuple[str, ...], least: dict[str, float]) -> tuple[str, ...]:
        """What has the farthest to go leaves the least room to the others."""
        last = {space.DEVICES: 2, **dict.fromkeys(OPTIONAL, 1)}
        return tuple(sorted(parts, key=lambda part: (last.get(part, 0), -least[part])))

    def _go(self, parts: tuple[str, ...], changes: dict[str, Any], cost: float) -> None:
        part, rest = parts[0], parts[1:]
        now, to_come = self.hunt.case.values[part], sum(self._rest[other] for other in rest)
        sides: set[str] = set()
        for value in self._values(part, rest):
            whole = cost + self.hunt.cost(part, value)
            if self.effort[0] <= 0 or (whole + to_come > self._limit() and not (rest and self._far)):
                break
            self.effort[0] -= 1
            if value == now:
                continue
            if rest:
                self._at.put(part, value)
                self._go(rest, {**changes, part: value}, whole)
                self._at.release(part)
            elif self._keep({**changes, part: value}, whole):
                sides.add(_side(now, value))
            if {"below", "above"} <= sides or "own" in sides:
                break

    def _values(self, part: str, rest: tuple[str, ...]) -> Iterator[Any]:
        options = self.hunt.options(self._at, part)
        if part in self.hunt.forced and not self._at.matters(part):
            return islice((value for value in options if value is not None), 1)  # one right value is as good as another
        return self.hunt.far_options(self._at, part, 24 if len(rest) == 1 else 6) if rest and self._far else options

    def _keep(self, changes: dict[str, Any], cost: float) -> bool:
        if changes in (known for _, known in self.works) or assess(self.hunt.case.with_values(changes)).errors:
            return False
        self.works.append((cost, changes))
        self.works.sort(key=lambda entry: entry[0])
        del self.works[MOST:]
        return True


def _several(hunt: Hunt, size: int, far: bool, effort: int) -> list[dict[str, Any]]:
    """Changes of `size` fields that work, smallest change first; `far` looks farther off too. Tried where no smaller do."""
    free = [part for part in hunt.parts if part not in hunt.forced]
    sets = [
        _in_order(hunt.forced | set(more))
        for more in combinations(free, size - len(hunt.forced))
        if all(read & (hunt.forced | set(more)) for read in hunt.readers)
    ]
    trial = _Trial(hunt, [effort])
    for radius in RADII if size < 4 else ():
        for parts in sets:
            trial.run(parts, radius, far=False)
        if trial.works:
            break
    if far and not trial.works:
        trial.effort[0] = min(effort, FAR_EFFORT)
        for parts in sets:
            for order in (parts, (*parts[1:-1], parts[-1], parts[0])) if parts[-1] != space.DEVICES else (parts,):
                trial.run(order, float("inf"), far=True)
    return [changes for _, changes in trial.works]


def _in_order(parts: Iterable[str]) -> tuple[str, ...]:
    """Numbers first, what can be left out after them, the list of GPUs last: it follows from the others."""
    return tuple(sorted(parts, key=lambda part: (part == space.DEVICES, part in OPTIONAL, TUNABLE.index(part))))


def _all_back(config: RunConfig, judge: Callable[[RunConfig], tuple[Case, Mapping[str, Any]]]) -> tuple[Fix, ...]:
    """Where no few changes help: every number of the batch and the launch as the preset has it."""
    base = config.baseline()
    parts = {config.recipe.part(part) for part in TUNABLE}
    keys = [key for key in config.changed() if key in parts or config.settings[key].problem]
    changes = {key: repairs.preset_value(config, key) for key in keys}
    if not changes or any(base.settings[key].problem for key in keys):
        return ()
    case, asked = judge(repairs.applied(config, changes))
    listed_gpus = changes.get(config.recipe.part(space.DEVICES))
    if not judge(config)[0].may_list(listed_gpus):
        return ()
    return () if asked or assess(case).errors else (as_fix(config, changes),)


def as_fix(config: RunConfig, changes: Mapping[str, Any]) -> Fix:
    """Changes as a fix that says them in words."""
    return Fix(dict(changes), listed(_words(config, key, value) for key, value in changes.items()))


def _words(config: RunConfig, key: str, value: object) -> str:
    field, setting = config.recipe.by_key[key], config.settings[key]
    if value is None:
        return t("leave out {label}", label=field.label)
    unreadable = setting.problem and setting.value is None
    old = values.quote(setting.text) if unreadable and setting.text else config.text(key) or "–"
    return t("{label} {old} → {new}", label=field.label, old=old, new=values.show(field, value))
