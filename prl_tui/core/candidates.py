"""What the search for fixes may try: which fields change, their bounds, and values for them, the nearest first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from prl_tui.core import constraints, repairs, space
from prl_tui.core.assess import RANKS, Case
from prl_tui.core.config import RunConfig
from prl_tui.core.space import Space

# In the order in which a person would rather change them.
TUNABLE = (
    "num_generations", "per_device_train_batch_size", "per_device_eval_batch_size", "num_generations_eval",
    "global_batch_size", "batch_size", "train_batch_size", "micro_batch_size", "steps_per_generation",
    "generation_batch_size", "gradient_accumulation_steps", "num_infer_workers", "vllm_tensor_parallel_size",
    "tensor_parallel_size", "sequence_parallel_size", "async_generate", "fail_rank", "hang_rank", "node_rank", "nproc_per_node", "nnodes",
    "cuda_visible_devices",
)  # fmt: skip

OPTIONAL = {"steps_per_generation", "generation_batch_size", "num_generations_eval", "tensor_parallel_size"}
"""Fields that can be left out."""

FROM_ZERO = {"node_rank", *RANKS}

LISTED = 1024
"""The longest list of GPUs that is written out."""


class Hunt(NamedTuple):
    """What a search works on: the case, its rules as constraints, and which parts may and must change."""

    config: RunConfig
    case: Case
    rules: list[constraints.Constraint]
    parts: list[str]
    """The parts that may change, in the order of TUNABLE."""
    forced: frozenset[str]
    readers: list[set[str]]
    """For each broken rule the parts of which one must change."""
    known: dict[str, tuple[int, int, int]]
    """What was asked before: the bounds of a part and its origin, which a search needs ten thousand times."""
    processes: int
    """The processes for which the config has GPUs; 0 where it does not say."""
    more: bool = False
    """More processes may be asked for than that."""

    def with_more_processes(self) -> Hunt:
        """The same search where more processes may be asked for than the config has GPUs for."""
        return self._replace(known={}, more=True)

    def fewer_processes(self, changes: Mapping[str, Any]) -> bool:
        """A change leaves GPUs idle that the config has."""
        return "nproc_per_node" in changes and changes["nproc_per_node"] < self.processes

    def bounds(self, part: str) -> tuple[int, int]:
        """The least and the greatest value of a whole number."""
        return self._numbers(part)[:2]

    def origin(self, part: str) -> int:
        """Where a change starts: the value as it is, or the bound that it oversteps, else the preset's."""
        return self._numbers(part)[2]

    def _numbers(self, part: str) -> tuple[int, int, int]:
        if part not in self.known:
            least, high = self._bounds(part)
            self.known[part] = (least, high, self._origin(part, least, high))
        return self.known[part]

    def _bounds(self, part: str) -> tuple[int, int]:
        field = self.config.recipe.by_key[self.config.recipe.part(part)]
        least = 0 if part in FROM_ZERO else 2 if part == "num_generations" and self.case.rule == "grpo" else 1
        high = int(field.max) if field.max is not None else 1 << 20
        if part == "nproc_per_node" and self.case.node_gpus and self.case.needs_gpu:
            high = min(high, self.case.node_gpus)
        if part == "nproc_per_node" and self.processes and not self.more:
            high = min(high, self.processes)
        least = max(least, int(field.min) if field.min is not None else least)
        return -(-least // field.multiple) * field.multiple, high // field.multiple * field.multiple

    def within(self, place: Space, part: str) -> space.Range | None:
        """Where a whole number can lie, inside the field's bounds and what the rules allow."""
        step = self.config.recipe.by_key[self.config.recipe.part(part)].multiple
        return place.within(part, *self.bounds(part), step)

    def options(self, place: Space, part: str) -> Iterator[Any]:
        """Values to try for a part, nearest first, inside the field's bounds and what the rules allow."""
        if part == space.DEVICES:
            yield from _device_lists(self.case, place.values)
            return
        if part == "async_generate":
            yield False
            return
        if part in OPTIONAL and (self.case.values[part] is not None or part in self.forced):
            yield None
        within = self.within(place, part)
        if within is not None:
            yield from within.nearest(self.origin(part))

    def far_options(self, place: Space, part: str, near: int) -> Iterator[Any]:
        """Some near values and then the preset's, powers of two and both ends: far off, creeping finds nothing."""
        found = list(islice(self.options(place, part), near))
        yield from found
        least, high = self.bounds(part)
        within = self.within(place, part) if part not in {space.DEVICES, "async_generate"} else None
        if within is None:
            return
        jumps = {least, high, *(1 << power for power in range(21)), repairs.preset_number(self.config, part) or least}
        start = self.origin(part)
        yield from sorted((n for n in jumps - set(found) if within.has(n)), key=lambda n: abs(n - start))

    def _origin(self, part: str, least: int, high: int) -> int:
        now = self.case.values[part]
        if isinstance(now, int):
            return now if part not in self.forced else min(max(now, least), high)
        meant = repairs.meant_number(self.config, part)
        return least if meant is None else meant

    def cost(self, part: str, value: object) -> float:
        """How far a change is; of two equal ones the lower value comes first."""
        if value is None:
            return 0.5
        if isinstance(value, bool) or not isinstance(value, int):
            return 1.5
        start = self.origin(part)
        return abs(start - value) + (0.001 if value > start else 0)


def _device_lists(case: Case, now: Mapping[str, Any]) -> Iterator[str | None]:
    """N GPUs, N being what the processes need; no list where none needs one."""
    if not case.needs_gpu:
        yield None
        return
    nproc, workers = now.get("nproc_per_node"), now.get("num_infer_workers")
    if not isinstance(nproc, int) or nproc < 1:
        return
    counts = [nproc]
    if isinstance(workers, int) and workers > 0 and case.stack.infer_workers:
        counts.append(nproc + workers)
    for count in counts:
        if case.gpu_order is not None:
            if count <= len(case.gpu_order):
                yield ",".join(map(str, sorted(case.gpu_order[:count])))
        elif count <= (LISTED if case.node_gpus is None else min(case.node_gpus, LISTED)):
            yield ",".join(map(str, range(count)))
