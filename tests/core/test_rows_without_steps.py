"""Rows that are given and tell no steps: the verdict says which field it would need, instead of silence."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from prl_tui.core import checks, words
from prl_tui.core.config import Source, resolve
from prl_tui.core.findings import Facts
from tests.built_in import RECIPES

SILENT = {
    "vlm-sft": ({}, "125 steps an epoch", "How long the run will be cannot be said: epochs is not known."),
    "safe-mm-dpo": ({}, "", "The 1,000 rows do not tell the number of steps: batch_size is not known."),
    "reward-model": ({}, "", "The 1,000 rows do not tell the number of steps: batch_size is not known."),
    "custom": (
        {"script": "train.py", "per_device_train_batch_size": 4},
        "",
        "How long the run will be cannot be said: custom has none of the fields num_train_epochs, num_epochs, epochs, max_steps.",
    ),
    "demo": (
        {"max_steps": None},
        "63 steps an epoch",
        "How long the run will be cannot be said: demo has none of the fields num_train_epochs, num_epochs, epochs, max_steps.",
    ),
}


@pytest.mark.parametrize(("recipe", "changes", "length", "message"), [(k, *v) for k, v in SILENT.items()], ids=SILENT)
def test_the_verdict_says_why(recipe: str, changes: dict[str, object], length: str, message: str) -> None:
    config = resolve(RECIPES[recipe]).with_values(changes, Source.SET)
    found = checks.check(config, Facts(rows=1000))
    [note] = [one for one in found.findings if one.code.startswith("rows-without")]
    assert (note.severity, note.message) == ("note", message)
    if length:
        assert words.length(found) == length
    assert not any(one.code.startswith("rows-without") for one in checks.check(config, Facts()).findings)


@pytest.mark.parametrize(
    "recipe", ["prl-grpo", "swift-grpo", "swift-sft", "swift-dpo", "minionerec-sft", "minionerec-rl"]
)
def test_nothing_is_said_where_the_rows_tell_the_steps(recipe: str) -> None:
    found = checks.check(resolve(RECIPES[recipe]), Facts(rows=1000))
    assert found.steps is not None
    assert found.steps.total
    assert not any(one.code.startswith("rows-without") for one in found.findings)


def test_a_broken_batch_is_said_alone() -> None:
    config = resolve(RECIPES["prl-grpo"]).with_values({"num_generations": 3, "max_steps": None}, Source.SET)
    found = checks.check(config, Facts(rows=1000))
    assert found.count("error")
    assert not any(one.code.startswith("rows-without") for one in found.findings)


def test_with_the_epochs_the_steps_are_there(cli: Callable[..., object]) -> None:
    result = cli("check", "vlm-sft", "--rows", "1000", "--set", "epochs=2")
    assert "250 steps, 125 an epoch" in result.out + result.err  # type: ignore[attr-defined]
    assert "stays open" not in result.out + result.err  # type: ignore[attr-defined]
