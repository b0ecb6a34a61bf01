"""Ask ms-swift 3.5 or 3.3 whether it would start a GRPO run with the given batch settings.

    python swift3_grpo.py --release 3.5 --out DIR [--work DIR]

What is called, unmodified: ms-swift's own argument parser into RLHFArguments, then SwiftRLHF (model, template,
dataset), then the GRPO trainer's constructor and its training dataloader, which is where training would begin.
PRL is a fork of 3.3, so 3.3 is PRL's judge.
"""

from __future__ import annotations

import argparse
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import grid
import swift_words
from common import Case, join_fake_world, judge_in_workers, serve, versions, write_fixture
from tiny import make_model

COLUMNS = ["world", "bs", "ga", "ng", "eval", "val", "ebs", "spg", "gbs", "build"]
COLUMNS_33 = COLUMNS[:-3]
TOLD = ["accepted", "stage", "exception", "text"]


class Judge(swift_words.Judge):
    """ms-swift 3."""

    fixed = ("--train_type", "full")

    def meet(self) -> None:
        from swift.llm.argument import RLHFArguments
        from swift.llm.train.rlhf import SwiftRLHF
        from swift.trainers import TrainerFactory
        from swift.utils import parse_args

        self.factory, self.pipeline = TrainerFactory, SwiftRLHF
        self.parse, self.arguments = parse_args, RLHFArguments

    def argv(self, case: Case) -> list[str]:
        """val null leaves the split of the training rows at its default."""
        return [*super().argv(case), *(() if case["val"] is None else ("--split_dataset_ratio", "0"))]

    def build(self, args: Any, case: Case) -> Any:
        swift = self.pipeline(args)
        train, val = swift._encode_dataset(*swift._get_dataset())
        swift.model = swift.prepare_model(args, swift.model, template=swift.template, train_dataset=train)
        return self.factory.get_trainer_cls(args)(
            model=swift.model,
            args=args.training_args,
            data_collator=swift._get_data_collator(),
            train_dataset=train,
            eval_dataset=val,
            callbacks=swift.callbacks,
            template=swift.template,
            **swift._get_trainer_kwargs(),
        )


def default_split() -> list[Case]:
    """No validation data named: what does the release split off by itself, and does its rule then hold?"""
    return [
        grid.case(world=world, bs=4, ng=2, ebs=ebs, eval=strategy, val=None)
        for world in (1, 2)
        for ebs in (1, 2, 3)
        for strategy in ("steps", "no", None)
    ]


def cases(release: str) -> list[Case]:
    """All that is asked of this release, each once by its own columns."""
    if release == "3.5":
        wanted = grid.distinct(
            grid.division_edges(),
            grid.evaluation_edges(),
            grid.generation_batch_edges(),
            grid.nonsense_edges(),
            iter(default_split()),
            grid.sample(1000, seed=350),
        )
        # Its trainer checks nothing of this again: one case in 25 goes that far, to show it.
        return [{**one, "build": number % 25 == 0} for number, one in enumerate(wanted)]
    return grid.distinct(
        (one for one in grid.division_edges() if one["world"] in (1, 2, 4, 7)),
        (one for one in grid.evaluation_edges() if one["eval"] != "epoch"),
        (one for one in grid.nonsense_edges() if one["spg"] is None and one["gbs"] is None),
        iter(default_split()),
        ({**one, "spg": None, "gbs": None} for one in grid.sample(400, seed=330)),
    )


def main() -> None:
    """Judge every case and write the fixture; or be one of its workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", choices=("3.3", "3.5"), default="3.5")
    parser.add_argument("--out", type=Path, default=Path("tests/fixtures/batch_verdicts"))
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "prl-judges-3")
    parser.add_argument("--worker", nargs=3, metavar=("WORLD", "ASKED", "ANSWERED"))
    options = parser.parse_args()
    if options.worker:
        world, asked, answered = options.worker
        join_fake_world(int(world))
        serve(int(world), asked, answered, Judge(options.work).verdict)
        return
    make_model(options.work / "tiny")
    columns = COLUMNS if options.release == "3.5" else COLUMNS_33
    asked_cases = cases(options.release)
    verdicts = judge_in_workers(__file__, asked_cases, options.work)
    rows = [[c[k] for k in columns] + [v[k] for k in TOLD] for c, v in zip(asked_cases, verdicts, strict=True)]
    judge = {"program": "ms-swift", "version": version("ms_swift"), **versions(), "how": " ".join(HOW.split())}
    write_fixture(options.out / f"swift{options.release.replace('.', '')}.json.gz", judge, columns + TOLD, rows)


HOW = """swift.utils.parse_args(RLHFArguments, argv), as `swift rlhf --rlhf_type grpo` does (stage 'arguments': it builds
swift.trainers.rlhf_arguments.GRPOConfig); then SwiftRLHF(args), its dataset and model, and the constructor of
swift.trainers.rlhf_trainer.GRPOTrainer (stage 'trainer'); then get_train_dataloader() (stage 'dataloader'). World sizes
above 1: rank 0 with torchrun's environment and torch's fake process group. 64 training rows; val rows of validation data, 0 with
split_dataset_ratio 0, null with that ratio not given. Where build is false only stage 'arguments' was asked. All of
ms-swift's and TRL's code is unmodified."""

if __name__ == "__main__":
    main()
