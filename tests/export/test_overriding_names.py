"""The notes and README name every variable that overrides a field. Judge: the script, given the variable by that name."""

from __future__ import annotations

from pathlib import Path

import pytest

from prl_tui.core import plan
from prl_tui.core.config import resolve
from prl_tui.export.formats import FORMATS
from tests.built_in import RECIPES
from tests.export.scripts import Bench

README = Path(__file__).parents[2] / "README.md"
PRL = resolve(RECIPES["prl-grpo"], "standard-4gpu")


def bare(name: str) -> list[str]:
    return [field.override for field in RECIPES[name].fields if not field.override.startswith("PRL_")]


@pytest.mark.parametrize(
    "name", ["slurm", "dlc", "trainjob", "pytorchjob", "skypilot", "dstack", "oneline", "bat", "command"]
)
@pytest.mark.parametrize("recipe", ["prl-grpo", "swift-grpo", "vlm-sft"])
def test_a_note_names_every_variable_that_overrides(recipe: str, name: str) -> None:
    one = plan.build(resolve(RECIPES[recipe], RECIPES[recipe].data.default_preset))
    [note] = [loss for loss in FORMATS[name](one).losses if "PRL_*" in loss]
    assert ", ".join(["PRL_*", *bare(recipe)]) in note


def test_the_bare_names_do_override_in_a_script(bench: Bench) -> None:
    assert {"DATASET", "WANDB_MODE"} < set(bare("prl-grpo"))
    done = bench.run_config(PRL, DATASET="cr", WANDB_MODE="disabled")
    assert (done.code, done.env["DATASET"], done.env["WANDB_MODE"]) == (0, "cr", "disabled")
    assert done.shown["DATASET"] == ("cr", "environment DATASET")


def test_the_readme_names_those_of_prl_grpo() -> None:
    text = README.read_text("utf-8")
    assert [name for name in bare("prl-grpo") if f"`{name}`" not in text] == []
