"""A preset's name without its recipe: each RECIPE/PRESET that it may be is named. Judge: the catalogue of built-in presets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.built_in import RECIPES

LORA = "swift-dpo/lora-1gpu or swift-rm/lora-1gpu or swift-sft/lora-1gpu"


def told(words: list[str], cli: Callable[..., object]) -> str:
    done = cli(*words)
    assert done.code == 2  # type: ignore[attr-defined]
    return str(done.err)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("source", "meant"),
    [
        ("standard-4gpu", "prl-grpo/standard-4gpu"),
        ("standard-4gp", "prl-grpo/standard-4gpu"),
        ("standard", "prl-grpo/standard-2gpu or prl-grpo/standard-4gpu"),
        ("lora-1gpu", LORA),
        ("foo/lora-1gpu", LORA),
        ("prl-grpo/lora-1gpu", LORA),
        ("prl-gpro/standard-4gpu", "prl-grpo/standard-4gpu"),
        ("prl-gpro", "prl-grpo"),
        ("prl-grpo/standard-4gp", "standard-4gpu"),
    ],
)
@pytest.mark.parametrize("command", [["check"], ["presets"], ["export", "--format", "bash"]])
def test_what_may_be_meant_is_named(command: list[str], source: str, meant: str, cli: Callable[..., object]) -> None:
    assert told([*command, source], cli).endswith(f"; did you mean {meant}?\n")


def test_every_preset_is_found_by_its_name_alone(cli: Callable[..., object]) -> None:
    for recipe in RECIPES.values():
        for preset in recipe.presets:
            if preset not in RECIPES:
                assert f"{recipe.name}/{preset}" in told(["check", preset], cli)


def test_a_name_like_none_lists_the_recipes(cli: Callable[..., object]) -> None:
    assert "there are custom, demo, " in told(["check", "zzz"], cli)


def test_in_a_file_the_two_keys_that_are_meant_are_named(cli: Callable[..., object], tmp_path: Path) -> None:
    file = tmp_path / "r.toml"
    file.write_text('recipe = "standard-4gpu"\n')
    said = told(["check", str(file)], cli)
    assert 'recipe = "prl-grpo", preset = "standard-4gpu" would work.' in said
    file.write_text('recipe = "prl-grpo"\npreset = "standard-4gpu"\n')
    assert cli("check", str(file)).code == 0  # type: ignore[attr-defined]
