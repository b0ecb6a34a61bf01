"""Shares that are split off for evaluation, and what is left to train on. ms-swift takes a share of 1 for validation data alone."""

from __future__ import annotations

import pytest

from prl_tui.core import catalog, checks
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.core.findings import Facts, Report

RECIPES = catalog.load().recipes
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
