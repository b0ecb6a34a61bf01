"""A variable for a flag that the script's stack has under another name, or not at all. Judge: the flags of ms-swift's classes."""

from __future__ import annotations

import pytest

from prl_tui.core import flags, plan
from prl_tui.core.assess import stack_of
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.core.flag_lives import LIVES
from tests.built_in import RECIPES
from tests.core.test_flags import FLAGS
from tests.export.scripts import Bench


def config_of(recipe: str, stack: str, **values: object) -> RunConfig:
    return resolve(RECIPES[recipe]).with_values({"stack": stack, **values}, Source.SET)


@pytest.mark.parametrize(
    ("config", "variable", "value", "right"),
    [
        (config_of("swift-sft", "swift-3.5", tuner_type=None), "PRL_TUNER_TYPE", "full", "before, it was --train_type"),
        (
            config_of("swift-dpo", "swift-3.3-prl", tuner_type=None),
            "PRL_TUNER_TYPE",
            "lora",
            "before, it was --train_type",
        ),
    ],
)
def test_a_script_refuses_a_value_for_a_flag_that_its_stack_lacks_and_names_the_right_one(
    bench: Bench, config: RunConfig, variable: str, value: str, right: str
) -> None:
    """`--tuner_type full` went to an ms-swift 3.5, which stops every rank at its start."""
    done = bench.run_config(config, **{variable: value})
    assert (done.code, done.argv) == (1, None)
    assert f"{variable}: " in done.err
    assert right in done.err
    without = bench.run_config(config)
    assert without.code == 0
    assert without.argv is not None
    assert "--tuner_type" not in without.argv


def test_a_stack_that_knows_the_flag_takes_the_value(bench: Bench) -> None:
    done = bench.run_config(config_of("swift-sft", "swift-4.4", tuner_type=None), PRL_TUNER_TYPE="full")
    assert done.code == 0
    assert done.argv is not None
    assert done.argv[done.argv.index("--tuner_type") + 1] == "full"


@pytest.mark.parametrize(
    ("stack", "version"), [("swift-3.3-prl", "3.3.0"), ("swift-3.5", "3.5.3"), ("swift-4.4", "4.6.0")]
)
@pytest.mark.parametrize("recipe", ["swift-grpo", "swift-sft", "swift-dpo", "swift-rm", "prl-grpo"])
def test_the_fields_that_are_refused_are_those_whose_flags_the_stack_lacks(
    recipe: str, stack: str, version: str
) -> None:
    fields = [field for field in RECIPES[recipe].fields if field.flag in LIVES]
    config = config_of(recipe, stack, **dict.fromkeys(field.key for field in fields))
    known = set(FLAGS[version]["sft" if recipe == "swift-sft" else "rlhf"])
    found = flags.not_for(plan.build(config), stack_of(config))
    assert set(found) == {field.key for field in fields if field.flag.removeprefix("--") not in known}
