"""Smoke tests: what they change, how they are judged, and that the full run differs in just those fields."""

from __future__ import annotations

from pathlib import Path

import pytest

from prl_tui.core import catalog, smoke
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.core.plan import build
from prl_tui.core.smoke import Wanted
from prl_tui.runs import plans
from prl_tui.runs import smoke as smokes

RECIPES = catalog.load().recipes
WITH_SMOKE = [recipe.name for recipe in RECIPES.values() if recipe.data.smoke.steps]


def config_of(name: str, **values: object) -> RunConfig:
    recipe = RECIPES[name]
    return resolve(recipe, recipe.data.default_preset).with_values(values, Source.SET)


def test_the_usual_recipes_can_be_smoke_tested() -> None:
    assert {"demo", "prl-grpo", "swift-grpo", "swift-sft", "swift-dpo", "swift-rm"} <= set(WITH_SMOKE)
    assert not smoke.possible(config_of("vlm-sft"))


def differing(one: RunConfig, other: RunConfig) -> set[str]:
    words = [
        {a.key or " ".join(a.words): a.words for a in build(config).arguments if a.words} for config in (one, other)
    ]
    return {key for key in words[0].keys() | words[1].keys() if words[0].get(key) != words[1].get(key)}


@pytest.mark.parametrize("name", WITH_SMOKE)
@pytest.mark.parametrize("steps", [1, 3])
def test_a_smoke_test_changes_its_own_fields_alone_and_promotion_changes_them_back(name: str, steps: int) -> None:
    full = config_of(name, max_steps=500, seed=11)
    short = smoke.shrink(full, steps)
    own = {key for key in full.settings if full.settings[key] != short.settings[key]}
    assert own <= set(smoke.changes(full, steps))
    assert differing(full, short) <= own
    assert short.number("max_steps") == steps
    kept = smokes.record(smoke.wanted(full, steps))
    job = plans.job(build(short), Path.cwd(), {"PATH": ""}, more={smokes.KEY: kept})
    read_back = plans.config_of(dict(job.info), full.baseline())
    promoted = smokes.promoted(dict(job.info), read_back)
    assert promoted is not None
    assert build(promoted).argv == build(full).argv
    assert build(promoted).env == build(full).env
    assert differing(promoted, short) == differing(full, short)


def test_a_field_that_was_not_set_is_not_set_after_promotion() -> None:
    full = config_of("swift-sft", cuda_visible_devices=None, use_cpu=True)
    assert full.value("max_steps") is None
    info = dict(plans.job(build(smoke.shrink(full, 2)), Path.cwd(), {"PATH": ""}).info)
    info[smokes.KEY] = smokes.record(smoke.wanted(full, 2))
    promoted = smokes.promoted(info, plans.config_of(info, full.baseline()))
    assert promoted is not None
    assert promoted.value("max_steps") is None
    assert promoted.value("cuda_visible_devices") is None, "what was unset by hand stays unset"
    assert build(promoted).argv == build(full).argv


def test_an_evaluation_is_forced_where_there_is_something_to_evaluate_on() -> None:
    assert not smoke.evaluates(config_of("swift-sft", split_dataset_ratio=0, val_dataset=None))
    with_data = config_of("swift-sft", split_dataset_ratio="0.1")
    assert smoke.shrink(with_data, 2).value("eval_steps") == 2
    assert not smoke.evaluates(config_of("swift-sft", split_dataset_ratio="0.1", eval_strategy="no"))


WANTED = Wanted(3, True, {}, {})


@pytest.mark.parametrize(("code", "logged", "step", "evaluated", "saved", "reason"), [
    (1, 3, 3, True, True, "exit code 1"),
    (None, 3, 3, True, True, "exit code –"),
    (0, 0, None, True, True, "no step was logged"),
    (0, 2, 2, True, True, "2 of 3 steps"),
    (0, 3, 3, False, True, "nothing was evaluated"),
    (0, 3, 3, True, False, "no checkpoint was saved"),
])  # fmt: skip
def test_each_missing_thing_fails_it_with_its_reason(code, logged, step, evaluated, saved, reason) -> None:
    result = smoke.judge(WANTED, code, logged, step, evaluated, saved)
    assert (result.passed, result.reasons) == (False, (reason,))


def test_all_of_it_passes() -> None:
    result = smoke.judge(WANTED, 0, 3, 3, True, True)
    assert result.passed
    assert result.words() == "smoke test passed: 3 steps logged; evaluated; a checkpoint saved; exit code 0"
    assert smoke.judge(Wanted(3, False, {}, {}), 0, 3, 3, False, True).passed


def test_a_record_of_another_shape_is_no_smoke_test() -> None:
    for info in ({}, {"smoke": None}, {"smoke": {"steps": "2"}}, {"smoke": {"steps": 2, "before": []}}, None, 3):
        assert smokes.kept(info) is None


def test_wrong_words_are_told(cli) -> None:
    assert "vlm-sft has no field that ends a run" in cli("launch", "vlm-sft", "--smoke", "2").err
    assert "at least one step is needed" in cli("launch", "demo", "--smoke", "0").err
    assert "do not go together" in cli("launch", "demo", "--smoke", "2", "--promote").err
    assert "demo is none" in cli("launch", "demo", "--promote").err


@pytest.mark.slow
@pytest.mark.torch
def test_the_demo_is_smoke_tested_and_promoted(cli, tmp_path: Path) -> None:
    words = ["--set", f"output_dir={tmp_path / 'out'}", "--set", "max_steps=6"]
    started = cli("launch", "demo", "--smoke", "2", "--detach", *words)
    watched = cli("watch", started.out.strip(), "--plain")
    assert watched.code == 0
    assert "✓ smoke test passed: 2 steps logged; evaluated; a checkpoint saved; exit code 0" in watched.out
    full = cli("launch", started.out.strip(), "--promote", "--dry-run")
    assert full.out == cli("launch", "demo", "--dry-run", *words).out
    again = cli("launch", started.out.strip(), "--promote", "--detach")
    assert "step 6/6" in cli("watch", again.out.strip(), "--plain").out


@pytest.mark.slow
@pytest.mark.torch
def test_a_smoke_test_that_dies_fails_and_is_not_promoted(cli, tmp_path: Path) -> None:
    words = ["--set", f"output_dir={tmp_path / 'out'}", "--set", "fail_rank=1", "--set", "fail_step=1"]
    started = cli("launch", "demo", "--smoke", "2", "--detach", *words)
    watched = cli("watch", started.out.strip(), "--plain")
    assert watched.code == 1
    assert "✗ smoke test failed: exit code 1" in watched.out
    refused = cli("launch", started.out.strip(), "--promote")
    assert refused.code == 1
    assert "smoke test failed" in refused.err
