"""A recipe of a person's own whose parts do not fit: skipped when it is read, with the place and a value that works."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from prl_tui.core import catalog, stacks

RECIPE = """
schema = 1
name = "mine"
title = { en = "mine", zh = "我的" }
launcher = "torchrun"
stack = "swift-3.3-prl"
default_preset = "small"
files = ["{data}", "{train_{task}_path}"]
[program.torchrun]
script = "train.py"
[batch]
rule = "product"
rows = ["data"]
evaluator = "answers"
[batch.fields]
per_device_train_batch_size = "each"
[presets.small.values]
each = 2
[[field]]
key = "each"
type = "int"
group = "batch"
label = { en = "each", zh = "每个" }
default = 1
min = 1
max = 64
multiple = 1
[[field]]
key = "lr"
type = "float"
group = "schedule"
label = { en = "rate", zh = "学习率" }
default = 1e-3
[[field]]
key = "data"
type = "path"
group = "data"
label = { en = "data", zh = "数据" }
[[field]]
key = "answers"
type = "int"
group = "batch"
label = { en = "answers", zh = "回答" }
[[field]]
key = "task"
type = "choice"
group = "data"
label = { en = "task", zh = "任务" }
choices = ["a", "b"]
"""
GPUS = """
[[field]]
key = "cuda_visible_devices"
type = "TYPE"
group = "launch"
label = { en = "GPUs", zh = "GPU" }
"""

UNSOUND: dict[str, tuple[str, str]] = {
    "launcher": (
        RECIPE.replace('launcher = "torchrun"', 'launcher = "swift"'),
        'launcher: there is no table [program.swift]; launcher = "torchrun" would work.',
    ),
    "gpus-int": (
        RECIPE + GPUS.replace("TYPE", "int"),
        "field cuda_visible_devices, type: int cannot be read there; gpus",
    ),
    "gpus-list": (
        RECIPE + GPUS.replace("TYPE", "list"),
        "field cuda_visible_devices, type: list cannot be read there;",
    ),
    "stack": (
        RECIPE.replace("-prl", "-plr"),
        "stack: there is no stack named swift-3.3-plr; swift-3.3-prl would work.",
    ),
    "default-preset": (
        RECIPE.replace('= "small"', '= "smal"'),
        "default_preset: there is no smal; did you mean small?",
    ),
    "batch-fields": (RECIPE.replace('size = "each"', 'size = "eahc"'), "batch.fields.per_device_train_batch_size: "),
    "batch-part": (
        RECIPE.replace("per_device_train_batch_size", "per_device_batch_size"),
        "batch.fields: there is no per_device_batch_size; did you mean per_device",
    ),
    "batch-type": (
        RECIPE.replace('type = "int"', 'type = "float"', 1),
        "field each, type: float cannot be read there; int",
    ),
    "rows": (
        RECIPE.replace('rows = ["data"]', 'rows = ["date"]'),
        "batch.rows: there is no such field as date; did you",
    ),
    "evaluator": (
        RECIPE.replace('evaluator = "answers"', 'evaluator = "zz"'),
        "batch.evaluator: there is no such field as zz",
    ),
    "files": (RECIPE.replace("{data}", "{nope}"), "files: there is no such field as nope."),
    "script": (RECIPE.replace('"train.py"', '"{scrip}"'), "program.torchrun.script: there is no such field as scrip."),
    "nan": (RECIPE.replace("min = 1", "min = nan"), "field each, min: a finite number is needed"),
    "inf": (RECIPE.replace("max = 64", "max = inf"), "field each, max: a finite number is needed"),
    "half": (
        RECIPE.replace("min = 1", "min = 0.5"),
        "field each, min: a whole number of at most 15 digits is needed; 0 would",
    ),
    "huge": (
        RECIPE.replace("max = 64", "max = 1e300"),
        "field each, max: a whole number of at most 15 digits is needed",
    ),
    "worked-nan": (
        RECIPE.replace("default = 1e-3", "default = 1e-3\nworked = nan"),
        "field lr, worked: ",
    ),
    "worked-half": (RECIPE.replace("max = 64", "max = 64\nworked = 0.5"), "field each, worked: 0.5 is not a whole"),
    "worked-far": (RECIPE.replace("max = 64", "max = 64\nworked = 65"), "field each, worked: each must be at most 64"),
    "unset-far": (RECIPE.replace("max = 64", "max = 64\nunset = 65"), "field each, unset: each must be at most 64"),
    "unset-odd": (
        RECIPE.replace("multiple = 1", "multiple = 8\nunset = 3")
        .replace("each = 2", "each = 8")
        .replace("default = 1\n", "default = 8\n"),
        "field each, unset: each must be a multiple of 8",
    ),
    "unset-text": (
        RECIPE.replace('key = "task"', 'key = "task"\nunset = 1'),
        "field task, unset: only int and float have it",
    ),
    "crossed": (RECIPE.replace("max = 64", "max = 0"), "field each, min: it is more than max"),
    "multiple": (
        RECIPE.replace("default = 1e-3", "default = 1e-3\nmultiple = 4"),
        "field lr, multiple: only int has it",
    ),
    "zero": (RECIPE.replace("multiple = 1", "multiple = 0"), "field each, multiple: only int has it, from 1 on"),
    "bounds": (RECIPE + "min = 1\n", "field task, min: only int and float have bounds"),
    "name": (RECIPE.replace('"mine"', '"-x"'), "name: '-x' is not a name of letters, digits, - and _ that begins with"),
    "default": (
        RECIPE.replace("default = 1e-3", 'default = "abc"'),
        "default: lr: “abc” is not a number; 1 would work.",
    ),
    "default-bounds": (RECIPE.replace("default = 1\n", "default = 0\n"), "default: each must be at least 1, not 0."),
    "shared-default": (
        RECIPE.replace("[batch]", "[defaults]\nnnodes = 0\n[batch]"),
        "default: nnodes must be at least 1",
    ),
    "choices": (RECIPE.replace('choices = ["a", "b"]', ""), "field task, choices: at least one is needed"),
    "preset-name": (
        RECIPE.replace("presets.small.", 'presets." ".').replace('= "small"', '= ""'),
        "presets: ' ' cannot",
    ),
    "template": (
        RECIPE + 'default = "{nope}"\ntemplate = true\n',
        "field task, default: there is no such field as nope.",
    ),
}


def load(folder: Path, **files: str) -> catalog.Catalog:
    folder.mkdir()
    for name, content in files.items():
        (folder / f"{name}.toml").write_text(content, "utf-8")
    return catalog.load([folder])


def test_the_recipe_that_the_others_are_made_of_is_sound(tmp_path: Path) -> None:
    found = load(tmp_path / "own", good=RECIPE)
    assert found.problems == ()
    assert "mine" in found.recipes


@pytest.mark.parametrize(("content", "words"), UNSOUND.values(), ids=UNSOUND)
def test_what_does_not_fit_is_named_with_its_place(tmp_path: Path, content: str, words: str) -> None:
    assert content != RECIPE
    found = load(tmp_path / "own", bad=content)
    [problem] = found.problems
    assert f"bad.toml: {words}" in problem.message
    assert problem.message.endswith((".", "?"))
    assert "?." not in problem.message
    assert "mine" not in found.recipes
    assert "prl-grpo" in found.recipes


@pytest.mark.parametrize("kind", ["launcher", "gpus-int", "gpus-list", "nan"])
def test_one_bad_recipe_takes_nothing_from_the_others(cli: Callable[..., object], config_dir: Path, kind: str) -> None:
    (config_dir / "recipes").mkdir(parents=True)
    (config_dir / "recipes" / "bad.toml").write_text(UNSOUND[kind][0], "utf-8")
    for command in (("presets",), ("check", "demo/two-ranks"), ("launch", "demo/two-ranks", "--dry-run")):
        result = cli(*command)
        assert result.code == 0, command  # type: ignore[attr-defined]
        assert result.err.count("skipped: ") == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('extends = "prl-grp"\n[presets.a.values]\nseed = 1\n', "no recipe named prl-grp; did you mean prl-grpo?"),
        (
            'extends = "prl-grpo"\n[presets.a.values]\nnum_generation = 2\n',
            "no such field; did you mean num_generations?",
        ),
    ],
)
def test_presets_of_ones_own_are_told_the_near_name(tmp_path: Path, table: str, words: str) -> None:
    [problem] = load(tmp_path / "own", presets=f"schema = 1\n{table}").problems
    assert words in problem.message


# The generations and their first versions are those of core.stacks; what lies between two belongs to the earlier one.
NEAR = {
    "swift-4.6": "swift-4.4", "swift-4": "swift-4.4", "swift-3.3": "swift-3.3-prl", "swift-3.11": "swift-3.7",
    "swift-3.3-plr": "swift-3.3-prl", "swift-9": "swift-4.4", "ms-swift-4.1": "swift-3.12", "trl-0.24": "trl-0.18",
    "trl-1.0": "trl-0.27", "trl-0.16": "trl-0.15", "hf-trianer": "hf-trainer",
}  # fmt: skip


@pytest.mark.parametrize(("name", "near"), NEAR.items())
def test_a_stack_is_hinted_by_its_version(cli: Callable[..., object], name: str, near: str) -> None:
    assert stacks.near(name) == near
    result = cli("check", "prl-grpo", "--stack", name)
    assert result.err == f"prl-tui: --stack: there is no stack named {name}; {near} would work.\n"  # type: ignore[attr-defined]


def test_a_stack_that_is_near_nothing_gets_the_list(cli: Callable[..., object]) -> None:
    result = cli("check", "prl-grpo", "--stack", "zzz")
    assert "there are swift-3.3-prl, swift-3.4, " in result.err  # type: ignore[attr-defined]
    assert stacks.for_trl("0.26.1") == "trl-0.18"
