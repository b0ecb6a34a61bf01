"""CUDA_VISIBLE_DEVICES, judged by torch 2.13.0's own `torch.cuda._parse_visible_devices`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prl_tui.core import checks, devices
from prl_tui.core.config import Source, resolve
from tests.built_in import CATALOG

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "fixtures" / "cases" / "E06.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_reported_forms_count_as_torch_counts_them(case: dict[str, object]) -> None:
    read = devices.read(case["CUDA_VISIBLE_DEVICES"], 4)  # type: ignore[arg-type]
    assert ("all" if read.listed is None else read.listed) == case["torch_parse_count"]
    if case["usable_on_a_4_gpu_host"] is not None:
        assert read.usable == case["usable_on_a_4_gpu_host"]


def test_a_full_width_digit_is_no_number() -> None:
    # torch's parser takes any Unicode digit, but the driver, which decides, reads bytes with strtoul.
    assert devices.read("１").entries == ()


def test_without_a_count_of_the_node_nothing_is_said_about_it() -> None:
    assert devices.read("0,1").usable is None
    assert devices.read("0,1").count == 2


ITEM = st.one_of(
    st.integers(-2, 12).map(str),
    st.sampled_from(["", " ", " 1", "1 ", "+1", "-", "+", "--1", "+-1", "- 1", "²", "1²", "9" * 4301,
                     "01", "1gpu", "x", "0-3", "0 1", "1.5", "GPU-a", "GPU-b", "MIG-a",
                     "MIG-b", "GPU-a ", " GPU-a", "MIG-GPU-a/1/2", "9" * 30, "\t2"]),
    st.text(st.characters(max_codepoint=127, exclude_characters="\x00,"), max_size=4),
)  # fmt: skip


@pytest.mark.torch
@given(st.lists(ITEM, min_size=0, max_size=6).map(",".join))
@settings(max_examples=600)
def test_any_list_is_read_as_torch_reads_it(spec: str) -> None:
    cuda = pytest.importorskip("torch.cuda")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUDA_VISIBLE_DEVICES", spec)
        try:
            judged = cuda._parse_visible_devices()
        except ValueError:  # torch itself fails: no program starts
            judged = None
    read = devices.read(spec)
    assert bool(read.unreadable) is (judged is None)
    assert list(read.entries) == (judged or [])


@pytest.mark.parametrize("spec", ["0,1,2,3,-", "+", "--1", "+-1", "0,-,1", "²"])
def test_what_torch_fails_on_is_an_error_with_a_way_out(spec: str) -> None:
    for source, preset in (("prl-grpo", "standard-4gpu"), ("swift-sft", "lora-1gpu"), ("custom", "torchrun")):
        one = resolve(CATALOG.recipes[source], preset).with_values({"cuda_visible_devices": spec}, Source.SET)
        [found] = [one for one in checks.check(one).findings if one.code == "devices-unreadable"]
        assert found.severity == "error"
        after = checks.check(one.with_values(found.fixes[0].changes, Source.FIX))
        assert not [one for one in after.findings if one.code.startswith("devices-")]
