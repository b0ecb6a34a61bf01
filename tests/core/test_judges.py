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


@pytest.mark.parametrize(("name", "stack", "split"), JUDGES)
def test_every_verdict_is_the_trainers_own(name: str, stack: str, split: bool) -> None:
    disagreements = []
    for row in rows(name):
        if row["stage"] == "dataloader" and "eval" in row["text"]:
            continue
        if ours(row, stack, split) != row["accepted"]:
            disagreements.append(row)
    assert not disagreements, (len(disagreements), disagreements[:8])
