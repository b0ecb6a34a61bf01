"""Ask transformers' Trainer what it does with MiniOneRec's gradient accumulation, zero included.

    python trainer_accumulation.py --out DIR [--work DIR]

MiniOneRec's sft.py passes gradient_accumulation_steps = batch_size // micro_batch_size, divided again by the world
size when there is more than one process. The Trainer, its dataloader and its step count are transformers' own.
"""

from __future__ import annotations

import argparse
import tempfile
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

from common import Case, Verdict, failure, join_fake_world, judge_in_workers, serve, versions, write_fixture
from swift_steps import steps_of
from tiny import make_model

COLUMNS = ["world", "batch", "micro", "rows", "epochs"]
TOLD = ["accumulation", "effective", "per_epoch", "total", "accepted", "exception", "text"]


def accumulation(one: Case) -> int:
    """What MiniOneRec's sft.py passes on."""
    steps = one["batch"] // one["micro"]
    return steps // one["world"] if one["world"] != 1 else steps


def build(one: Case, work: Path, rows: Any) -> Any:
    """A Trainer as MiniOneRec makes it, as far as its batches go."""
    from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

    args = TrainingArguments(
        output_dir=str(work / "out"),
        per_device_train_batch_size=one["micro"],
        per_device_eval_batch_size=one["micro"],
        gradient_accumulation_steps=accumulation(one),
        num_train_epochs=one["epochs"],
        warmup_steps=20,
        optim="adamw_torch",
        report_to="none",
        use_cpu=True,
        ddp_backend="gloo" if one["world"] > 1 else None,
    )
    return Trainer(model=AutoModelForCausalLM.from_pretrained(work / "tiny"), args=args, train_dataset=rows)


def judge(one: Case, work: Path) -> Verdict:
    """The step count, or how the Trainer fails."""
    import datasets

    ids = [list(range(3, 11))] * one["rows"]
    rows = datasets.Dataset.from_dict({"input_ids": ids, "labels": ids})
    ga = accumulation(one)
    told = {"accumulation": ga, "effective": ga * one["micro"] * one["world"], "per_epoch": None, "total": None}
    try:
        trainer = build(one, work, rows)
        # train() itself where it stops before the first step, else only the count.
        if ga < 1:
            trainer.train()
        counted = steps_of(trainer)
    except Exception as error:
        return told | failure("", error)
    return told | {"accepted": True} | {key: counted[key] for key in ("per_epoch", "total", "exception", "text")}


def cases() -> list[Case]:
    """The published settings, then a grid around zero."""
    known = [(8, 1024, 16), (6, 1024, 16), (4, 1024, 16), (16, 128, 16), (8, 1000, 16), (1, 128, 4), (2, 128, 4)]
    found = [{"world": w, "batch": b, "micro": m, "rows": 100, "epochs": 2} for w, b, m in known]
    for world, batch, micro in product((1, 2, 3, 4, 8), (1, 8, 32, 48, 64), (4, 16, 24)):
        found.append({"world": world, "batch": batch, "micro": micro, "rows": 1003, "epochs": 3})
    return found


def main() -> None:
    """Judge every case and write the fixture; or be one of its workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("tests/fixtures/batch_verdicts"))
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "prl-judges-trainer")
    parser.add_argument("--worker", nargs=3, metavar=("WORLD", "ASKED", "ANSWERED"))
    options = parser.parse_args()
    if options.worker:
        world, asked, answered = options.worker
        join_fake_world(int(world))
        serve(int(world), asked, answered, lambda one: judge(one, options.work))
        return
    make_model(options.work / "tiny")
    asked_cases = cases()
    verdicts = judge_in_workers(__file__, asked_cases, options.work)
    rows = [[c[k] for k in COLUMNS] + [v[k] for k in TOLD] for c, v in zip(asked_cases, verdicts, strict=True)]
    release = version("transformers")
    about = {"program": "transformers", "version": release, **versions(), "how": " ".join(HOW.split())}
    name = f"trainer{''.join(release.split('.')[:2])}.json.gz"
    write_fixture(options.out / name, about, COLUMNS + TOLD, rows)


HOW = """transformers.Trainer with a tiny model and TrainingArguments that carry MiniOneRec's accumulation; where it is below 1,
Trainer.train() is called and fails by itself, elsewhere get_train_dataloader() and set_initial_training_values() count the
steps. World sizes above 1: rank 0 with torchrun's environment and torch's fake process group."""

if __name__ == "__main__":
    main()
