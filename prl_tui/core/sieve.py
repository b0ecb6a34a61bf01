"""A quick no for the search of fixes: says no only where a rule is surely broken; what passes is checked in full.

It works on a plain dict in place, so that a candidate costs about a microsecond. A property test holds it against
`assess` (tests/core/test_fixes.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from prl_tui.core import devices
from prl_tui.core.assess import Case, numbers

Values = dict[str, Any]
Rule = Callable[[Values], bool]


class Sieve:
    """Tries changes of one case, one after the other."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._values: Values = dict(case.values)
        self._followers = [(part, source) for part, source in case.followers.items()]
        self._evaluates = numbers(case).eval_on
        self._rule: Rule = {"grpo": self._grpo, "global": _global, "minionerec-sft": _two_floors}.get(case.rule, _any)

    def may_pass(self, changes: Mapping[str, Any]) -> bool:
        """False where these changes surely leave a rule broken."""
        values = self._values
        touched = dict(changes)
        for part, source in self._followers:
            if source in changes and part not in changes:
                touched[part] = changes[source]
        before = {part: values[part] for part in touched}
        values.update(touched)
        try:
            return self._fits(values) and self._rule(values)
        except (TypeError, ZeroDivisionError):  # an unreadable or senseless value: only the full check can tell
            return True
        finally:
            values.update(before)

    def _fits(self, values: Values) -> bool:
        nproc = values.get("nproc_per_node")
        if not self._case.needs_gpu or nproc is None:
            return True
        visible = devices.read(values.get("cuda_visible_devices"), self._case.node_gpus).count
        if visible is not None and nproc > visible:
            return False
        workers = values.get("num_infer_workers")
        generates = values.get("use_vllm") or values.get("use_lmdeploy")
        return not (self._case.stack.infer_workers and generates and workers is not None and workers > nproc)

    def _grpo(self, values: Values) -> bool:
        stack, generations = self._case.stack, values.get("num_generations")
        if generations is None:
            return True
        world = values["nproc_per_node"] * (values.get("nnodes") or 1)
        step = batch = values["per_device_train_batch_size"] * world
        if stack.accumulation_counts:
            given, repeat = values.get("generation_batch_size"), values.get("steps_per_generation")
            if given is not None:
                if given % step:
                    return False
                batch = given
            else:
                repeat = values.get("gradient_accumulation_steps") if repeat is None else repeat
                if repeat is None:
                    return True
                batch = step * repeat
        if generations < 2 or batch % generations:
            return False
        return not self._evaluates or self._evaluation(values, world, generations)

    def _evaluation(self, values: Values, world: int, generations: int) -> bool:
        each = values.get("per_device_eval_batch_size")
        if each is None:
            return True
        if self._case.stack.generations_eval and values.get("num_generations_eval"):
            generations = values["num_generations_eval"]
        return bool((each * world) % generations == 0)


def _global(values: Values) -> bool:
    step = values["per_device_train_batch_size"] * values["nproc_per_node"] * (values.get("nnodes") or 1)
    return bool(step > 0 and values["global_batch_size"] % step == 0)


def _two_floors(values: Values) -> bool:
    micro, world = values["micro_batch_size"], values["nproc_per_node"] * (values.get("nnodes") or 1)
    return bool(min(micro, world) > 0 and values["batch_size"] // micro // world > 0)


def _any(values: Values) -> bool:  # noqa: ARG001
    return True
