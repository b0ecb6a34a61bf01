"""Saving and evaluating by steps, by epochs or never.

Judged by ms-swift 4.6.0 (SftArguments, and runs of `swift sft` on the tiny model: 32 rows, a quarter of them split off, batch
1 × 4, 3 epochs): the steps, the checkpoints that lay there, and whether it evaluated.
"""

from __future__ import annotations

import pytest

from prl_tui.core import checks, plan
from prl_tui.core.config import Source, resolve
from prl_tui.core.findings import Facts
from prl_tui.export import losses
from tests.built_in import RECIPES

RUN = {
    "split_dataset_ratio": 0.25, "num_train_epochs": 3, "gradient_accumulation_steps": 4,
    "per_device_train_batch_size": 1, "nproc_per_node": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    ("more", "steps", "saves", "evaluations"),
    [
        ({"save_strategy": "no"}, 24, 0, 0),
        ({"save_strategy": "epoch"}, 18, 3, 3),
        ({"save_strategy": "epoch", "eval_strategy": "epoch"}, 18, 3, 3),
        ({"save_strategy": "epoch", "eval_strategy": "no"}, 24, 3, 0),
        ({"save_strategy": "steps", "save_steps": 6, "eval_steps": None}, 18, 3, 3),
        ({"save_steps": 6, "eval_steps": 9}, 18, 3, 2),
        ({"eval_strategy": "no", "save_steps": 6}, 24, 4, 0),
        ({"save_strategy": "epoch", "max_steps": 7}, 7, 2, 2),  # transformers: the epoch that max_steps ends counts
    ],
)
@pytest.mark.parametrize("recipe", ["swift-sft", "swift-dpo", "swift-rm"])
def test_what_happens_on_the_way(recipe, more, steps, saves, evaluations):
    report = checks.check(resolve(RECIPES[recipe]).with_values({**RUN, **more}, Source.SET), Facts(rows=32))
    assert (report.steps.total, report.steps.saves, report.steps.evaluations) == (steps, saves, evaluations)
    assert "no-save-before-end" not in {one.code for one in report.findings}


@pytest.mark.parametrize(("saving", "said"), [("no", "all"), ("epoch", "since the last"), ("steps", "up to 100 steps")])
def test_a_platform_that_ends_the_job_is_told_by_what_is_saved(saving, said):
    config = resolve(RECIPES["swift-sft"]).with_values({**RUN, "save_strategy": saving, "save_steps": 100}, Source.SET)
    made = plan.build(config)
    for told in (losses.at_risk(made), losses.at_deletion(made)):
        assert said in told
        assert ("100" in told) == (saving == "steps")


def test_a_run_that_saves_nothing_or_at_its_end_alone_is_warned_of():
    """ms-swift 4.6.0, trainers/patcher.py: the last step is saved unless save_strategy is `no`."""
    nothing = resolve(RECIPES["swift-sft"]).with_values({"save_strategy": "no"}, Source.SET)
    for facts in (Facts(), Facts(rows=1000)):
        assert [one.code for one in checks.check(nothing, facts).findings if one.severity == "warning"] == [
            "saves-nothing"
        ]
    for epochs, warned in ((1, True), (2, False)):
        once = nothing.with_values({"save_strategy": "epoch", "num_train_epochs": epochs}, Source.SET)
        codes = {one.code for one in checks.check(once, Facts(rows=1000)).findings}
        assert ("no-save-before-end" in codes) is warned
