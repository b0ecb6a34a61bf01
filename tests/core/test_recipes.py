"""The shipped recipes as data: shape, both languages, and the PRL guide's variables and presets by name."""

from __future__ import annotations

import re

import pytest

from prl_tui.core import checks
from prl_tui.core.config import Source, resolve
from prl_tui.core.findings import Facts
from prl_tui.core.recipe import GROUPS, Recipe, build
from prl_tui.core.value import replace
from tests.built_in import CATALOG

RECIPES = [pytest.param(recipe, id=recipe.name) for recipe in CATALOG.recipes.values()]
PRESETS = [pytest.param(r, name, id=f"{r.name}-{name}") for r in CATALOG.recipes.values() for name in r.presets]
PRL = CATALOG.recipes["prl-grpo"]

# The table of variables in PRL's guide to its script mr_qwen_qwen_4gpu.sh, and the five more that the script itself has.
GUIDE = {
    "PRL_CUDA_VISIBLE_DEVICES": "0,1,2,3", "PRL_NPROC_PER_NODE": "4", "PRL_MASTER_PORT": "29500",
    "PRL_PER_DEVICE_TRAIN_BATCH_SIZE": "4", "PRL_PER_DEVICE_EVAL_BATCH_SIZE": "4",
    "PRL_GRADIENT_ACCUMULATION_STEPS": "1", "PRL_NUM_GENERATIONS": "2", "PRL_NUM_INFER_WORKERS": "4",
    "PRL_VLLM_GPU_MEMORY_UTILIZATION": "0.40", "PRL_DATALOADER_NUM_WORKERS": "0", "PRL_DATASET_NUM_PROC": "8",
    "PRL_MAX_COMPLETION_LENGTH": "768", "PRL_EVAL_STEPS": "200", "PRL_SAVE_STEPS": "200", "PRL_LOGGING_STEPS": "10",
}  # fmt: skip
SCRIPT = {
    "PRL_MAX_LENGTH": "2048", "PRL_NUM_TRAIN_EPOCHS": "10", "PRL_LEARNING_RATE": "1e-6", "PRL_TEMPERATURE": "0.9",
    "PRL_SEED": "5",
}  # fmt: skip
# Read by the program itself: without them it dies with KeyError after the model has loaded.
UNPREFIXED = {
    "DATASET": "mr", "NUMBER_OF_SAMPLES": "100", "NUMBER_OF_PROMPTS": "10", "ADVERSARIAL": "0", "REASONING": "True",
}  # fmt: skip
# The guide's section 5: GPUs, per-device batch, generations, global batch.
SECTION_5 = {
    "quick-test": (2, 2, 2, 4),
    "standard-2gpu": (2, 4, 2, 8),
    "standard-4gpu": (4, 4, 2, 16),
    "high-throughput-4gpu": (4, 4, 4, 16),
    "large-batch-4gpu": (4, 8, 4, 32),
}


def test_nothing_that_ships_is_skipped() -> None:
    assert CATALOG.problems == ()
    assert {"demo", "prl-grpo"} <= set(CATALOG.recipes)


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_says_everything_in_both_languages(recipe: Recipe) -> None:
    assert recipe.data.title.en
    assert recipe.data.title.zh
    for field in recipe.fields:
        for text in (field.label, field.help):
            assert text.en, field.key
            assert text.zh, field.key
        assert bool(field.unit.en) == bool(field.unit.zh), field.key
    for name, preset in recipe.presets.items():
        assert preset.title.en, name
        assert preset.title.zh, name


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_is_well_shaped(recipe: Recipe) -> None:
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]*", recipe.name)
    assert recipe.data.default_preset in recipe.presets
    overrides = [field.override for field in recipe.fields]
    assert len(set(overrides)) == len(overrides), "two fields share a variable"
    for field in recipe.fields:
        assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", field.override), field.key
        assert field.flag == "" or re.fullmatch(r"--[A-Za-z][\w-]*", field.flag), field.key
        assert (field.type == "choice") == bool(field.choices), field.key
        assert field.group in GROUPS
        if field.type in {"int", "float"}:
            assert field.min is not None, field.key
            assert field.max is not None, field.key


@pytest.mark.parametrize(("recipe", "name"), PRESETS)
def test_every_preset_checks_without_an_error(recipe: Recipe, name: str) -> None:
    report = checks.check(resolve(recipe, name))
    assert [finding.message for finding in report.findings if finding.severity == "error"] == []


@pytest.mark.parametrize(("variable", "default"), [*GUIDE.items(), *SCRIPT.items(), *UNPREFIXED.items()])
def test_each_variable_of_the_prl_script_is_a_field_with_its_default(variable: str, default: str) -> None:
    found = [field for field in PRL.fields if field.override == variable]
    assert len(found) == 1
    assert resolve(PRL).text(found[0].key) == default


@pytest.mark.parametrize("variable", UNPREFIXED)
def test_the_unprefixed_variables_reach_the_program_under_their_own_name(variable: str) -> None:
    assert PRL.by_key[variable].env == variable


@pytest.mark.parametrize(("name", "columns"), SECTION_5.items())
def test_the_presets_of_the_guide_have_its_batch_columns(name: str, columns: tuple[int, ...]) -> None:
    config = resolve(PRL, name)
    batch = checks.check(config).batch
    assert (
        config.number("nproc_per_node"), config.number("per_device_train_batch_size"),
        config.number("num_generations"), batch.global_batch,
    ) == columns  # fmt: skip


def test_standard_4gpu_is_what_the_recipe_does_without_a_preset() -> None:
    assert resolve(PRL, "standard-4gpu").changed() == ()
    plain, preset = resolve(PRL), resolve(PRL, "standard-4gpu")
    assert {key: plain.value(key) for key in plain.settings} == {key: preset.value(key) for key in preset.settings}


@pytest.mark.parametrize("name", ["swift-grpo", "swift-sft", "swift-dpo", "swift-rm"])
def test_a_run_on_the_cpu_needs_no_gpu(name: str) -> None:
    config = resolve(CATALOG.recipes[name], CATALOG.recipes[name].data.default_preset)
    gpus = config.with_values({"cuda_visible_devices": None, "use_vllm": False, "vllm_mode": None}
                              if name == "swift-grpo" else {"cuda_visible_devices": None}, Source.SET)  # fmt: skip
    report = checks.check(gpus, Facts(node_gpus=0))
    assert [finding.code for finding in report.findings if finding.severity == "error"] == ["node-without-gpu"]
    assert checks.check(gpus.with_values({"use_cpu": "true"}, Source.SET), Facts(node_gpus=0)).ok


def test_the_cpu_field_must_exist() -> None:
    data = replace(CATALOG.recipes["swift-sft"].data, cpu="no_such_field", shared=())
    with pytest.raises(ValueError, match="cpu: there is no such field as no_such_field"):
        build(replace(data, defaults={}, presets={}), {}, "")


def test_what_can_be_mended_has_its_way_out_on_a_node_without_gpus_too() -> None:
    config = resolve(PRL, "standard-4gpu").with_values({"num_generations": 3}, Source.SET)
    here, anywhere = checks.check(config, Facts(node_gpus=0)), checks.check(config)
    by_code = {finding.code: finding.fixes for finding in here.findings if finding.severity == "error"}
    assert by_code.pop("node-without-gpu") == ()
    assert by_code == {finding.code: finding.fixes for finding in anywhere.findings if finding.severity == "error"}
    assert all(by_code.values())
