"""Every fix passes every rule, and where one field alone can mend a config, one is offered: against brute force."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prl_tui.core import assess, catalog, checks
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.core.findings import Facts
from prl_tui.core.sieve import Sieve

CATALOG = catalog.load()
GRID = range(1, 17)


def broken(recipe: str, values: dict[str, object]) -> RunConfig:
    return resolve(CATALOG.recipes[recipe]).with_values(values, Source.SET)


def offers(config: RunConfig, facts: Facts) -> list[dict[str, object]]:
    report = checks.check(config, facts)
    errors = [finding for finding in report.findings if finding.severity == "error"]
    return [dict(fix.changes) for finding in errors for fix in finding.fixes]


def passes(config: RunConfig, changes: dict[str, object], facts: Facts) -> bool:
    return checks.check(config.with_values(changes, Source.FIX), facts).ok


def mended_by_one_field(config: RunConfig, fields: tuple[str, ...], facts: Facts) -> bool:
    return any(passes(config, {key: value}, facts) for key in fields for value in GRID if config.value(key) != value)


small = st.integers(1, 8)
TUNED = {
    "prl-grpo": ("num_generations", "per_device_train_batch_size", "per_device_eval_batch_size", "nproc_per_node"),
    "swift-grpo": (
        "num_generations", "per_device_train_batch_size", "gradient_accumulation_steps", "steps_per_generation",
        "nproc_per_node",
    ),
    "minionerec-sft": ("batch_size", "micro_batch_size", "nproc_per_node"),
    "demo": ("global_batch_size", "per_device_train_batch_size", "nproc_per_node"),
}  # fmt: skip


@st.composite
def cases(draw: st.DrawFn, recipe: str) -> dict[str, object]:
    values: dict[str, object] = {key: draw(small) for key in TUNED[recipe]}
    if "num_generations" in values:
        values["num_generations"] = draw(st.integers(2, 17))
    if recipe == "swift-grpo" and draw(st.booleans()):
        del values["steps_per_generation"]
    if recipe == "minionerec-sft":
        values["batch_size"] = draw(st.integers(1, 64))
    if recipe == "demo":
        values["global_batch_size"] = draw(st.integers(1, 40))
    if recipe == "prl-grpo":
        values["cuda_visible_devices"] = ",".join(map(str, range(draw(small))))
        values["num_infer_workers"] = draw(st.integers(1, 4))
    return values


@pytest.mark.parametrize("recipe", list(TUNED))
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_fixes_beside_brute_force(recipe: str, data: st.DataObject) -> None:
    config = broken(recipe, data.draw(cases(recipe)))
    facts = Facts(node_gpus=16 if recipe == "prl-grpo" else None)
    found = offers(config, facts)
    for changes in found:
        assert passes(config, changes, facts), changes
    if not checks.check(config, facts).ok and mended_by_one_field(config, TUNED[recipe], facts):
        assert any(len(changes) == 1 for changes in found)


@pytest.mark.parametrize("recipe", list(TUNED))
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_the_sieve_never_holds_back_a_sound_change(recipe: str, data: st.DataObject) -> None:
    config = broken(recipe, data.draw(cases(recipe)))
    case = assess.case(config, assess.stack_of(config), 16)
    changes = data.draw(st.dictionaries(st.sampled_from(TUNED[recipe]), st.integers(1, 12), min_size=1, max_size=2))
    if not assess.assess(case.with_values(changes)).errors:
        assert Sieve(case).may_pass(changes)


def test_the_guides_example_gets_its_own_ways_out() -> None:
    """The guide's example: 4 × 4 = 16 on 3 generations; its ways out are 2 generations or a batch of 3."""
    report = checks.check(broken("prl-grpo", {"num_generations": 3}))
    labels = [fix.label for fix in report.findings[0].fixes]
    assert labels[0] == "generations 3 → 2"
    assert "per-device batch 4 → 3" in labels


def test_seven_processes_and_eight_generations_offer_seven() -> None:
    """A report to open-r1: one of eight cards kept for vLLM, "(7 x 1)" on 8 generations."""
    values = {
        "nproc_per_node": 7,
        "per_device_train_batch_size": 1,
        "num_generations": 8,
        "cuda_visible_devices": "0,1,2,3,4,5,6",
    }
    fixes = offers(broken("prl-grpo", values), Facts())
    assert {"num_generations": 7} in fixes
    assert {"per_device_train_batch_size": 8} in fixes
