"""Flags against versions. Judges: the argument classes of ms-swift 3.3.0, 3.5.3 and 4.6.0 (tests/judges/swift_flags.py)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from prl_tui.core import catalog, checks, stacks
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.core.config_file import no_field
from prl_tui.core.findings import Facts, Finding, Fix
from prl_tui.core.flag_lives import LIVES
from prl_tui.core.plan import build
from tests.built_in import RECIPES

FLAGS = {
    found["judge"]["version"]: found
    for found in (
        json.loads(path.read_text()) for path in (Path(__file__).parents[1] / "fixtures/flags").glob("*.json")
    )
}
GRPO = resolve(RECIPES["prl-grpo"], "standard-4gpu")


def unknown(config: RunConfig, version: str, **facts: object) -> list[Finding]:
    report = checks.check(config, Facts(versions={"ms-swift": version}, **facts))
    return [finding for finding in report.findings if finding.code == "flag-unknown"]


@pytest.mark.parametrize("version", sorted(FLAGS))
@pytest.mark.parametrize("flag", sorted(LIVES))
def test_the_lives_of_flags_are_those_of_the_real_argument_classes(flag: str, version: str) -> None:
    known = {*FLAGS[version]["rlhf"], *FLAGS[version]["sft"]}
    assert LIVES[flag].knows(version) is (flag.removeprefix("--") in known)


@pytest.mark.parametrize("name", ["swift-grpo", "swift-sft", "swift-dpo", "swift-rm", "prl-grpo"])
def test_every_flag_of_a_recipe_is_known_to_the_version_that_it_is_made_for(name: str) -> None:
    version = "3.3.0" if name == "prl-grpo" else "4.6.0"
    known = set(FLAGS[version]["sft" if name == "swift-sft" else "rlhf"])
    assert {field.flag.removeprefix("--") for field in RECIPES[name].fields if field.flag} <= known


def test_prl_against_ms_swift_4_6_names_the_three_dead_flags_with_what_came_after_them() -> None:
    found = {finding.field: finding for finding in unknown(GRPO, "4.6.0")}
    assert set(found) == {"train_type", "num_infer_workers", "use_lmdeploy"}
    assert found["train_type"].message == "ms-swift 4.6.0 does not know --train_type."
    assert found["train_type"].why == "Since 4.0 it is called --tuner_type."
    assert "vllm_mode" in found["num_infer_workers"].why
    assert "vLLM" in found["use_lmdeploy"].why
    assert all(finding.severity == "error" for finding in found.values())


@pytest.mark.parametrize(("version", "dead"), [
    ("3.3.0.dev0", set()), ("3.4.0", set()), ("3.5.3", {"use_lmdeploy"}), ("3.6.0", {"use_lmdeploy", "num_infer_workers"}),
    ("4.0.3", {"use_lmdeploy", "num_infer_workers"}), ("4.1.0", {"use_lmdeploy", "num_infer_workers", "train_type"}),
])  # fmt: skip
def test_flags_die_one_after_the_other(version: str, dead: set[str]) -> None:
    assert {finding.field for finding in unknown(GRPO, version)} == dead


def test_a_new_flag_on_an_old_version_is_named_with_its_predecessor() -> None:
    config = resolve(RECIPES["swift-sft"], "lora-4gpu")
    (found,) = unknown(config, "3.12.6")
    assert found.why == "It came with 4.0; before, it was --train_type."


def test_a_flag_that_is_not_passed_is_no_matter() -> None:
    config = GRPO.with_values({"train_type": None, "use_lmdeploy": None}, Source.SET)
    assert [finding.field for finding in unknown(config, "4.6.0")] == ["num_infer_workers"]


# --- a generation that a person picks, with no environment to ask ----------------------------------------------


def picked(config: RunConfig, stack: str) -> list[Finding]:
    return [one for one in checks.check(config, stack_name=stack).findings if one.code == "flag-unknown"]


@pytest.mark.parametrize(("stack", "version"), [("swift-3.3-prl", "3.3"), ("swift-3.5", "3.5"), ("swift-4.4", "4.6")])
@pytest.mark.parametrize("name", ["swift-grpo", "swift-sft", "swift-dpo", "swift-rm", "prl-grpo"])
def test_a_picked_stack_names_exactly_the_flags_that_the_real_argument_classes_lack(
    name: str, stack: str, version: str
) -> None:
    config = resolve(RECIPES[name], RECIPES[name].data.default_preset)
    judge = next(found for of, found in FLAGS.items() if of.startswith(version))
    known = {f"--{flag}" for flag in judge["sft" if name == "swift-sft" else "rlhf"]}
    passed = {argument.flag for argument in build(config).arguments if argument.flag and argument.words}
    own = {field.flag for field in config.recipe.fields if field.flag and not field.before}
    named = {config.recipe.by_key[finding.field].flag for finding in picked(config, stack)}
    assert named == (passed & own) - known


def test_a_picked_stack_names_what_came_after_each_flag_and_what_is_missing() -> None:
    """Judge: ms-swift 4.6.0's RLHFArguments, which refuses use_vllm without vllm_mode."""
    found = {finding.field: finding for finding in checks.check(GRPO, stack_name="swift-4.4").findings}
    assert found["train_type"].message == "ms-swift 4.4 and later does not know --train_type."
    assert found["train_type"].why == "Since 4.0 it is called --tuner_type."
    assert found["use_vllm"].message == "ms-swift 4.4 and later wants --vllm_mode with --use_vllm."
    without = GRPO.with_values({"use_vllm": False}, Source.SET)
    assert "vllm-mode-missing" not in {one.code for one in checks.check(without, stack_name="swift-4.4").findings}


def test_a_stack_of_the_form_is_judged_as_one_of_the_command_line_and_can_be_left_out() -> None:
    config = resolve(RECIPES["swift-sft"], "lora-4gpu").with_values({"stack": "swift-3.6"}, Source.SET)
    (found,) = [one for one in checks.check(config).findings if one.code == "flag-unknown"]
    assert (found.field, found.why) == ("tuner_type", "It came with 4.0; before, it was --train_type.")
    assert checks.check(config.with_values(found.fixes[0].changes, Source.FIX)).ok


def test_every_error_of_a_stack_that_the_form_picked_has_the_recipe_s_own_as_its_way_out() -> None:
    config = GRPO.with_values({"stack": "swift-3.12"}, Source.SET)
    found = [one for one in checks.check(config).findings if one.severity == "error"]
    assert {one.code for one in found} == {"flag-unknown", "vllm-mode-missing"}
    assert {one.fixes[0].label for one in found} == {"back to the recipe's own rules"}
    assert {fix.label for one in found for fix in one.fixes[1:]} == {
        "leave out generation workers, leave out LMDeploy, leave out tuning"
    }
    assert checks.check(config.with_values(found[-1].fixes[0].changes, Source.FIX)).ok


def test_a_flag_of_some_of_a_stack_s_versions_is_a_warning() -> None:
    """ms-swift 3.12 has no tuner_type, 4.0 has it (its releases); one stack stands for both."""
    config = resolve(RECIPES["swift-sft"], "lora-4gpu")
    found = checks.check(config, stack_name="swift-3.12").findings
    assert [(one.code, one.severity) for one in found] == [("flag-unknown-to-some", "warning")]


def test_the_recipe_s_own_stack_and_an_installed_version_are_judged_as_before() -> None:
    assert not picked(GRPO, "")
    assert not picked(GRPO, "swift-3.3-prl")
    report = checks.check(GRPO, Facts(versions={"ms-swift": "3.3.0"}), "swift-4.4")
    assert "flag-unknown" not in {finding.code for finding in report.findings}


STACKS = [name for name in stacks.STACKS if name.startswith("swift-")]
SWIFT = [
    f"{name}/{preset}"
    for name in ("swift-grpo", "swift-sft", "swift-dpo", "swift-rm", "prl-grpo")
    for preset in RECIPES[name].presets
]


def of_versions(config: RunConfig, stack: str) -> list[Finding]:
    codes = {"flag-unknown", "flag-unknown-to-some", "vllm-mode-missing"}
    return [one for one in checks.check(config, stack_name=stack).findings if one.code in codes]


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("source", SWIFT)
def test_what_is_left_out_for_a_stack_makes_all_flags_known_that_can_be_and_changes_nothing(
    source: str, stack: str
) -> None:
    config = resolve(RECIPES[source.partition("/")[0]], source.partition("/")[2])
    same = {
        "tuner_type": "lora", "train_type": "lora", "use_lmdeploy": False,
        "num_infer_workers": config.value("nproc_per_node"),  # its engines are where colocate has them
        "vllm_tensor_parallel_size": 1,
    }  # fmt: skip
    for finding in of_versions(config, stack):
        for fix in finding.fixes:
            assert {key: config.value(key) for key in fix.changes} == {key: same[key] for key in fix.changes}
            left = of_versions(config.with_values(fix.changes, Source.FIX), stack)
            assert finding.field not in {one.field for one in left}
            assert not any(one.fixes for one in left), "one way out mends all that can be"


@pytest.mark.parametrize(("source", "stack", "changes", "label"), [
    ("swift-sft/lora-4gpu", "swift-3.5", {"tuner_type": None}, "leave out tuning"),
    ("swift-sft/lora-4gpu", "swift-3.12", {"tuner_type": None}, "leave out tuning"),
    ("swift-grpo/colocate-4gpu", "swift-3.7", {"tuner_type": None}, "leave out tuning"),
    ("prl-grpo/standard-4gpu", "swift-3.5", {"use_lmdeploy": None}, "leave out LMDeploy"),
    ("prl-grpo/standard-4gpu", "swift-3.6", {"num_infer_workers": None, "use_lmdeploy": None},
     "leave out generation workers, leave out LMDeploy"),
])  # fmt: skip
def test_a_flag_that_says_what_the_stack_does_without_it_can_be_left_out(
    source: str, stack: str, changes: dict[str, None], label: str
) -> None:
    config = resolve(RECIPES[source.partition("/")[0]], source.partition("/")[2])
    found = of_versions(config, stack)
    assert found
    assert {(repr(fix.changes), fix.label) for one in found for fix in one.fixes} == {(repr(changes), label)}
    assert checks.check(config.with_values(changes, Source.FIX), stack_name=stack).ok


@pytest.mark.parametrize(("source", "stack", "changes", "stay"), [
    ("swift-sft/full-8gpu", "swift-3.5", {}, {"tuner_type"}),  # without the flag it would be LoRA
    ("swift-sft/full-8gpu", "swift-3.12", {}, {"tuner_type"}),
    ("swift-grpo/colocate-4gpu", "swift-3.4", {}, {"vllm_mode"}),  # one generation worker, not four
    ("swift-grpo/colocate-4gpu", "swift-3.4", {"vllm_mode": None, "use_vllm": False, "vllm_tensor_parallel_size": 2},
     {"vllm_tensor_parallel_size"}),
    ("swift-rm/lora-1gpu", "swift-3.4", {"center_rewards_coefficient": 0.1}, {"center_rewards_coefficient"}),
    ("prl-grpo/standard-4gpu", "swift-3.5", {"use_lmdeploy": True, "use_vllm": None}, {"use_lmdeploy"}),
    ("prl-grpo/standard-4gpu", "swift-3.6", {"num_infer_workers": 2}, {"num_infer_workers"}),
    ("prl-grpo/standard-4gpu", "swift-3.12", {}, {"use_vllm"}),  # which wants a vllm_mode
    ("swift-grpo/colocate-2gpu", "swift-3.5", {"num_generations_eval": 4}, {"num_generations_eval"}),
])  # fmt: skip
def test_a_flag_without_which_the_run_would_be_another_stays_and_keeps_no_way_out_from_the_rest(
    source: str, stack: str, changes: dict[str, object], stay: set[str]
) -> None:
    config = resolve(RECIPES[source.partition("/")[0]], source.partition("/")[2]).with_values(changes, Source.SET)
    found = of_versions(config, stack)
    assert {one.field for one in found if not one.fixes} == stay
    for fix in [fix for one in found for fix in one.fixes]:
        left = of_versions(config.with_values(fix.changes, Source.FIX), stack)
        assert {one.field for one in left} == stay


BOTH = """
schema = 1
name = "both"
title = { en = "a recipe for ms-swift 3 and 4" }
launcher = "torchrun"
stack = "swift-4.4"
[program.torchrun]
module = "swift.cli.sft"
""" + "".join(
    f"""
[[field]]
key = "{key}"
type = "choice"
group = "model"
label = {{ en = "{key}" }}
choices = ["lora", "full"]
flag = "--{key}"
""" for key in ("train_type", "tuner_type")
)  # fmt: skip


@pytest.mark.parametrize("version", ["3.12.6", "4.6.0"])
def test_a_recipe_that_has_both_names_takes_the_other_one(config_dir: Path, version: str) -> None:
    (config_dir / "both.toml").write_text(BOTH)
    made = catalog.load([config_dir])
    assert not made.problems
    wrong, right = ("tuner_type", "train_type") if version < "4" else ("train_type", "tuner_type")
    config = resolve(made.recipes["both"]).with_values({wrong: "full"}, Source.SET)
    fix = Fix({wrong: None, right: "full"}, f"--{wrong} → --{right}")
    assert [one.fixes for one in unknown(config, version)] == [(fix,)]
    assert [one.fixes for one in picked(config, "swift-3.7" if version < "4" else "swift-4.4")] == [(fix,)]
    assert no_field(config, "sft_type").endswith("did you mean train_type?")


def test_an_installed_version_that_the_recipe_is_not_for_is_no_matter_of_single_flags() -> None:
    assert all(not one.fixes for one in unknown(resolve(RECIPES["swift-sft"], "lora-4gpu"), "3.12.6"))


@pytest.mark.parametrize(("recipe", "typed", "meant"), [
    ("swift-sft", "train_type", "tuner_type"), ("swift-sft", "--train_type", "tuner_type"),
    ("swift-dpo", "sft_type", "tuner_type"), ("prl-grpo", "tuner_type", "train_type"),
    ("swift-grpo", "tensor_parallel_size", "vllm_tensor_parallel_size"),
    ("swift-grpo", "num_infer_workers", "vllm_mode"), ("swift-sft", "torch_type", "torch_dtype"),
    ("minionerec-sft", "train_type", "train_file"),
])  # fmt: skip
def test_a_name_of_another_version_is_answered_by_the_field_that_says_it(recipe: str, typed: str, meant: str) -> None:
    assert no_field(resolve(RECIPES[recipe]), typed).endswith(f"; did you mean {meant}?")


# --- a launcher inside a launcher -------------------------------------------------------------------------------

NESTED = """
schema = 1
name = "nested"
title = { en = "torchrun … swift rlhf" }
launcher = "torchrun"
arguments = ["rlhf", "--rlhf_type", "grpo"]
needs_gpu = false
[program.torchrun]
script = "/opt/venv/bin/swift"
[[field]]
key = "NPROC_PER_NODE"
type = "int"
group = "launch"
label = { en = "ranks of swift" }
env = "NPROC_PER_NODE"
variable = "PRL_SWIFT_NPROC"
min = 1
max = 64
[presets.two]
values = { nproc_per_node = 2 }
"""


@pytest.fixture
def nested(config_dir: Path) -> RunConfig:
    """A double of a script that starts the swift command by torchrun."""
    (config_dir / "nested.toml").write_text(NESTED)
    found = catalog.load([config_dir])
    assert not found.problems
    return resolve(found.recipes["nested"], "two")


def codes(config: RunConfig, **inherited: str) -> list[str]:
    return [finding.code for finding in checks.check(config, Facts(inherited=inherited)).findings]


def test_torchrun_around_the_swift_command_with_nproc_is_an_error_with_a_way_out(nested: RunConfig) -> None:
    assert build(nested).argv[:4] == ("torchrun", "--nproc_per_node=2", "--standalone", "/opt/venv/bin/swift")
    assert codes(nested) == []
    both = nested.with_values({"NPROC_PER_NODE": 2}, Source.SET)
    (found,) = checks.check(both).findings
    assert (found.code, found.severity) == ("launcher-in-launcher", "error")
    assert found.message.startswith("torchrun starts the ranks, and the swift command in each of them starts its own")
    assert checks.check(both.with_values(found.fixes[0].changes, Source.FIX)).ok


def test_a_variable_around_the_launch_nests_launchers_too(nested: RunConfig) -> None:
    assert codes(nested, NPROC_PER_NODE="2") == ["launcher-in-launcher"]
    assert codes(nested, NNODES="2") == ["launcher-in-launcher"]


def test_the_module_form_below_torchrun_is_no_launcher() -> None:
    assert "launcher-in-launcher" not in codes(GRPO, NPROC_PER_NODE="4")


def test_the_swift_command_must_not_get_its_ranks_from_around() -> None:
    one = resolve(RECIPES["swift-sft"], "lora-1gpu")
    assert "environment-launcher" in codes(one, NPROC_PER_NODE="4")
    several = one.with_values({"nproc_per_node": 2, "cuda_visible_devices": "0,1"}, Source.SET)
    assert "environment-launcher" not in codes(several, NPROC_PER_NODE="4")
    assert "environment-launcher" in codes(several, NNODES="4")


# --- commands of one's own --------------------------------------------------------------------------------------


def custom(**values: object) -> RunConfig:
    return resolve(RECIPES["custom"], "torchrun").with_values(values, Source.SET)


def test_a_dead_flag_among_free_arguments_is_named_and_nothing_is_left_out_for_the_person() -> None:
    config = custom(module="swift.cli.rlhf", arguments="--rlhf_type dpo --train_type lora --use_lmdeploy false")
    found = unknown(config, "4.6.0")
    assert [(finding.field, finding.message) for finding in found] == [
        ("arguments", "ms-swift 4.6.0 does not know --train_type."),
        ("arguments", "ms-swift 4.6.0 does not know --use_lmdeploy."),
    ]
    assert not any(finding.fixes for finding in found)


def test_a_command_of_one_s_own_that_is_no_ms_swift_may_have_any_flag() -> None:
    assert unknown(custom(script="train.py", arguments="--train_type lora"), "4.6.0") == []


def test_free_variables_can_nest_launchers() -> None:
    config = custom(script="/opt/venv/bin/swift", arguments="rlhf --rlhf_type dpo", environment="NPROC_PER_NODE=2")
    assert "launcher-in-launcher" in codes(config)
    assert "launcher-in-launcher" not in codes(config.with_values({"environment": None}, Source.SET))


def test_a_flag_that_was_renamed_twice_is_told_by_its_name_of_now() -> None:
    """ms-swift 3.0 named --sft_type --train_type, and 4.0 that one --tuner_type."""
    config = custom(module="swift.cli.sft", arguments="--sft_type lora")
    for version, since, other in (("4.6.0", "4.0", "--tuner_type"), ("3.5.3", "3.0", "--train_type")):
        [found] = unknown(config, version)
        assert found.why == f"Since {since} it is called {other}."


def test_a_stack_that_the_command_line_picks_has_no_way_out_among_the_fields() -> None:
    """`--stack` wins over the field: another value there mends nothing."""
    config = resolve(RECIPES["prl-grpo"], "standard-4gpu").with_values({"stack": "swift-3.12"}, Source.SET)
    found = [one for one in checks.check(config, stack_name="swift-4.4").findings if one.code == "flag-unknown"]
    assert found
    assert not any("stack" in fix.changes for one in found for fix in one.fixes)
