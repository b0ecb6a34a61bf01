"""The swift recipes on a tiny model, two CPU ranks over gloo: launched, watched to the end, everything read.

Judge: ms-swift 4.6.0 with TRL 0.29.1 and transformers 5.19.0 on torch 2.13.0.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.swift.swift_runs import Bench, Ended

CURVES = {
    "swift-sft": {"loss", "token_acc", "grad_norm"},
    "swift-dpo": {"loss", "rewards/accuracies", "rewards/margins"},
    "swift-rm": {"loss", "rewards/accuracies", "rewards/margins"},
    "swift-grpo": {"loss", "reward", "kl", "completions/mean_length"},
}


def assert_read(ended: Ended, recipe: str) -> None:
    """Four steps, their curves and an evaluation from logging.jsonl, two checkpoints that are there."""
    view = ended.run.view
    assert (ended.code, ended.run.status.state) == (0, "finished"), ended.told
    assert "step 4/4" in ended.told
    assert (view.phase, view.metrics_source) == ("done", "file")
    assert (view.progress.step, view.progress.total) == (4, 4)
    assert view.series.keys() >= CURVES[recipe]
    assert len(list(view.series["loss"])) == 4
    assert view.last_eval.step == 4
    assert view.facts["world_size"] == "2"
    assert [checkpoint.step for checkpoint in view.checkpoints] == [2, 4]
    assert all((Path(one.path) / "trainer_state.json").exists() for one in view.checkpoints)
    assert [log.rank for log in view.ranks] == [0, 1]
    assert ended.told.count("checkpoint ") == 2


@pytest.mark.parametrize("recipe", ["swift-sft", "swift-dpo", "swift-rm"])
def test_a_recipe_trains_and_everything_is_read(bench: Bench, recipe: str) -> None:
    assert_read(bench.run(recipe), recipe)


def test_grpo_trains_and_its_answers_are_read(bench: Bench) -> None:
    ended = bench.run("swift-grpo")
    assert_read(ended, "swift-grpo")
    shown = bench.prl("logs", ended.run.id, "--completions", "--json", "-n", "4")
    answers = [json.loads(line) for line in shown.stdout.splitlines()]
    assert [answer["step"] for answer in answers] == [4, 4, 4, 4]
    assert all(set(answer["rewards"]) == {"Format", "TinyLength"} for answer in answers)
    assert all("What is" in answer["prompt"] and answer["advantage"] is not None for answer in answers)


def test_the_swift_command_starts_the_ranks_itself(bench: Bench) -> None:
    ended = bench.run("swift-sft", launcher="swift", tuner_type="full")
    assert_read(ended, "swift-sft")
    assert ended.run.folder.info()["argv"][:2] == ["swift", "sft"]
