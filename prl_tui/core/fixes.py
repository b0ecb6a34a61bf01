"""The nearest changes that satisfy every rule at once: fewest fields first, then the smallest change."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from prl_tui.core.assess import Assessment, Case, assess
from prl_tui.core.config import RunConfig
from prl_tui.core.findings import Fix
from prl_tui.core.sieve import Sieve
from prl_tui.i18n import t

MOST = 4
"""How many fixes are offered."""

# In the order in which a person would rather change them.
TUNABLE = (
    "num_generations", "per_device_train_batch_size", "per_device_eval_batch_size", "num_generations_eval",
    "global_batch_size", "batch_size", "train_batch_size", "micro_batch_size", "steps_per_generation",
    "generation_batch_size", "gradient_accumulation_steps", "num_infer_workers", "vllm_tensor_parallel_size",
    "nproc_per_node", "cuda_visible_devices",
)  # fmt: skip


TRAIN = {"num_generations", "per_device_train_batch_size", "nproc_per_node"}
COUNTED = {"gradient_accumulation_steps", "steps_per_generation", "generation_batch_size"}
EVALUATION = {"num_generations", "num_generations_eval", "per_device_eval_batch_size", "nproc_per_node"}
PLACES = {"nproc_per_node", "cuda_visible_devices"}
SINGLE_BATCH = {"batch_size", "micro_batch_size", "nproc_per_node", "gradient_accumulation_steps", "train_batch_size"}

INVOLVED: dict[str, set[str]] = {
    "num-generations-divides": TRAIN | COUNTED,
    "num-generations-min": TRAIN | COUNTED,
    "eval-batch-divides": EVALUATION,
    "eval-rows": EVALUATION,
    "steps-per-generation-positive": {"steps_per_generation"},
    "generation-batch-divides": {"generation_batch_size", "per_device_train_batch_size", "nproc_per_node"},
    "generation-batch-agrees": COUNTED | {"per_device_train_batch_size", "nproc_per_node"},
    "generation-batch-and-steps": {"generation_batch_size", "steps_per_generation"},
    "global-batch-divides": {"global_batch_size", "per_device_train_batch_size", "nproc_per_node"},
    "total-batch-too-small": SINGLE_BATCH,
    "accumulation-zero": SINGLE_BATCH,
    "deepspeed-triple": SINGLE_BATCH,
    "sequence-parallel-exceeds": {"nproc_per_node"},
    "tensor-parallel-divides": {"vllm_tensor_parallel_size", "nproc_per_node"},
    "infer-workers-exceed-processes": {"num_infer_workers", "nproc_per_node"},
}
"""Which fields a rule reads; the GPU rules read PLACES."""


NEAR = 2048
"""How far from a value its neighbours are tried one by one."""

OPTIONAL = {"steps_per_generation", "generation_batch_size", "num_generations_eval"}
"""Fields that can be left out."""


def search(config: RunConfig, case: Case, found: Assessment) -> tuple[Fix, ...]:
    """Fixes for the broken rules; empty where nothing is broken or no change of up to three fields helps."""
    if not found.errors:
        return ()
    parts = [part for part in TUNABLE if part in case.values and part not in case.fixed]
    readers = [_involved(case, violation.code) for violation in found.violations if violation.severity == "error"]
    alone = set.intersection(*readers)
    single = _single(config, case, found, [part for part in parts if part in alone])
    if single:
        return tuple(_fix(config, {part: value}) for _, part, value in single[:MOST])
    together = set.union(*readers)
    for size in (2, 3):
        several = _several(config, case, found, [part for part in parts if part in together], size)
        if several:
            return tuple(_fix(config, changes) for _, changes in several[:MOST])
    return ()


def _involved(case: Case, code: str) -> set[str]:
    """The fields that a rule reads, and those that these follow."""
    read = INVOLVED.get(code, PLACES)
    return read | {source for part, source in case.followers.items() if part in read}


def _single(config: RunConfig, case: Case, found: Assessment, parts: list[str]) -> list[tuple[float, str, Any]]:
    """Every single-field change that works: the nearest below and above, nearest first."""
    works = []
    for rank, part in enumerate(parts):
        below, above = _nearest_working(config, case, found, part)
        for value in (below, above):
            if value is not None:
                works.append((_cost(case.values[part], value) + rank / 100, part, value))
    works.sort(key=lambda entry: entry[0])
    return works


def _nearest_working(config: RunConfig, case: Case, found: Assessment, part: str) -> tuple[Any, Any]:
    below: Any = None
    above: Any = None
    now = case.values[part]
    sieve = Sieve(case)
    for value in _candidates(config, case, found, part):
        lower = isinstance(value, int) and isinstance(now, int) and value < now
        if (below if lower else above) is not None:
            continue
        changes = {part: value}
        if sieve.may_pass(changes) and not assess(case.with_values(changes)).errors:
            if lower:
                below = value
            else:
                above = value
        if below is not None and above is not None:
            break
    return below, above


def _candidates(config: RunConfig, case: Case, found: Assessment, part: str) -> Iterator[Any]:
    """Values to try for a part, nearest first, inside the field's bounds."""
    now = case.values[part]
    if part == "cuda_visible_devices":
        yield from _device_lists(case, found)
        return
    field = config.recipe.by_key[config.recipe.part(part)]
    if part in OPTIONAL and now is not None:
        yield None
    if not isinstance(now, int) and not config.settings[field.key].problem:
        return  # a field that nobody set is not offered
    low = max(1, int(field.min or 1))
    start = now if isinstance(now, int) else low
    most = max(64, found.batch.generation_batch or 0, found.batch.eval_batch or 0)
    high = int(min(field.max if field.max is not None else 1 << 20, start + max(most, start)))
    if part == "nproc_per_node" and case.node_gpus:
        high = min(high, max(case.node_gpus, 1))
    for distance in range(0 if now is None else 1, min(max(high - start, start - low), NEAR) + 1):
        for value in {start - distance, start + distance}:
            if low <= value <= high:
                yield value
    if start - low > NEAR:  # far off: the largest values that can work at all
        yield from range(min(start - NEAR - 1, most, NEAR, high), low - 1, -1)


def _device_lists(case: Case, found: Assessment) -> Iterator[str]:
    """The first N GPUs, N being what the processes need."""
    nproc = found.numbers.nproc
    if not nproc or (case.node_gpus is not None and nproc > case.node_gpus):
        return
    workers = case.values.get("num_infer_workers")
    yield ",".join(str(index) for index in range(nproc))
    if isinstance(workers, int) and workers > 0 and case.stack.infer_workers:
        yield ",".join(str(index) for index in range(nproc + workers))


def _several(
    config: RunConfig, case: Case, found: Assessment, parts: list[str], size: int
) -> list[tuple[float, dict[str, Any]]]:
    """Changes of `size` fields that work, smallest change first. Tried only where no smaller one does."""
    near = {part: _nearby(config, case, found, part, 6 if size == 2 else 3) for part in parts}
    works: list[tuple[float, dict[str, Any]]] = []
    sieve = Sieve(case)
    for chosen in combinations([part for part in parts if near[part]], size):
        for changes in _grid(near, chosen):
            cost = sum(_cost(case.values[part], value) for part, value in changes.items())
            if len(works) >= MOST and cost >= works[-1][0]:
                continue
            if sieve.may_pass(changes) and not assess(case.with_values(changes)).errors:
                works.append((cost, changes))
                works.sort(key=lambda entry: entry[0])
                del works[MOST:]
    return works


def _nearby(config: RunConfig, case: Case, found: Assessment, part: str, most: int) -> list[Any]:
    values = []
    for value in _candidates(config, case, found, part):
        values.append(value)
        if len(values) == most:
            break
    return values


def _grid(near: dict[str, list[Any]], parts: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    if not parts:
        yield {}
        return
    for value in near[parts[0]]:
        for rest in _grid(near, parts[1:]):
            yield {parts[0]: value, **rest}


def _cost(now: object, value: object) -> float:
    """How far a change is; of two equal ones the lower value comes first."""
    if value is None:
        return 0.5
    if isinstance(now, int) and isinstance(value, int):
        return abs(now - value) + (0.001 if value > now else 0)
    return 1.5


def _fix(config: RunConfig, changes: dict[str, Any]) -> Fix:
    keys = {config.recipe.part(part): value for part, value in changes.items()}
    words = [_words(config, key, value) for key, value in keys.items()]
    return Fix(keys, t(", ").join(words))


def _words(config: RunConfig, key: str, value: object) -> str:
    label = config.recipe.by_key[key].label
    if value is None:
        return t("leave out {label}", label=label)
    return t("{label} {old} → {new}", label=label, old=config.text(key) or "–", new=value)
