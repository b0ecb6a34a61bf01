"""Without validation data ms-swift before 3.6 splits off a hundredth of the training data, unless it is told not to.

Judged by ms-swift 3.3.0's own arguments and trainer; 3.6.0 changed the default to 0.
"""

from __future__ import annotations

import pytest

from prl_tui.core import checks
from prl_tui.core.config import Source, resolve
from prl_tui.core.findings import Facts
from tests.built_in import RECIPES

SMALL = {
    "nproc_per_node": 2,
    "cuda_visible_devices": "0,1",
    "per_device_train_batch_size": 4,
    "num_generations": 4,
    "per_device_eval_batch_size": 1,
}


def test_the_evaluation_batch_counts_where_the_split_is_not_set() -> None:
    config = resolve(RECIPES["prl-grpo"], "standard-4gpu").with_values({**SMALL, "val_dataset": None}, Source.SET)
    assert "eval-batch-divides" in [finding.code for finding in checks.check(config).findings]
    off = config.with_values({"eval_strategy": "no"}, Source.SET)
    assert checks.check(off).ok


@pytest.mark.parametrize(("stack", "steps"), [("swift-3.5", 9900), ("swift-3.6", 10000)])
def test_the_rows_that_are_split_off_are_not_trained_on(stack: str, steps: int) -> None:
    values = {
        "split_dataset_ratio": None, "nproc_per_node": 1, "cuda_visible_devices": "0", "num_generations": 2,
        "per_device_train_batch_size": 1, "gradient_accumulation_steps": 2, "num_train_epochs": 1, "stack": stack,
    }  # fmt: skip
    config = resolve(RECIPES["swift-grpo"], "colocate-4gpu").with_values(values, Source.SET)
    length = checks.check(config, Facts(rows=10_000)).steps
    assert length is not None
    assert length.total == steps
