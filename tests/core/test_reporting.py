"""`--report_to` among free arguments. Judge: the words that transformers' own table has."""

from __future__ import annotations

import pytest

from prl_tui.core import checks, reporting
from prl_tui.core.config import RunConfig, Source, resolve
from tests.built_in import RECIPES


def custom(arguments: str) -> RunConfig:
    return resolve(RECIPES["custom"], "torchrun").with_values({"arguments": arguments}, Source.SET)


@pytest.mark.parametrize(
    ("typed", "mended"),
    [
        ("--report_to tb", "--report_to tensorboard"),
        ("--a 1 --report_to=tb --b", "--a 1 --report_to=tensorboard --b"),
        ("--report-to wandb tensorbord --c", "--report-to wandb tensorboard --c"),
        ("--report_to WandB", "--report_to wandb"),
        ("--report_to 'w&b'", "--report_to wandb"),
        ("--report_to no", "--report_to none"),
    ],
)
def test_a_near_miss_is_named_with_its_way_out(typed: str, mended: str) -> None:
    (told,) = [one for one in checks.check(custom(typed)).findings if one.code == "report-to-unknown"]
    assert (told.severity, told.field) == ("warning", "arguments")
    assert told.fixes[0].changes == {"arguments": mended}
    assert not list(reporting.findings(custom(mended)))


@pytest.mark.parametrize("word", [*reporting.KNOWN, "my_own_sink", "$WHERE"])
def test_what_is_known_or_like_nothing_is_left_alone(word: str) -> None:
    assert not list(reporting.findings(custom(f"--report_to {word} --tb tb")))


@pytest.mark.parametrize("recipe", ["swift-sft", "swift-grpo", "prl-grpo"])
def test_the_field_of_a_recipe_says_it_too(recipe: str) -> None:
    config = resolve(RECIPES[recipe]).with_values({"report_to": "tb"}, Source.SET)
    (told,) = [one for one in checks.check(config).findings if one.field == "report_to"]
    assert [fix.changes for fix in told.fixes] == [{"report_to": "tensorboard"}]
