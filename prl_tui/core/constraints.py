"""The rules of a case once more, as products that must divide or cover each other.

`assess` judges; this only says where a value can lie at all, so that the search for fixes steps over what cannot
work. A constraint never refuses what the rules allow: a property test holds it against `assess`
(tests/core/test_fixes.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from prl_tui.core.assess import RANKS, Case, numbers, spread_engine

Guard = tuple[str, Literal["none", "set", "many"]]
"""A part and what it must be: not set, set, or more than 1."""

VISIBLE = "visible"
"""A part of its own: how many GPUs the ranks see."""

WORLD = ("nproc_per_node", "nnodes")


class Constraint(NamedTuple):
    """The product of `whole` is a multiple of the product of `of`, or at least that and `extra`."""

    kind: Literal["multiple", "covers"]
    whole: tuple[str, ...]
    of: tuple[str, ...]
    guards: tuple[Guard, ...] = ()
    """Holds only where all of these do."""
    extra: int = 0


def of_case(case: Case) -> list[Constraint]:
    """Every rule of a case that can be said like this."""
    makers = {"grpo": _grpo, "global": _global, "minionerec-sft": _two_floors, "total": _total, "deepspeed": _triple}
    made = makers.get(case.rule)
    several_nodes = Constraint("covers", ("nnodes",), ("node_rank",), extra=1)
    ranks = [Constraint("covers", WORLD, (part,), extra=1) for part in RANKS if part in case.values]
    together = Constraint("multiple", WORLD, ("sequence_parallel_size",))
    return [*(made(case) if made else ()), together, *_placement(case), several_nodes, *ranks]


def _grpo(case: Case) -> Iterator[Constraint]:
    stack, step = case.stack, ("per_device_train_batch_size", *WORLD)
    if stack.accumulation_counts:
        yield from _generation_batch(step, stack.both_given == "agree")
    else:
        yield Constraint("multiple", step, ("num_generations",))
    if not numbers(case).eval_on:
        return
    batch = ("per_device_eval_batch_size", *WORLD)
    own: list[tuple[str, tuple[Guard, ...]]] = [("num_generations", ())]
    if stack.generations_eval:
        own = [
            ("num_generations", (("num_generations_eval", "none"),)),
            ("num_generations_eval", (("num_generations_eval", "set"),)),
        ]
    for part, guards in own:
        yield Constraint("multiple", batch, (part,), guards)
        if stack.eval_rows_rule:
            yield Constraint("covers", (part, "val_rows"), batch, guards)


def _generation_batch(step: tuple[str, ...], agree: bool) -> Iterator[Constraint]:
    """Where the accumulation counts: three fields may say how many micro-steps share one generation."""
    given, repeat = "generation_batch_size", "steps_per_generation"
    batches: list[tuple[tuple[str, ...], tuple[Guard, ...]]] = [
        ((*step, "gradient_accumulation_steps"), ((given, "none"), (repeat, "none"))),
        ((*step, repeat), ((given, "none"), (repeat, "set"))),
        ((given,), ((given, "set"),)),
    ]
    for batch, guards in batches:
        yield Constraint("multiple", batch, ("num_generations",), guards)
        yield Constraint("covers", ("num_generations", "rows"), batch, guards)
    yield Constraint("multiple", (given,), step, ((given, "set"),))
    if agree:
        both: tuple[Guard, ...] = ((given, "set"), (repeat, "set"))
        yield Constraint("multiple", (given,), (*step, repeat), both)
        yield Constraint("multiple", (*step, repeat), (given,), both)


def _global(_case: Case) -> Iterator[Constraint]:
    yield Constraint("multiple", ("global_batch_size",), ("per_device_train_batch_size", *WORLD))


def _two_floors(case: Case) -> Iterator[Constraint]:
    yield Constraint("covers", (case.train_part,), ("micro_batch_size", *WORLD))


def _total(case: Case) -> Iterator[Constraint]:
    yield Constraint("covers", (case.train_part,), WORLD)


def _triple(case: Case) -> Iterator[Constraint]:
    product = ("micro_batch_size", "gradient_accumulation_steps", *WORLD)
    yield Constraint("multiple", (case.train_part,), product)
    yield Constraint("multiple", product, (case.train_part,))


def _placement(case: Case) -> Iterator[Constraint]:
    """Processes, workers and visible GPUs; `layout` has the rules themselves."""
    if not case.needs_gpu:
        return
    stack, visible, processes = case.stack, (VISIBLE,), ("nproc_per_node",)
    vllm = bool(case.values.get("use_vllm"))
    generates = vllm or bool(case.values.get("use_lmdeploy"))
    yield Constraint("covers", visible, processes)
    if stack.infer_workers and generates:
        workers = ("num_infer_workers",)
        yield Constraint("covers", processes, workers)
        spread: tuple[Guard, ...] = (("tensor_parallel_size", "many"), ("num_infer_workers", "set"))
        yield Constraint("covers", processes, visible, spread)
        yield Constraint("covers", workers, visible, spread)
        return
    if stack.vllm_needs_one_each and case.rule == "grpo" and vllm:
        yield Constraint("covers", processes, visible)
    elif case.swift and not generates:
        yield Constraint("multiple", visible, processes)
        if case.values.get("deepspeed"):
            yield Constraint("covers", processes, visible)
    if spread_engine(case):
        yield Constraint("multiple", WORLD, ("vllm_tensor_parallel_size",))
