"""Shares that are split off for evaluation, and what is left to train on. ms-swift takes a share of 1 for validation data alone."""

from __future__ import annotations

import pytest

from prl_tui.core import checks
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.core.findings import Facts, Report
from tests.built_in import RECIPES

SPLIT = [name for name, recipe in RECIPES.items() if "split_dataset_ratio" in recipe.by_key]


def judged(one: RunConfig, **facts: object) -> Report:
    return checks.check(one, Facts(**facts))  # type: ignore[arg-type]


@pytest.mark.parametrize("rows", [1, 100, 1000])
@pytest.mark.parametrize("recipe", SPLIT)
def test_all_of_the_data_split_off_is_an_error_that_another_share_mends(recipe: str, rows: int) -> None:
    one = resolve(RECIPES[recipe]).with_values({"split_dataset_ratio": 1}, Source.SET)
    [found] = [one for one in judged(one, rows=rows).findings if one.severity == "error"]
    assert (found.code, found.field) == ("no-rows", "split_dataset_ratio")
    assert "split_dataset_ratio 1 leaves none of the " in found.message
    if rows > 1:
        assert [fix.changes["split_dataset_ratio"] for fix in found.fixes] == [None, 0.5]
    for fix in found.fixes:
        report = judged(one.with_values(fix.changes, Source.FIX), rows=rows)
        assert report.ok
        assert report.steps is not None
        assert report.steps.total


@pytest.mark.parametrize("recipe", SPLIT)
def test_with_validation_data_of_its_own_nothing_is_split_off(recipe: str) -> None:
    one = resolve(RECIPES[recipe]).with_values({"split_dataset_ratio": 1, "val_dataset": ["v.jsonl"]}, Source.SET)
    assert "no-rows" not in {found.code for found in judged(one, rows=1000).findings}


def test_with_other_errors_the_share_is_mended_too() -> None:
    changes = {"split_dataset_ratio": 1, "num_generations": 3}
    one = resolve(RECIPES["swift-grpo"]).with_values(changes, Source.SET)
    for _ in range(4):
        wrong = [found for found in judged(one, rows=1000).findings if found.severity == "error"]
        if wrong:
            one = one.with_values(wrong[0].fixes[0].changes, Source.FIX)
    assert judged(one, rows=1000).ok


def test_a_share_that_leaves_too_little_is_mended_by_another_one_where_no_other_field_is_enough() -> None:
    wide = {
        "num_generations": 2,
        "per_device_train_batch_size": 512,
        "generation_batch_size": 4096,
        "nproc_per_node": 4,
    }
    one = resolve(RECIPES["swift-grpo"]).with_values({**wide, "split_dataset_ratio": 0.9999}, Source.SET)
    found = next(found for found in judged(one, rows=3000).findings if found.code == "too-few-rows")
    assert found.fixes[0].changes == {"split_dataset_ratio": None}
    for fix in found.fixes:
        assert judged(one.with_values(fix.changes, Source.FIX), rows=3000).ok


SMALL: dict[str, object] = {"num_generations": 2, "use_vllm": False, "vllm_mode": None}


def codes(report: Report) -> set[str]:
    return {one.code for one in report.findings if one.severity == "error"}


# Judged by ms-swift 4.6.0 on two ranks: 20 rows and 0.01 gave num_rows 19 and 1, then "AssertionError: eval_dataset size 1 is
# smaller than total_eval_batch_size 4"; by its post_process and that of the 3.3.0 and 3.5.3 wheels: max(int(rows × ratio), 1).
def test_at_least_one_row_is_split_off_and_must_fill_an_evaluation_batch() -> None:
    one = resolve(RECIPES["swift-grpo"], "colocate-2gpu").with_values(
        {**SMALL, "split_dataset_ratio": 0.01}, Source.SET
    )
    assert "eval-rows" in codes(judged(one, rows=20))
    assert "eval-rows" not in codes(judged(one, rows=400))


def test_no_evaluation_splits_nothing_off() -> None:
    """ms-swift 3.3.0 to 4.6.0 set the share to 0 where eval_strategy is no (`_init_eval_strategy`)."""
    off = {**SMALL, "split_dataset_ratio": 1, "eval_strategy": "no"}
    one = resolve(RECIPES["swift-grpo"], "colocate-2gpu").with_values(off, Source.SET)
    report = judged(one, rows=100)
    assert report.ok
    assert report.steps is not None
    assert report.steps.per_epoch == 25


@pytest.mark.parametrize(("share", "fields"), [(0.01, [None]), (None, [])])
def test_the_only_row_is_the_one_that_is_split_off(share: float | None, fields: list[float | None]) -> None:
    """ms-swift asserts train_sample > 0."""
    one = resolve(RECIPES["swift-sft"]).with_values({"split_dataset_ratio": share}, Source.SET)
    found = [one for one in judged(one, rows=1).findings if one.severity == "error"]
    assert [one.code for one in found] == ["no-rows"] * len(fields)
    assert [fix.changes["split_dataset_ratio"] for one in found for fix in one.fixes] == fields


def test_where_the_split_is_a_default_no_split_is_said_outright() -> None:
    values = {"split_dataset_ratio": None, "stack": "swift-3.5", "use_vllm": False, "vllm_mode": None}
    one = resolve(RECIPES["swift-grpo"], "colocate-2gpu").with_values(values, Source.SET)
    [found] = [one for one in judged(one, rows=1).findings if one.code == "no-rows"]
    assert "split_dataset_ratio 0.01 leaves none of the 1 row" in found.message
