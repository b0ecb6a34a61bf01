"""A value that is wrong is told, and nothing else is said from it. Judge: the verdict on the same config with that value right."""

from __future__ import annotations

import re

import pytest

from prl_tui.core import checks, words
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.core.findings import Facts, Report
from tests.built_in import RECIPES

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


NUMBERS = ("-4", "0", "-1", "0.5", "-0.25", "1e12", "99999999999")
ABOUT_ONE = {"num-generations-min", "steps-per-generation-positive"}
"""Rules that say of one value alone why it is wrong."""


def lines(report: Report) -> set[str]:
    """What is said in figures beside the findings."""
    return {*words.arithmetic(report), words.length(report), words.on_the_way(report)} - {""}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [f"{recipe.name}/{preset}" for recipe in RECIPES.values() for preset in recipe.presets]
)
def test_no_figure_comes_from_a_number_that_is_wrong(name: str) -> None:
    """Every preset, every field of numbers: zero, negative, fractions, far too many."""
    recipe, _, preset = name.partition("/")
    sound = resolve(RECIPES[recipe], preset)
    report = checks.check(sound, FACTS)
    before, known = said(report), figures_in(lines(report))
    for field in sound.recipe.fields:
        if field.type not in {"int", "float"}:
            continue
        for text in NUMBERS:
            config = sound.with_values({field.key: text}, Source.SET)
            if not config.wrong(field.key):
                continue
            after = checks.check(config, FACTS)
            new = {(code, key) for code, key, _ in said(after) - before if code != "field-without-effect"}
            allowed = {(code, field.key) for code in ("bad-value", "out-of-range", *ABOUT_ONE)}
            assert len(new) <= 1, (field.key, text, new)
            assert new <= allowed, (field.key, text, new)
            assert figures_in(lines(after)) <= known, (field.key, text, lines(after))


def figures_in(said: set[str]) -> set[str]:
    """The numbers of some lines."""
    return {number for line in said for number in re.findall(r"-?[\d,.]*\d", line)}


def test_a_field_that_follows_a_broken_one_is_not_called_unset() -> None:
    found = checks.check(prl(per_device_train_batch_size="4.5"))
    assert [one.code for one in found.findings] == ["bad-value"]


def test_a_number_out_of_range_brings_no_advice() -> None:
    found = checks.check(prl(nproc_per_node=5000), FACTS)
    assert {one.severity for one in found.findings} == {"error"}
