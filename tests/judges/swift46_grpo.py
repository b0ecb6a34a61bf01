"""Ask ms-swift 4.6 whether it would start a GRPO run with the given batch settings.

    python swift46_grpo.py --out DIR [--work DIR]

What is called, unmodified: ms-swift's own argument parser into RLHFArguments (all checks of `swift rlhf`), then
SwiftRLHF (model, template, dataset), then the GRPO trainer's constructor and its training dataloader, which is
where training would begin.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any, ClassVar

import swift_words
from common import Case, join_fake_world, judge_in_workers, serve, versions, write_fixture
from grid import (
    COLUMNS,
    distinct,
    division_edges,
    eval_generations_edges,
    evaluation_edges,
    generation_batch_edges,
    nonsense_edges,
    sample,
    sequence_parallel_edges,
    with_eval_generations,
)
from tiny import make_model


class Judge(swift_words.Judge):
    """ms-swift 4; datasets are prepared once for each pair of sizes."""

    flags: ClassVar[dict[str, str]] = {
        **swift_words.FLAGS,
        "nge": "--num_generations_eval",
        "sp": "--sequence_parallel_size",
        "max_steps": "--max_steps",
    }
    fixed = ("--tuner_type", "full", "--load_from_cache_file", "true")

    def meet(self) -> None:
        from swift.arguments import RLHFArguments
        from swift.pipelines.train.rlhf import SwiftRLHF
        from swift.trainers import TrainerFactory
        from swift.utils import parse_args

        self.factory, self.pipeline = TrainerFactory, SwiftRLHF
        self.parse, self.arguments = parse_args, RLHFArguments
        self.datasets: dict[tuple[int, int, str], Any] = {}

    def build(self, args: Any, case: Case) -> Any:
        swift = self.pipeline(args)
        key = (case.get("rows", swift_words.TRAIN_ROWS), case.get("val", 0), str(args.eval_strategy))
        if key not in self.datasets:
            self.datasets[key] = swift._prepare_dataset()
        train, val = self.datasets[key]
        swift.model = swift.prepare_model(args, swift.model, template=swift.template, train_dataset=train)
        return self.factory.get_trainer_cls(args)(
            model=swift.model,
            args=args.training_args,
            template=swift.template,
            train_dataset=train,
            eval_dataset=val,
            **swift._get_trainer_kwargs(),
        )


def cases() -> list[Case]:
    """All that is asked."""
    return distinct(
        division_edges(),
        evaluation_edges(),
        generation_batch_edges(),
        nonsense_edges(),
        eval_generations_edges(),
        sequence_parallel_edges(),
        with_eval_generations(sample(1100, seed=460), seed=461),
    )


def main() -> None:
    """Judge every case and write the fixture; or be one of its workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("tests/fixtures/batch_verdicts"))
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "prl-judges-46")
    parser.add_argument("--worker", nargs=3, metavar=("WORLD", "ASKED", "ANSWERED"))
    options = parser.parse_args()
    if options.worker:
        world, asked, answered = options.worker
        join_fake_world(int(world))
        serve(int(world), asked, answered, Judge(options.work).verdict)
        return
    make_model(options.work / "tiny")
    asked_cases = cases()
    verdicts = judge_in_workers(__file__, asked_cases, options.work)
    told = ["accepted", "stage", "exception", "text"]
    rows = [[c[k] for k in COLUMNS] + [v[k] for k in told] for c, v in zip(asked_cases, verdicts, strict=True)]
    judge = {"program": "ms-swift", "version": swift_version(), **versions(), "how": " ".join(HOW.split())}
    write_fixture(options.out / "swift46.json.gz", judge, COLUMNS + told, rows)


def swift_version() -> str:
    """ms-swift's version."""
    from importlib.metadata import version

    return version("ms_swift")


HOW = """swift.utils.parse_args(RLHFArguments, argv), as `swift rlhf --rlhf_type grpo` does (stage 'arguments': GRPOConfig of
swift.rlhf_trainers.arguments runs _init_generation_batch_params inside, RLHFArguments._check_teacher after it); then
SwiftRLHF(args), its dataset and model, and the constructor of swift.rlhf_trainers.GRPOTrainer (stage 'trainer'); then
get_train_dataloader() (stage 'dataloader'). World sizes above 1: rank 0 with torchrun's environment and torch's fake
process group. 64 training rows; val rows of validation data. All of ms-swift's code is unmodified."""

if __name__ == "__main__":
    main()
