"""A value that is wrong is told, and nothing else is said from it. Judge: the verdict on the same config with that value right."""

from __future__ import annotations

import pytest

from prl_tui.core import catalog, checks
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.core.findings import Facts, Report

RECIPES = catalog.load().recipes
FACTS = Facts(rows=1000, val_rows=100, seconds_per_step=3.0, pace_source="run")
UNREADABLE = {"int": "4.5", "float": "x", "bool": "maybe", "choice": "no such one"}


def prl(**changes: object) -> RunConfig:
    return resolve(RECIPES["prl-grpo"], "standard-4gpu").with_values(changes, Source.SET)


def said(report: Report) -> set[tuple[str, str, str]]:
    return {(one.code, one.field, one.message) for one in report.findings}


@pytest.mark.parametrize("name", RECIPES)
def test_what_is_said_beside_a_value_that_cannot_be_read_was_said_without_it(name: str) -> None:
    sound = resolve(RECIPES[name], RECIPES[name].data.default_preset)
    before = checks.check(sound, FACTS)
    for field in sound.recipe.fields:
        if field.type not in UNREADABLE:
            continue
        after = checks.check(sound.with_values({field.key: UNREADABLE[field.type]}, Source.SET), FACTS)
        new = {one for one in said(after) - said(before) if one[0] != "field-without-effect"}  # a file has the value
        assert not new or {(code, key) for code, key, _ in new} == {("bad-value", field.key)}, (field.key, new)
        for now, then in ((after.batch, before.batch), (after.steps, before.steps)):
            for figure in type(now).__annotations__ if now is not None else ():
                value = getattr(now, figure)
                assert value in (None, (), getattr(then, figure, None)), (field.key, figure, value)


def test_a_field_that_follows_a_broken_one_is_not_called_unset() -> None:
    found = checks.check(prl(per_device_train_batch_size="4.5"))
    assert [one.code for one in found.findings] == ["bad-value"]


def test_a_number_out_of_range_brings_no_advice() -> None:
    found = checks.check(prl(nproc_per_node=5000), FACTS)
    assert {one.severity for one in found.findings} == {"error"}
