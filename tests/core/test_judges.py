"""Our verdicts beside those of the real trainers, row by row.

The rows were made by the programs' own classes (tests/judges/README.md says which, and how to make them again):
ms-swift 4.6.0 with TRL 0.29.1, ms-swift 3.5.3 with TRL 0.19.1, ms-swift 3.3.0 with TRL 0.16.1 (the rule of PRL's
fork), DeepSpeed 0.19.8. A number outside its field's bounds (0 samples, negative ones) is an error of the field.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prl_tui.core import stacks
from prl_tui.core.assess import Case, assess
from prl_tui.core.steps import Schedule, estimate

VERDICTS = Path(__file__).parent.parent / "fixtures" / "batch_verdicts"

Row = dict[str, Any]


def rows(name: str) -> Iterator[Row]:
    with gzip.open(VERDICTS / f"{name}.json.gz", "rt", encoding="utf-8") as file:
        data = json.load(file)
    for row in data["rows"]:
        yield dict(zip(data["columns"], row, strict=True))


def case_of(row: Row, stack: str, split_by_default: bool) -> Case:
    """A judge's row as the values that our rules read."""
    given = row["val"]
    values = {
        "nproc_per_node": row["world"],
        "nnodes": 1,
        "per_device_train_batch_size": row["bs"],
        "gradient_accumulation_steps": row["ga"],
        "num_generations": row["ng"],
        "per_device_eval_batch_size": row["ebs"],
        "eval_strategy": row["eval"],
        "split_dataset_ratio": 0.01 if split_by_default and given is None else 0,
        "val_dataset": "val.jsonl" if given else None,
        "val_rows": given or None,
        "steps_per_generation": row.get("spg"),
        "generation_batch_size": row.get("gbs"),
        "num_generations_eval": row.get("nge"),
        "sequence_parallel_size": row.get("sp", 1),
    }
    return Case("grpo", stacks.find(stack), values, swift=True)


LEAST = {"bs": 1, "ebs": 1, "ga": 1, "world": 1, "gbs": 1, "spg": 0}


def ours(row: Row, stack: str, split_by_default: bool) -> bool:
    in_bounds = all(row.get(name) is None or row[name] >= least for name, least in LEAST.items())
    return in_bounds and assess(case_of(row, stack, split_by_default)).errors == 0


JUDGES = [("swift46", "swift-4.4", False), ("swift35", "swift-3.5", True), ("swift33", "swift-3.3-prl", True)]


def explained(row: Row) -> bool:
    """Values that no person means, which a trainer happens to let through and we refuse: answers, evaluation batches
    or accumulations below 1. And ranks that are in no sequence parallel group: the judge is rank 0, which is in one; started
    as three ranks with sequence_parallel_size 2, ms-swift 4.6.0 ended with rank 2's IndexError in device_mesh.get_group.
    """
    left_over = row["world"] % (row.get("sp") or 1) != 0
    return row["accepted"] and (row["ng"] < 0 or row["ebs"] < 1 or row["ga"] == 0 or left_over)


@pytest.mark.parametrize(("name", "stack", "split"), JUDGES)
def test_every_verdict_is_the_trainers_own(name: str, stack: str, split: bool) -> None:
    every = list(rows(name))
    other = [row for row in every if ours(row, stack, split) != row["accepted"]]
    unexplained = [row for row in other if not explained(row)]
    assert not unexplained, (len(unexplained), unexplained[:5])
    assert len(other) <= 10
    assert len(every) >= (200 if name == "swift33" else 2000)


def test_steps_are_those_of_the_trainers_own_sampler() -> None:
    for row in rows("steps46"):
        values = {
            "nproc_per_node": row["world"],
            "per_device_train_batch_size": row["bs"],
            "gradient_accumulation_steps": row["ga"],
            "num_generations": row["ng"],
            "steps_per_generation": row["spg"],
            "generation_batch_size": row["gbs"],
            "sequence_parallel_size": row["sp"],
        }
        stack = stacks.find("swift-4.4")
        found = assess(Case("grpo", stack, values))
        schedule = Schedule(epochs=row["epochs"], iterations=row["ni"])
        steps = estimate("grpo", stack, found.numbers, found.batch, schedule, row["rows"])
        if row["exception"]:  # not enough rows for one generation batch: nothing to train on
            assert steps is None
        else:
            assert steps is not None
            assert (steps.per_epoch, steps.total) == (row["per_epoch"], row["total"]), row


def test_steps_of_the_old_rule_are_those_of_the_trainers_own_sampler() -> None:
    """transformers 4.51 rounds down where accumulation does not divide an epoch; since 4.52.4 it rounds up, and PRL's
    recorded environment has 4.56.2: only those rows differ."""
    for row in rows("steps33"):
        values = {
            "nproc_per_node": row["world"],
            "per_device_train_batch_size": row["bs"],
            "gradient_accumulation_steps": row["ga"],
            "num_generations": row["ng"],
        }
        stack = stacks.find("swift-3.3-prl")
        found = assess(Case("grpo", stack, values))
        steps = estimate(
            "grpo", stack, found.numbers, found.batch, Schedule(row["epochs"], iterations=row["ni"]), row["rows"]
        )
        assert steps is not None
        assert steps.per_epoch is not None
        rounded = row["dataloader"] % found.numbers.accumulation != 0
        assert steps.per_epoch == row["per_epoch"] + (
            1 if rounded and row["dataloader"] > found.numbers.accumulation else 0
        ), row


def test_deepspeed_accepts_what_we_do() -> None:
    """Rows in which all three numbers are given; DeepSpeed fills in what is left out."""
    for row in rows("deepspeed"):
        triple = (row["train_batch"], row["micro_batch"], row["accumulation"])
        if not all(isinstance(value, int) and value > 0 for value in triple):
            continue
        names = ("batch_size", "micro_batch_size", "gradient_accumulation_steps")
        values = {**dict(zip(names, triple, strict=True)), "nproc_per_node": row["world"]}
        case = Case("deepspeed", stacks.find("deepspeed"), values, train_part="batch_size")
        assert (assess(case).errors == 0) is row["accepted"], row
