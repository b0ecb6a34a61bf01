"""How many optimizer steps a run will take, from the rows of its data.

Formulas by stack; the judges are committed runs and the trainers' own samplers (tests/core/test_judges.py, test_steps_counted.py).
"""

from __future__ import annotations

from math import ceil

from prl_tui.core.batch import RESTARTS, Batch, Numbers, batches
from prl_tui.core.stacks import Stack
from prl_tui.core.value import Value

EPOCHS = ("num_train_epochs", "num_epochs", "epochs")
"""Fields that say how many passes over the data there are; the first one that a recipe has counts."""

MAX_STEPS = "max_steps"
"""The field that ends a run after so many optimizer steps, whatever the epochs say."""


class Schedule(Value):
    """The fields that set how long a run goes on and what it does on the way."""

    epochs: float | None = None
    max_steps: int | None = None
    iterations: int = 1
    """Optimizer passes over one generation (GRPO)."""
    save_steps: int | None = None
    eval_steps: int | None = None
    evaluates: bool = False
    """The program evaluates by its interval alone, without a strategy that turns it on."""
    saving: str = "steps"
    """`steps`, `epoch` or `no`."""
    evaluating: str = "steps"


class Steps(Value):
    """The length of a run in optimizer steps."""

    rows: int | None
    per_epoch: int | None
    total: int | None
    saves: int | None = None
    """Checkpoints before the end; the last step always saves."""
    evaluations: int | None = None
    generations_per_step: int | None = None
    logged: int | None = None
    """The last step by the program's own count, where its log tells no total: Safe-MM-DPO counts micro-batches."""


def estimate(
    rule: str, stack: Stack, numbers: Numbers, batch: Batch, schedule: Schedule, rows: int | None
) -> Steps | None:
    """The steps of a run, or None where neither the rows nor max_steps are known."""
    per_epoch = _per_epoch(rule, stack, numbers, batch, schedule, rows) if rows is not None else None
    total = schedule.max_steps if schedule.max_steps and schedule.max_steps > 0 else None
    if total is None and per_epoch is not None and schedule.epochs is not None:
        total = ceil(per_epoch * schedule.epochs)
    if total is None and per_epoch is None:
        return None
    evaluates = numbers.eval_on or (schedule.evaluates and schedule.eval_steps)
    return Steps(
        rows,
        per_epoch,
        total,
        _times(schedule.saving, total, schedule.save_steps, per_epoch),
        _times(schedule.evaluating, total, schedule.eval_steps, per_epoch) if evaluates else 0,
        batch.global_batch if rule == "grpo" else None,
        _logged(rule, batch, schedule, rows),
    )


def _logged(rule: str, batch: Batch, schedule: Schedule, rows: int | None) -> int | None:
    if rule != "mmdpo-dpo" or not rows or not batch.world or not batch.per_device or not schedule.epochs:
        return None
    return int(batches(rows, batch.world, batch.per_device) * schedule.epochs)


def _times(strategy: str, total: int | None, every: int | None, per_epoch: int | None) -> int | None:
    """How often something happens; an epoch that max_steps ends early counts as one (transformers' flow callback)."""
    if strategy == "no":
        return 0
    if strategy == "epoch":
        return ceil(total / per_epoch) if total is not None and per_epoch else None
    if total is None or not every or every < 1:
        return None
    return total // every


def _per_epoch(rule: str, stack: Stack, n: Numbers, batch: Batch, schedule: Schedule, rows: int) -> int | None:
    world, accumulation = batch.world or 0, batch.accumulation or 1
    if min(world, batch.per_device or 0, accumulation, n.sequence_parallel, rows) < 1 or not batch.per_device:
        return None
    if rule != "grpo" or (n.generations == 1 and stack.accumulation_counts):
        # One answer each: an epoch of plain data parallelism, in which sequence parallel ranks share their rows.
        ranks = max(1, world // n.sequence_parallel)
        if rule in RESTARTS:
            return batches(rows, world, batch.per_device) // accumulation
        return max(1, ceil(ceil(rows / (batch.per_device * ranks)) / accumulation))
    step = batch.per_device * world
    if not n.generations or not batch.generation_batch or n.generations < 1:
        return None
    if not stack.accumulation_counts:
        return max(1, ceil(ceil(rows * n.generations * schedule.iterations / step) / accumulation))
    prompts = batch.generation_batch // n.generations
    micro = (rows // prompts) * (batch.generation_batch // step) * schedule.iterations if prompts else 0
    return ceil(micro / accumulation) if micro else None
