"""What is known of a box adds to a verdict and hides none of the config's own errors. Judge: the verdict without a box."""

from __future__ import annotations

import pytest

from prl_tui.core import checks
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.core.findings import Facts, Report
from tests.built_in import CATALOG

BOXES = [*(Facts(node_gpus=count) for count in (0, 1, 2, 3, 6, 8)), Facts(node_gpus=2, rows=1, val_rows=1)]
GPUS = ["0,1,2,2", "0,1,2", "0,x,2", "x", "-", "", "-1", "4,5,6,7", "0,1,2,3,4,5", "GPU-1,GPU-1"]
CHANGES: list[dict[str, object]] = [
    *({"cuda_visible_devices": gpus} for gpus in GPUS),
    *({"nproc_per_node": count} for count in (-1, 0, 3, 4.5, 5000)),
    *({"per_device_train_batch_size": count} for count in (-1, 0, 4.5)),
    {"num_infer_workers": 5}, {"num_infer_workers": 5, "cuda_visible_devices": "0,1,2,2"},
    {"tensor_parallel_size": 2}, {"vllm_tensor_parallel_size": 3}, {"num_generations": 3},
    {"deepspeed": "zero2", "use_vllm": False, "nproc_per_node": 2, "cuda_visible_devices": "0,1,2,3"},
]  # fmt: skip


def errors(report: Report) -> dict[tuple[str, str], str]:
    return {(one.code, one.field): one.message for one in report.findings if one.severity == "error"}


def changed(source: str, changes: dict[str, object]) -> RunConfig:
    recipe, _, preset = source.partition("/")
    one = resolve(CATALOG.recipes[recipe], preset)
    return one.with_values({key: value for key, value in changes.items() if key in one.settings}, Source.SET)


@pytest.mark.parametrize("source", ["prl-grpo/standard-4gpu", "swift-grpo", "swift-sft/lora-1gpu", "vlm-sft", "demo"])
def test_no_box_hides_an_error_of_the_config(source: str) -> None:
    for changes in CHANGES:
        one = changed(source, changes)
        own = errors(checks.check(one))
        for facts in BOXES:
            missing = own.keys() - errors(checks.check(one, facts)).keys()
            assert not missing, (changes, facts.node_gpus, missing)


def test_a_gpu_named_twice_is_told_on_a_box_without_gpus_too() -> None:
    one = changed("prl-grpo/standard-4gpu", {"cuda_visible_devices": "0,1,2,2"})
    here, anywhere = checks.check(one, Facts(node_gpus=0)), checks.check(one)
    told = [finding for finding in here.findings if finding.severity == "error"]
    assert [finding.code for finding in told] == ["devices-repeated", "processes-exceed-gpus", "node-without-gpu"]
    assert [finding.fixes[0].changes for finding in told[:2]] == [{"cuda_visible_devices": "0,1,2,3"}] * 2
    assert told[:2] == [finding for finding in anywhere.findings if finding.severity == "error"]


def test_a_smaller_box_says_the_same_rule_once_with_its_own_figures() -> None:
    one = changed("prl-grpo/standard-4gpu", {"cuda_visible_devices": "0,1,2"})
    assert errors(checks.check(one, Facts(node_gpus=2))) == {
        ("processes-exceed-gpus", "nproc_per_node"): "4 processes need 4 GPUs; 2 visible.",
    }


def test_a_number_out_of_range_is_told_on_a_box_without_gpus_too() -> None:
    one = changed("prl-grpo/standard-4gpu", {"nproc_per_node": -1})
    assert ("out-of-range", "nproc_per_node") in errors(checks.check(one, Facts(node_gpus=0)))
