"""Ask DeepSpeed's own config class which batch triples it accepts.

    python deepspeed_batch.py --out DIR [--work DIR]

Called, unmodified: deepspeed.runtime.config.DeepSpeedConfig, on the CPU, with a stand-in for its
communication backend that says how many ranks there are.
"""

from __future__ import annotations

import argparse
import tempfile
from importlib.metadata import version
from itertools import product
from pathlib import Path

from common import Case, Verdict, failure, judge_in_workers, serve, versions, write_fixture

KEYS = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
COLUMNS = ["world", "train_batch", "micro_batch", "accumulation"]
TOLD = ["train_batch_out", "micro_batch_out", "accumulation_out", "accepted", "exception", "text"]


def judge(one: Case) -> Verdict:
    """The completed triple, or DeepSpeed's refusal; null means that the key is absent."""
    from deepspeed.runtime.config import DeepSpeedConfig

    given = {key: one[column] for key, column in zip(KEYS, COLUMNS[1:], strict=True) if one[column] is not None}
    try:
        made = DeepSpeedConfig(given)
    except Exception as error:
        return {"train_batch_out": None, "micro_batch_out": None, "accumulation_out": None} | failure("", error)
    out = dict(zip(TOLD, (getattr(made, key) for key in KEYS), strict=False))
    return {**out, "accepted": True, "exception": "", "text": ""}


def cases() -> list[Case]:
    """Reported faults, then all ways to leave a key out, agreeing and at odds."""
    found = [(8, 256, 8, 1), (1, 256, 4, 8), (1, 8, 2, 1), (8, 256, 4, 8), (2, "auto", "auto", "auto")]
    found += product((1, 2, 3, 4, 8), (None, 16, 20, 24), (None, 1, 4), (None, 0, 1, 2, 3))
    odd = ((0, 4, 1), (None, 0, 1), (16, 0, 2), (-8, 4, 1), (2, 4, None), (1, None, 4))
    found += [(world, *triple) for world, triple in product((1, 2), odd)]
    return [dict(zip(COLUMNS, one, strict=True)) for one in found]


class Ranks:
    """What DeepSpeed's comm layer asks of a backend; its own one would compile a C++ extension first."""

    def __init__(self, world: int) -> None:
        self.world = world

    def is_initialized(self) -> bool:
        """Whether there are ranks."""
        return True

    def get_rank(self, group: object = None) -> int:
        """This process's number."""
        return 0

    def get_world_size(self, group: object = None) -> int:
        """How many processes there are."""
        return self.world


def join(world: int) -> None:
    """Become rank 0 for DeepSpeed."""
    import deepspeed.comm.comm

    deepspeed.comm.comm.cdb = Ranks(world)


def main() -> None:
    """Judge every triple and write the fixture; or be one of its workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("tests/fixtures/batch_verdicts"))
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "prl-judges-deepspeed")
    parser.add_argument("--worker", nargs=3, metavar=("WORLD", "ASKED", "ANSWERED"))
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    if options.worker:
        world, asked, answered = options.worker
        join(int(world))
        serve(int(world), asked, answered, judge)
        return
    asked_cases = cases()
    verdicts = judge_in_workers(__file__, asked_cases, options.work)
    rows = [[c[k] for k in COLUMNS] + [v[k] for k in TOLD] for c, v in zip(asked_cases, verdicts, strict=True)]
    about = {"program": "deepspeed", "version": version("deepspeed"), **versions(), "how": " ".join(HOW.split())}
    write_fixture(options.out / "deepspeed.json.gz", about, COLUMNS + TOLD, rows)


HOW = """deepspeed.runtime.config.DeepSpeedConfig({the keys given}) on the CPU; null means a key that is not given, the *_out
columns are the completed triple. deepspeed.comm's backend object is a stand-in that only tells rank and world size."""

if __name__ == "__main__":
    main()
