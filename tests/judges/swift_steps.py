"""Ask ms-swift how many optimizer steps a GRPO run would do.

    python swift_steps.py --release 4.6|3.5|3.3 --out DIR [--work DIR]

The trainer is built as the verdict scripts build it; then its own get_train_dataloader() and transformers' own
set_initial_training_values() give the steps, exactly the two calls that start `train()`. With --train SIX runs are
trained for real (one process, CPU) and their logging.jsonl is compared.
"""

from __future__ import annotations

import argparse
import inspect
import json
import random
import shutil
import tempfile
from importlib import import_module
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

from common import Case, Verdict, failure, join_fake_world, judge_in_workers, serve, versions, write_fixture
from grid import case
from tiny import make_model

COLUMNS = ["world", "rows", "epochs", "bs", "ga", "ng", "spg", "gbs", "ni", "sp"]
TOLD = ["dataloader", "per_epoch", "total", "exception", "text"]
MODULES = {"4.6": "swift46_grpo", "3.5": "swift3_grpo", "3.3": "swift3_grpo"}


def steps_of(trainer: Any) -> Verdict:
    """What train() would compute before its first step."""
    loader = trainer.get_train_dataloader()
    call = trainer.set_initial_training_values
    given = [trainer.args, loader]
    if "total_train_batch_size" in inspect.signature(call).parameters:
        args = trainer.args
        given.append(trainer._train_batch_size * args.gradient_accumulation_steps * args.world_size)
    found = call(*given)
    # transformers returns max_steps last, and the update steps of an epoch second.
    return {"dataloader": len(loader), "per_epoch": found[1], "total": found[-1], "exception": "", "text": ""}


def judge_steps(judge: Any, one: Case) -> Verdict:
    """The steps, or what stopped the count."""
    nothing = {"dataloader": None, "per_epoch": None, "total": None}
    try:
        args, _ = judge.parse(judge.arguments, judge.argv(one))
        trainer = judge.build(args, one)
    except (Exception, SystemExit) as error:
        return nothing | failure("build", error)
    try:
        return steps_of(trainer)
    except (Exception, SystemExit) as error:
        return nothing | failure("steps", error)


def known_runs() -> list[Case]:
    """Runs that people published with their step counts."""
    return [
        case(world=1, rows=8462, epochs=10, bs=4, ng=4),
        case(world=3, rows=8462, epochs=2, bs=4, ng=2),
        case(world=3, rows=8000, epochs=2, bs=4, ga=2, ng=6),
        case(world=8, rows=7000, epochs=1, bs=1, ga=2, ng=8),
        case(world=2, rows=7064, epochs=1, bs=1, ga=8, ng=8),
        case(world=2, rows=7064, epochs=1, bs=8, ga=8, ng=8),
        case(world=2, rows=31, epochs=1, bs=2, ga=2, ng=4),
        case(world=2, rows=31, epochs=1, bs=1, ga=2, ng=4),
        case(world=2, rows=31, epochs=1, bs=2, ga=2, ng=4, spg=4),
    ]


def old_rule_cases() -> list[Case]:
    """Settings that every release accepts: no accumulation is needed to make a group."""
    wanted = [one for one in known_runs() if (one["world"] * one["bs"]) % one["ng"] == 0 and not one["spg"]]
    rng = random.Random(333)
    for world, rows, epochs in product((1, 2, 3, 4, 8), (3, 16, 31, 64, 100), (1, 2.5, 3)):
        bs, ga = rng.randint(1, 6), rng.randint(1, 4)
        groups = [n for n in range(2, world * bs + 1) if (world * bs) % n == 0]
        if groups:
            wanted.append(case(world=world, rows=rows, epochs=epochs, bs=bs, ga=ga, ng=rng.choice(groups)))
    return [{**one, "ni": one.get("ni", 1)} for one in wanted]


def new_rule_cases() -> list[Case]:
    """Accumulation, steps_per_generation, iterations and sequence parallel, by a seeded choice."""
    wanted = known_runs()
    rng = random.Random(444)
    for world, rows in product((1, 2, 3, 4, 6, 8), (1, 3, 16, 31, 64, 100, 257)):
        for _ in range(3):
            bs, ga, spg = rng.randint(1, 4), rng.randint(1, 4), rng.choice((None, None, 1, 2, 3, 4))
            batch = world * bs * (spg or ga)
            groups = [n for n in range(2, min(batch, 16) + 1) if batch % n == 0]
            if not groups:
                continue
            wanted.append(
                case(
                    world=world,
                    rows=rows,
                    epochs=rng.choice((1, 2, 3, 0.5, 2.5)),
                    bs=bs,
                    ga=ga,
                    ng=rng.choice(groups),
                    spg=spg,
                    ni=rng.choice((1, 1, 2, 3)),
                    sp=2 if world % 2 == 0 and rng.random() < 0.3 else 1,
                )
            )
    for gbs in (8, 16, 24):
        wanted.append(case(world=2, rows=31, epochs=2, bs=4, ga=2, ng=4, gbs=gbs))
    return [{**one, "ni": one.get("ni", 1)} for one in wanted]


def train_some(module: Any, work: Path) -> None:
    """Six short real runs: the total in their logging.jsonl beside the count."""
    judge = module.Judge(work)
    picked = [
        case(rows=9, epochs=2, bs=2, ga=2, ng=2),
        case(rows=9, epochs=1, bs=2, ga=1, ng=2, ni=2),
        case(rows=7, epochs=1, bs=2, ga=3, ng=3),
        case(rows=8, epochs=1.5, bs=4, ga=1, ng=4),
        case(rows=7, epochs=1, bs=4, ga=2, ng=2, spg=3),
        case(rows=11, epochs=1, bs=2, ga=2, ng=2, spg=1),
    ]
    for number, one in enumerate(picked):
        counted = judge_steps(judge, one)["total"]
        shutil.rmtree(work / "out", ignore_errors=True)
        args, _ = judge.parse(judge.arguments, [*module.argv(one, work), "--logging_steps", "1"])
        judge.pipeline(args).main()
        lines = [json.loads(line) for line in (work / "out" / "logging.jsonl").read_text().splitlines()]
        last = [line["global_step/max_steps"] for line in lines if "global_step/max_steps" in line][-1]
        print(f"run {number}: counted {counted}, trained {last}  {one}")


def main() -> None:
    """Count every case and write the fixture; or be one of its workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", choices=tuple(MODULES), default="4.6")
    parser.add_argument("--out", type=Path, default=Path("tests/fixtures/batch_verdicts"))
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "prl-judges-steps")
    parser.add_argument("--train", action="store_true", help="train six tiny runs instead and print both numbers")
    parser.add_argument("--worker", nargs=3, metavar=("WORLD", "ASKED", "ANSWERED"))
    options = parser.parse_args()
    module = import_module(MODULES[options.release])
    if options.worker:
        world, asked, answered = options.worker
        join_fake_world(int(world))
        judge = module.Judge(options.work)
        serve(int(world), asked, answered, lambda one: judge_steps(judge, one))
        return
    make_model(options.work / "tiny")
    if options.train:
        train_some(module, options.work)
        return
    cases = old_rule_cases() if options.release == "3.3" else new_rule_cases()
    if options.release == "3.5":
        cases = [{**one, "sp": 1} for one in cases]
    verdicts = judge_in_workers(__file__, cases, options.work, ["--release", options.release])
    rows = [[c[k] for k in COLUMNS] + [v[k] for k in TOLD] for c, v in zip(cases, verdicts, strict=True)]
    how = " ".join(HOW.split()) + (TRAINED if options.release == "4.6" else "")
    judge = {"program": "ms-swift", "version": version("ms_swift"), **versions(), "how": how}
    write_fixture(options.out / f"steps{options.release.replace('.', '')}.json.gz", judge, COLUMNS + TOLD, rows)


HOW = """The GRPO trainer is built as in the verdicts of the same release; dataloader is len(get_train_dataloader()), per_epoch
and total (max_steps) come from transformers' Trainer.set_initial_training_values(), the call that train() makes. No row
is trained."""
TRAINED = " Six runs trained for real with 4.6.0 on one CPU process gave the same totals (swift_steps.py --train)."

if __name__ == "__main__":
    main()
