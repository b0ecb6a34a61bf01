"""A batch that is rounded down has the nearest exact ones as its way out, each checked again; against brute force."""

from __future__ import annotations

import pytest

from prl_tui.core import checks
from prl_tui.core.config import Source, resolve
from tests.built_in import RECIPES
from tests.core.test_given import report

CODES = {"batch-rounds-down", "total-batch-rounds-down", "accumulation-without-effect"}


def config(recipe, preset="", **changes):
    if "config_source" in RECIPES[recipe].by_key:
        changes["config_source"] = "generate"
    if recipe == "minionerec-sft":
        changes["category"] = "Industrial_and_Scientific"
    return resolve(RECIPES[recipe], preset or RECIPES[recipe].data.default_preset).with_values(changes, Source.SET)


def told(one):
    return [finding for finding in checks.check(one).findings if finding.code in CODES]


@pytest.mark.parametrize(
    ("recipe", "changes", "sizes"),
    [
        ("minionerec-sft", {"nproc_per_node": 4, "batch_size": 1000}, [1024, 960]),
        ("minionerec-sft", {"nproc_per_node": 8, "batch_size": 1000}, [1024, 896]),
        ("minionerec-sft", {"nproc_per_node": 2, "micro_batch_size": 3, "batch_size": 10}, [12, 6]),
        ("minionerec-sft", {"nproc_per_node": 2, "micro_batch_size": 8, "batch_size": 1048575}, [1048576, 1048560]),
        ("vlm-sft", {"nproc_per_node": 2, "cuda_visible_devices": "0,1", "batch_size": 3}, [2, 4]),
        ("vlm-pretrain", {"nproc_per_node": 4, "cuda_visible_devices": "0,1,2,3", "batch_size": 11}, [12, 8]),
    ],
)
def test_the_nearest_exact_batches_are_offered(recipe, changes, sizes):
    one = config(recipe, **changes)
    (finding,) = told(one)
    now = changes["batch_size"]
    found = [fix.changes["batch_size"] for fix in finding.fixes]
    most = RECIPES[recipe].by_key["batch_size"].max
    assert found == [size for size in sizes if most is None or size <= most]
    before = {other.code for other in checks.check(one).findings}
    for size in found:
        after = {other.code for other in checks.check(one.with_values({"batch_size": size}, Source.FIX)).findings}
        assert after < before, size
        between = [n for n in range(min(size, now) + 1, max(size, now)) if abs(size - now) < 200]
        assert all(told(one.with_values({"batch_size": n}, Source.SET)) for n in between)


def test_a_batch_of_the_persons_own_yaml_is_mended_by_the_flag_that_wins_over_it():
    yaml = "training:\n  stage: sft\n  batch_size: 36\n  accumulation_steps: 4\n"
    changes = {"nproc_per_node": 8, "cuda_visible_devices": ""}
    found = report("vlm-sft", "four-gpu", yaml, batch_size="", **changes)
    (finding,) = [one for one in found.findings if one.code in CODES]
    assert [dict(fix.changes) for fix in finding.fixes] == [{"batch_size": 32}, {"batch_size": 40}]
    for fix in finding.fixes:
        assert CODES.isdisjoint(
            one.code for one in report("vlm-sft", "four-gpu", yaml, **changes, **fix.changes).findings
        )


def test_an_accumulation_that_does_nothing_can_be_said_as_it_is():
    one = config("reward-model", gradient_accumulation_steps=4)
    (finding,) = told(one)
    assert [dict(fix.changes) for fix in finding.fixes] == [{"gradient_accumulation_steps": 1}]
    assert not told(one.with_values(finding.fixes[0].changes, Source.FIX))


@pytest.mark.parametrize(
    ("preset", "changes", "ways"),
    [
        ("standard-4gpu", {"nproc_per_node": 3}, [{"num_infer_workers": 1}, {"nproc_per_node": 2}]),
        ("standard-4gpu", {"num_infer_workers": 3}, [{"num_infer_workers": 4}]),
        ("six-gpu", {"nproc_per_node": 4}, [{"num_infer_workers": 2}, {"nproc_per_node": 3}]),
        ("standard-4gpu", {"num_infer_workers": None}, [{"num_infer_workers": 4}, {"nproc_per_node": 3}]),
    ],
)
def test_workers_that_share_gpus_have_the_nearest_counts_that_do_not(preset, changes, ways):
    one = config("prl-grpo", preset, **changes)
    report = checks.check(one)
    (finding,) = [other for other in report.findings if other.severity == "warning"]
    assert finding.code == "infer-workers-overlap"
    assert [dict(fix.changes) for fix in finding.fixes] == ways
    assert dict(report.first_fix.changes) == ways[0]
    for fix in finding.fixes:
        after = checks.check(one.with_values(fix.changes, Source.FIX))
        assert (after.count("error"), after.count("warning")) == (0, 0)
