"""What the judges were found to do, as small predicates; check_rules.py holds them against every row.

Each returns the reason of the refusal, or "" where the run would start. The order of the tests is the order in
which the program's own errors fire.
"""

from __future__ import annotations

import math
from typing import Any

Case = dict[str, Any]


def _evaluates(c: Case) -> bool:
    """Is there an evaluation? Without validation data ms-swift switches it off, whatever was asked."""
    return bool(c["val"]) and c["eval"] != "no"


def swift46(c: Case) -> str:
    """ms-swift 4.4 to 4.6. The world is never divided by sequence_parallel_size."""
    unit = c["bs"] * c["world"]
    spg, gbs, ng = c["spg"], c["gbs"], c["ng"]
    ga = 1 if c["ga"] is None else c["ga"]
    if spg is None and gbs is None:
        spg = ga
    if gbs is not None and spg is None:
        if unit == 0:
            return "zero-division"
        if gbs % unit:
            return "generation-batch-not-a-multiple"
        spg = gbs // unit
    elif gbs is not None and gbs != unit * spg:
        return "generation-batch-disagrees"
    gbs = unit * spg
    if spg <= 0:
        return "steps-per-generation"
    if ng > 1:
        if gbs % ng:
            return "train"
        if _evaluates(c) and (c["ebs"] * c["world"]) % (c["nge"] or ng):
            return "eval"
    if ng == 1:
        return "too-few"
    return _swift46_trainer(c, gbs, c["nge"] or ng)


def _swift46_trainer(c: Case, gbs: int, nge: int) -> str:
    """What the trainer adds to the arguments' checks."""
    if c["sp"] > c["world"]:
        return "sequence-parallel"
    if gbs < 0:
        return "negative"
    if _evaluates(c):
        if nge == 0:
            return "zero-division"
        if c["val"] < c["ebs"] * c["world"] // nge:
            return "eval-rows"
    if c["ng"] == 0:
        return "zero-division"
    return "batch-zero" if gbs == 0 else ""


def swift33(c: Case) -> str:
    """ms-swift 3.2 to 3.3, PRL and TRL 0.15 to 0.16: accumulation never helps, and 0 and 1 divide nothing."""
    train, held_out = c["bs"] * c["world"], c["ebs"] * c["world"]
    if c["ga"] is not None and train * c["ga"] < 0:
        return "negative"
    if c["ng"] < 2 or train < 2 or train % c["ng"]:
        return "train"
    if _evaluates33(c) and (held_out < 2 or held_out % c["ng"]):
        return "eval"
    return ""


def _evaluates33(c: Case) -> bool:
    """Below ms-swift 3.6 a hundredth of the rows is split off where the ratio is not given (val null)."""
    return c["val"] != 0 and c["eval"] != "no"


def swift35(c: Case) -> str:
    """ms-swift 3.5 with TRL 0.19: TRL's dataclass speaks first, and asks for no validation data before its rule."""
    unit, spg, gbs = c["bs"] * c["world"], c["spg"], c["gbs"]
    if gbs is not None and spg is not None:
        return "both"
    ga = default_accumulation(c) if c["ga"] is None else c["ga"]
    gbs = unit * (ga if spg is None else spg) if gbs is None else gbs
    if unit == 0:
        return "zero-division"
    if gbs % unit:
        return "generation-batch-not-a-multiple"
    if c["ng"] < 2:
        return "too-few"
    if gbs < 2 or gbs % c["ng"]:
        return "train"
    held_out = c["ebs"] * c["world"]
    if c["eval"] != "no" and (held_out < 2 or held_out % c["ng"]):
        return "eval"
    return ""


def default_accumulation(c: Case) -> int:
    """ms-swift below 3.7: as many micro-batches as make 16 samples (1 for GRPO since)."""
    return max(1, -(-16 // (c["bs"] * c["world"])))


def deepspeed(c: Case) -> tuple[str, tuple[int, int, int] | None]:
    """The reason, and the completed (train batch, micro batch, accumulation) where it is accepted."""
    world, batch, micro, steps = c["world"], c["train_batch"], c["micro_batch"], c["accumulation"]
    if "auto" in (batch, micro, steps):
        return "not-a-number", None
    if batch is None and micro is None:
        return "missing", None
    if batch is not None and micro is None and steps is None:
        micro, steps = batch // world, 1
    elif batch is not None and steps is None:
        if micro == 0:
            return "zero-division", None
        steps = batch // micro // world
    elif batch is not None and micro is None:
        if steps == 0:
            return "zero-division", None
        micro = batch // world // steps
    elif batch is None:
        steps = 1 if steps is None else steps
        batch = micro * steps * world
    for name, number in (("train-batch", batch), ("micro-batch", micro), ("accumulation", steps)):
        if number <= 0:
            return name, None
    return ("", (batch, micro, steps)) if batch == micro * steps * world else ("product", None)


def steps46(c: Case) -> tuple[int, int, int] | None:
    """(dataloader batches, optimizer steps an epoch, in all) of ms-swift 3.3.1 and later; None: no step can be made."""
    unit = c["bs"] * c["world"]
    spg = c["spg"] or (c["gbs"] // unit if c["gbs"] else c["ga"])
    prompts = unit * spg // c["ng"]
    batches = c["rows"] // prompts * spg * c["ni"] * c["sp"]
    if batches == 0:
        return None
    per_epoch = math.ceil(batches / (c["ga"] * c["sp"]))
    return batches, per_epoch, math.ceil(c["epochs"] * per_epoch)


def steps33(c: Case) -> tuple[int, int, int] | None:
    """The same for ms-swift 3.2 and 3.3, PRL and TRL 0.16: the last, smaller batch is kept."""
    batches = math.ceil(c["rows"] * c["ng"] * c["ni"] / (c["bs"] * c["world"]))
    per_epoch = max(batches // c["ga"], 1)
    return batches, per_epoch, math.ceil(c["epochs"] * per_epoch)


def trainer(c: Case) -> tuple[int | None, int | None]:
    """(steps an epoch, steps in all) of transformers' Trainer under MiniOneRec's accumulation; None where that is 0."""
    steps = c["batch"] // c["micro"] // c["world"]
    if steps == 0:
        return None, None
    per_epoch = max(math.ceil(math.ceil(c["rows"] / (c["micro"] * c["world"])) / steps), 1)
    return per_epoch, math.ceil(c["epochs"] * per_epoch)
