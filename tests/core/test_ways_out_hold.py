"""What is offered beside the search of fixes works too, and no number of a form ends the check."""

from __future__ import annotations

from itertools import combinations

import pytest

from prl_tui.core import catalog, checks
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.core.findings import Facts, Finding
from tests.built_in import CATALOG
from tests.core.test_unsound_recipes import RECIPE

ALL = [f"{recipe.name}/{preset}" for recipe in CATALOG.recipes.values() for preset in recipe.presets]


def config(source: str, **changes: object) -> RunConfig:
    recipe, _, preset = source.partition("/")
    return resolve(CATALOG.recipes[recipe], preset).with_values(changes, Source.SET)


def of(code: str, one: RunConfig, facts: Facts | None = None) -> list[Finding]:
    return [finding for finding in checks.check(one, facts or Facts()).findings if finding.code == code]


@pytest.mark.slow
@pytest.mark.parametrize("source", ALL)
def test_no_number_ends_the_check(source: str) -> None:
    base = config(source)
    writes = [{}, *(dict(one.when) for one in base.recipe.data.write if one.when)]
    numbers = [field.key for field in base.recipe.fields if field.type in {"int", "float"}]
    for written in writes:
        one = base.with_values(written, Source.SET)
        for key in numbers:
            for value in (0, -1, 10**14):
                checks.check(one.with_values({key: value}, Source.SET), Facts(rows=17, val_rows=5, node_gpus=0))
        for pair in combinations([key for key in numbers if base.recipe.by_key[key].group in {"batch", "launch"}], 2):
            checks.check(one.with_values(dict.fromkeys(pair, 0), Source.SET), Facts(rows=17, val_rows=5))


@pytest.mark.parametrize("value", ["1", 1, 0.9, "1e0"])
def test_a_share_beyond_what_is_known_goes_back_to_what_is(value: object) -> None:
    one = config("prl-grpo/standard-4gpu", vllm_gpu_memory_utilization=value)
    [finding] = of("beyond-known", one)
    assert finding.fixes[0].changes == {"vllm_gpu_memory_utilization": 0.62}
    assert checks.check(one.with_values(finding.fixes[0].changes, Source.FIX)).ok


@pytest.mark.parametrize("source", ["demo/two-ranks", "swift-sft/lora-1gpu"])
def test_a_scaled_learning_rate_is_within_its_bounds(source: str) -> None:
    key = "global_batch_size" if source.startswith("demo") else "gradient_accumulation_steps"
    one = config(source, **{key: 8192 if source.startswith("demo") else 65536})
    for finding in of("learning-rate-scaling", one):
        for fix in finding.fixes:
            assert checks.check(one.with_values(fix.changes, Source.FIX)).ok


def test_a_file_is_not_to_be_written_from_a_value_that_is_wrong() -> None:
    assert of("field-without-effect", config("reward-model", batch_size=16))[0].fixes
    [finding] = of("field-without-effect", config("reward-model", batch_size=0))
    assert finding.fixes == ()


@pytest.fixture
def eights(tmp_path: object) -> RunConfig:
    """A recipe of one's own whose batch is a multiple of 8."""
    text = RECIPE.replace("multiple = 1", "multiple = 8").replace("each = 2", "each = 8")
    text = text.replace("default = 1\nmin = 1\nmax = 64", "default = 8\nmin = 1\nmax = 63")
    (tmp_path / "mine.toml").write_text(text)  # type: ignore[operator]
    found = catalog.load([tmp_path])  # type: ignore[list-item]
    assert found.problems == ()
    return resolve(found.recipes["mine"], "small")


@pytest.mark.parametrize("value", [0, 1, 3, 7, 9, 60, 61, 64, 1000])
def test_ways_out_keep_to_the_multiple_of_a_field(eights: RunConfig, value: int) -> None:
    one = eights.with_values({"each": value}, Source.SET)
    fixes = [fix for finding in checks.check(one).findings if finding.severity == "error" for fix in finding.fixes]
    assert fixes
    for fix in fixes:
        assert checks.check(one.with_values(fix.changes, Source.FIX)).ok, fix
        assert 8 <= fix.changes["each"] <= 56


@pytest.mark.parametrize("source", ["demo/one-process", "demo/two-ranks", "custom/torchrun"])
@pytest.mark.parametrize("spec", ["5", "0", "0,0", "x", "-"])
def test_without_gpus_a_wrong_list_goes_where_none_is_needed(source: str, spec: str) -> None:
    one = config(source, cuda_visible_devices=spec, **({"script": "a.py"} if source.startswith("custom") else {}))
    wrong = [found for found in checks.check(one, Facts(node_gpus=0)).findings if found.severity == "error"]
    assert wrong
    for found in wrong:
        assert found.fixes[0].changes == {"cuda_visible_devices": None}
        assert checks.check(one.with_values(found.fixes[0].changes, Source.FIX), Facts(node_gpus=0)).ok


ON_CPU = [
    f"{recipe.name}/{preset}" for recipe in CATALOG.recipes.values() if recipe.data.cpu for preset in recipe.presets
]


@pytest.mark.parametrize("source", ON_CPU)
def test_a_node_without_gpus_leaves_the_cpu_where_the_recipe_has_a_field_for_it(source: str) -> None:
    one, bare = config(source), Facts(node_gpus=0)
    [finding] = of("node-without-gpu", one, bare)
    [fix] = finding.fixes
    assert fix.changes["use_cpu"] is True
    assert fix.label.startswith("on the CPU – → true, ")
    assert fix.changes["cuda_visible_devices"] is None, "a list of GPUs that are not there"
    mended = one.with_values(fix.changes, Source.FIX)
    assert checks.check(mended, bare).ok
    assert not ("use_vllm" in mended.settings and mended.value("use_vllm")), "its engines run on the GPUs"


def test_without_a_list_of_gpus_only_the_field_for_the_cpu_changes() -> None:
    [finding] = of("node-without-gpu", config("swift-sft/lora-1gpu", cuda_visible_devices=None), Facts(node_gpus=0))
    assert [(fix.changes, fix.label) for fix in finding.fixes] == [({"use_cpu": True}, "on the CPU – → true")]


def test_a_server_that_generates_elsewhere_goes_too() -> None:
    """It gets the weights by NCCL from a GPU: `VLLMClient.init_communicator` of ms-swift 4.6.0."""
    one = config("swift-grpo/colocate-4gpu", vllm_mode="server", vllm_server_host="a", vllm_server_port=8001)
    [finding] = of("node-without-gpu", one, Facts(node_gpus=0))
    changes = finding.fixes[0].changes
    assert {key for key, value in changes.items() if value is None} == {
        "cuda_visible_devices", "vllm_mode", "vllm_server_host", "vllm_server_port",
    }  # fmt: skip
    assert (changes["use_cpu"], changes["use_vllm"]) == (True, False)
    assert checks.check(one.with_values(changes, Source.FIX), Facts(node_gpus=0)).ok


@pytest.mark.parametrize("source", ON_CPU)
@pytest.mark.parametrize(("values", "asked"), [
    ({"ddp_backend": "nccl", "launcher": "torchrun"}, {"ddp_backend": "gloo"}),
    ({"attn_impl": "flash_attn"}, {"attn_impl": "sdpa"}),
    ({"ddp_backend": "nccl", "launcher": "swift", "nproc_per_node": 1, "gradient_accumulation_steps": 8},
     {"ddp_backend": None}),
])  # fmt: skip
def test_the_way_to_the_cpu_takes_what_needs_gpus_along(
    source: str, values: dict[str, object], asked: dict[str, object]
) -> None:
    one, bare = config(source, **values), Facts(node_gpus=0)
    [finding] = of("node-without-gpu", one, bare)
    changes = finding.fixes[0].changes
    assert asked.items() <= changes.items()
    assert checks.check(one.with_values(changes, Source.FIX), bare).ok


@pytest.mark.parametrize(("source", "stage"), [("swift-sft/full-8gpu", None), ("swift-grpo/colocate-8gpu", "zero2")])
def test_the_way_to_the_cpu_keeps_the_processes_and_gives_up_what_stops_several(source: str, stage: str | None) -> None:
    one, bare = config(source, deepspeed="zero3"), Facts(node_gpus=0)
    [finding] = of("node-without-gpu", one, bare)
    changes = finding.fixes[0].changes
    assert changes["deepspeed"] == stage
    assert "nproc_per_node" not in changes
    assert checks.check(one.with_values(changes, Source.FIX), bare).ok


def test_the_way_to_the_cpu_gives_up_packing_which_flash_attention_is_for() -> None:
    one, bare = config("swift-sft/lora-4gpu", packing=True, attn_impl="flash_attn"), Facts(node_gpus=0)
    [finding] = of("node-without-gpu", one, bare)
    assert finding.fixes[0].changes == {
        "use_cpu": True, "attn_impl": "sdpa", "packing": None, "cuda_visible_devices": None,
    }  # fmt: skip
    assert checks.check(one.with_values(finding.fixes[0].changes, Source.FIX), bare).ok


@pytest.mark.parametrize("source", ["prl-grpo/standard-4gpu", "minionerec-rl", "vlm-sft"])
def test_a_recipe_that_needs_gpus_has_no_way_out_of_a_node_without(source: str) -> None:
    [finding] = of("node-without-gpu", config(source), Facts(node_gpus=0))
    assert finding.fixes == ()


@pytest.mark.parametrize("wrong", [
    {"num_generations": 3}, {"num_generations": 1}, {"cuda_visible_devices": "0,0"}, {"num_generations": "x"},
    {"generation_batch_size": 8, "steps_per_generation": 3}, {"vllm_mode": None}, {"use_cpu": "x"},
])  # fmt: skip
def test_the_way_to_the_cpu_mends_what_else_is_wrong(wrong: dict[str, object]) -> None:
    one, bare = config("swift-grpo", **wrong), Facts(node_gpus=0)
    [finding] = of("node-without-gpu", one, bare)
    assert checks.check(one.with_values(finding.fixes[0].changes, Source.FIX), bare).ok


@pytest.mark.parametrize("facts", [Facts(), Facts(node_gpus=8), Facts(node_gpus=0)])
def test_who_hides_every_gpu_is_offered_the_cpu_first(facts: Facts) -> None:
    one = config("swift-sft/lora-4gpu", cuda_visible_devices="-1")
    wrong = [found for found in checks.check(one, facts).findings if found.severity == "error"]
    assert {"devices-none", "processes-exceed-gpus"} <= {found.code for found in wrong}
    assert {repr(found.fixes[0].changes) for found in wrong} == {"{'use_cpu': True}"}
    assert checks.check(one.with_values({"use_cpu": True}, Source.FIX), facts).ok


def test_too_few_gpus_are_no_reason_for_the_cpu() -> None:
    for one, facts in (
        (config("swift-sft/lora-4gpu"), Facts(node_gpus=2)),
        (config("swift-sft/lora-4gpu", cuda_visible_devices="0,1"), Facts()),
        (config("swift-sft/lora-4gpu", cuda_visible_devices="x"), Facts()),
    ):
        fixes = [fix for found in checks.check(one, facts).findings for fix in found.fixes]
        assert fixes
        assert not any("use_cpu" in fix.changes for fix in fixes)


def errors(one: RunConfig, facts: Facts) -> set[tuple[str, str]]:
    return {(found.code, found.field) for found in checks.check(one, facts).findings if found.severity == "error"}


def test_a_way_out_of_a_warning_does_not_lead_into_an_error() -> None:
    one = config("safe-mm-dpo", lora_r=8)
    assert [fix.changes for found in of("field-without-effect", one) for fix in found.fixes] == [
        {"config_source": "generate"}
    ]
    [found] = of("field-without-effect", one, Facts(rows=7))  # with which an epoch is less than an update
    assert found.fixes == ()


@pytest.mark.slow
@pytest.mark.parametrize("source", ALL)
def test_no_way_out_makes_a_new_error(source: str) -> None:
    base = config(source)
    fields = [
        field for field in base.recipe.fields if field.group in {"batch", "launch", "data", "optim", "model", "adapter"}
    ]
    for field in fields:
        tried = {"int": (0, 3, 8, 10**6), "float": (0, 1, 0.5), "bool": (True, False)}.get(field.type, field.choices)
        for value in tried:
            one = base.with_values({field.key: value}, Source.SET)
            for facts in (Facts(rows=7), Facts(rows=1000, node_gpus=2)):
                report = checks.check(one, facts)
                now = {(found.code, found.field) for found in report.findings if found.severity == "error"}
                ways = {repr(fix.changes): fix for found in report.findings for fix in found.fixes}
                for fix in ways.values():
                    assert errors(one.with_values(fix.changes, Source.FIX), facts) <= now, (field.key, value, fix)
