"""Ask DeepSpeed's own config class which batch triples it accepts.

    python deepspeed_batch.py --out DIR

Called, unmodified: deepspeed.runtime.config.DeepSpeedConfig, on the CPU, with a stand-in for the model-parallel unit
that says how many data-parallel ranks there are.
"""

from __future__ import annotations

import argparse
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

from common import Verdict, failure, versions, write_fixture

COLUMNS = ["world", "train_batch_size", "micro_batch", "accumulation"]
TOLD = ["train_batch_size_out", "micro_batch_out", "accumulation_out", "accepted", "exception", "text"]
KEYS = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")


class Ranks:
    """The only thing that DeepSpeedConfig asks of a model-parallel unit."""

    def __init__(self, count: int) -> None:
        self.count = count

    def get_data_parallel_world_size(self) -> int:
        """How many ranks share the batch."""
        return self.count


def judge(world: int, triple: tuple[int | str | None, ...]) -> Verdict:
    """The completed triple, or DeepSpeed's refusal; null means that the key is absent."""
    from deepspeed.runtime.config import DeepSpeedConfig

    given = {key: value for key, value in zip(KEYS, triple, strict=True) if value is not None}
    none: Verdict = {"train_batch_size_out": None, "micro_batch_out": None, "accumulation_out": None}
    try:
        made = DeepSpeedConfig({**given}, mpu=Ranks(world))
    except Exception as error:
        return none | failure("", error)
    return {
        "train_batch_size_out": made.train_batch_size,
        "micro_batch_out": made.train_micro_batch_size_per_gpu,
        "accumulation_out": made.gradient_accumulation_steps,
        "accepted": True,
        "exception": "",
        "text": "",
    }


def cases() -> list[tuple[int, tuple[int | str | None, ...]]]:
    """Reported faults, then all ways to leave a key out, agreeing and at odds."""
    found: list[tuple[int, tuple[int | str | None, ...]]] = [
        (8, (256, 8, 1)),
        (1, (256, 4, 8)),
        (1, (8, 2, 1)),
        (8, (256, 4, 8)),
        (2, ("auto", "auto", "auto")),
    ]
    for world, total, micro, accumulation in product(
        (1, 2, 3, 4, 8), (None, 16, 20, 24), (None, 1, 4), (None, 0, 1, 2, 3)
    ):
        found.append((world, (total, micro, accumulation)))
    for world, triple in product((1, 2), ((0, 4, 1), (None, 0, 1), (16, 0, 2), (-8, 4, 1), (2, 4, None), (1, None, 4))):
        found.append((world, triple))
    return found


def main() -> None:
    """Judge every triple and write the fixture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("tests/fixtures/batch_verdicts"))
    options = parser.parse_args()
    rows: list[list[Any]] = []
    for world, triple in cases():
        told = judge(world, triple)
        rows.append([world, *triple, *(told[key] for key in TOLD)])
    about = {"program": "deepspeed", "version": version("deepspeed"), **versions(), "how": " ".join(HOW.split())}
    write_fixture(options.out / "deepspeed.json.gz", about, COLUMNS + TOLD, rows)


HOW = """deepspeed.runtime.config.DeepSpeedConfig({the keys given}, mpu=…) on the CPU; mpu only tells the data-parallel world
size. The *_out columns are the completed triple."""

if __name__ == "__main__":
    main()
