"""A script refuses what a recipe's `needs` refuse. Judged by real bash with a stub engine, and by `checks.check`."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from prl_tui.core import checks, needs
from prl_tui.core.config import RunConfig, Source, from_environment, resolve
from prl_tui.core.plan import build
from prl_tui.core.recipe import Field, Need, Recipe, Text
from prl_tui.export import bash_files, bash_overrides
from tests.built_in import RECIPES
from tests.export.scripts import Bench, recipe, script, text_field
from tests.export.test_bash_script import shellcheck

WITH_NEEDS = sorted(name for name, one in RECIPES.items() if one.data.needs)


def of(source: str, **changes: object) -> RunConfig:
    name, _, preset = source.partition("/")
    preset = preset or RECIPES[name].data.default_preset
    found = {field.key: __file__ for field in RECIPES[name].fields if field.glob}  # patterns must match one file
    return resolve(RECIPES[name], preset).with_values({**found, **changes}, Source.SET)


def errors(config: RunConfig) -> set[str]:
    return {finding.code for finding in checks.check(config).findings if finding.severity == "error"}


@pytest.mark.parametrize(
    ("source", "env", "told"),
    [
        (
            "swift-grpo/colocate-4gpu",
            {"PRL_VLLM_MODE": "server"},
            "With PRL_USE_VLLM=true and PRL_VLLM_MODE=server, PRL_VLLM_SERVER_HOST or PRL_VLLM_SERVER_BASE_URL must be set.",
        ),
        (
            "swift-grpo/colocate-4gpu",
            {"PRL_VLLM_SERVER_BASE_URL": "http://10.0.0.2:8000 http://10.0.0.3:8000"},
            "With PRL_VLLM_SERVER_BASE_URL and PRL_USE_VLLM=true, PRL_VLLM_MODE=server is needed.",
        ),
        ("swift-sft/lora-4gpu", {"PRL_PACKING": "true"}, "With PRL_PACKING=true, PRL_ATTN_IMPL=flash_attn is needed."),
        (
            "minionerec-rl/eight-gpu",
            {"PRL_REWARD_TYPE": "semantic"},
            "With PRL_REWARD_TYPE=semantic, PRL_ADA_PATH must be set.",
        ),
        ("minionerec-sft/four-gpu", {"PRL_NUM_EPOCHS": "0.0"}, "PRL_NUM_EPOCHS=0 does not work; 10 does."),
        (
            "swift-sft/lora-4gpu",
            {"PRL_NUM_TRAIN_EPOCHS": "0"},
            "With PRL_NUM_TRAIN_EPOCHS=0, PRL_MAX_STEPS must be set.",
        ),
    ],
)
def test_a_variable_that_needs_another_is_refused_in_one_line(
    bench: Bench, source: str, env: dict[str, str], told: str
) -> None:
    outcome = bench.run_config(of(source), **env)
    assert (outcome.code, outcome.argv, outcome.err) == (1, None, f"error: {told}\n")


@pytest.mark.parametrize(
    ("source", "env"),
    [
        ("swift-grpo/colocate-4gpu", {"PRL_VLLM_MODE": "server", "PRL_VLLM_SERVER_HOST": "10.0.0.2"}),
        ("swift-grpo/colocate-4gpu", {"PRL_VLLM_MODE": "server", "PRL_VLLM_SERVER_BASE_URL": "http://10.0.0.2:8000"}),
        ("swift-grpo/colocate-4gpu", {"PRL_VLLM_SERVER_PORT": "8001"}),  # a warning of check
        ("swift-sft/lora-4gpu", {"PRL_PACKING": "true", "PRL_ATTN_IMPL": "flash_attn"}),
        ("swift-sft/lora-4gpu", {"PRL_NUM_TRAIN_EPOCHS": "0", "PRL_MAX_STEPS": "5"}),
        ("swift-sft/lora-4gpu", {"PRL_NUM_TRAIN_EPOCHS": "0.5"}),
        ("minionerec-rl/eight-gpu", {"PRL_REWARD_TYPE": "sasrec", "PRL_CF_PATH": "cf.pt"}),
    ],
)
def test_what_has_all_that_it_needs_starts(bench: Bench, source: str, env: dict[str, str]) -> None:
    assert bench.run_config(of(source), **env).argv is not None


def _possible(field: Field) -> list[str]:
    words = {
        "bool": list(field.words),
        "choice": list(field.choices),
        "int": ["8001"],
        "list": ["http://a:1 http://b:2"],
    }
    return ["", *words.get(field.type, ["./a b", "10.0.0.2"])]


def _cases(one: Recipe, config: RunConfig, count: int) -> list[dict[str, str]]:
    plan = build(config)
    kept = bash_overrides.fixed(plan) | bash_files.silent(plan).keys()
    keys = {key for need in one.data.needs for key in (*need.where, need.field, *need.instead)} - kept
    drawn = random.Random(one.name)
    every = [
        {one.by_key[key].override: drawn.choice(_possible(one.by_key[key])) for key in sorted(keys)}
        for _ in range(count)
    ]
    return [{name: text for name, text in env.items() if text} for env in every]


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_NEEDS)
def test_scripts_judge_needs_as_check_does(bench: Bench, name: str) -> None:
    one, config = RECIPES[name], of(name)
    text, verdicts = script(config), set()
    for env in _cases(one, config, 24):
        found = errors(from_environment(config, env))
        outcome = bench.run(text, **env)
        assert (outcome.argv is None) is bool(found), (env, found, outcome.err)
        if found and found <= needs.codes(one):
            assert outcome.err.count("\n") == 1
            assert any(variable in outcome.err for variable in env), outcome.err
        verdicts.add(not found.isdisjoint(needs.codes(one)))
    assert verdicts == {True, False}


@pytest.mark.parametrize("steps", ["", "-1", "0", "1"])
@pytest.mark.parametrize("epochs", ["", "0", "-0.0", "0e5", "0.5"])
def test_no_pass_over_the_data_is_refused_unless_a_number_of_steps_decides(
    bench: Bench, epochs: str, steps: str
) -> None:
    """One's own recipe, whose max_steps takes the trainers' -1 for none too."""
    config = resolve(recipe(text_field("num_train_epochs", "float"), text_field("max_steps", "int")))
    env = {name: text for name, text in (("PRL_NUM_TRAIN_EPOCHS", epochs), ("PRL_MAX_STEPS", steps)) if text}
    outcome = bench.run_config(config, **env)
    wrong = epochs not in {"", "0.5"} and steps != "1"
    assert ("needed" in errors(from_environment(config, env))) is wrong
    assert (outcome.argv is None) is wrong


NEEDS = (
    Need(where={"rate": "0.5"}, field="items", values=("a 'b c'",), why=Text("so")),
    Need(where={"items": "x"}, field="more", why=Text("so")),
    Need(where={"flag": "true"}, field="flag", values=("false",), why=Text("so")),
    Need(where={"more": "*", "name": "one"}, field="more", unset=True, code="own", why=Text("so")),
    Need(where={"name": "it's $HOME"}, field="rate", values=("1", "2e3"), instead=("more",), why=Text("so")),
)


@pytest.mark.parametrize(
    "env",
    [
        {}, {"PRL_RATE": "5e-1"}, {"PRL_RATE": "0.50", "PRL_ITEMS": "a 'b c'"}, {"PRL_RATE": "0.5", "PRL_ITEMS": "a b c"},
        {"PRL_ITEMS": "x"}, {"PRL_ITEMS": "x", "PRL_MORE": "1"}, {"PRL_ITEMS": "x y"}, {"PRL_FLAG": "true"},
        {"PRL_FLAG": "false"}, {"PRL_NAME": "it's $HOME"}, {"PRL_NAME": "it's $HOME", "PRL_MORE": "m"},
        {"PRL_NAME": "it's $HOME", "PRL_MORE": "m", "PRL_RATE": "3"}, {"PRL_NAME": "it's $HOME", "PRL_RATE": "2000"},
        {"PRL_NAME": "other"}, {"PRL_NAME": "one"}, {"PRL_NAME": "one", "PRL_MORE": "m"}, {"PRL_MORE": "m"},
    ],
    ids=str,
)  # fmt: skip
def test_needs_of_ones_own_recipe_hold_for_every_type_of_field(bench: Bench, env: dict[str, str]) -> None:
    own = recipe(
        text_field("rate", "float"), text_field("items", "list"), text_field("more"), text_field("flag", "bool"),
        text_field("name"), needs=NEEDS,
    )  # fmt: skip
    config = resolve(own)
    outcome = bench.run_config(config, **env)
    found = errors(from_environment(config, env))
    assert (outcome.argv is None) is (not found.isdisjoint({"needed", "own"})), (found, outcome.err)
    assert outcome.argv is None or not outcome.err


@pytest.mark.slow
def test_shellcheck_finds_nothing_in_needs_of_every_type(tmp_path: Path) -> None:
    own = recipe(
        text_field("rate", "float"), text_field("items", "list"), text_field("more"), text_field("flag", "bool"),
        text_field("name"), needs=NEEDS,
    )  # fmt: skip
    (tmp_path / "run.sh").write_text(script(resolve(own)), "utf-8")
    found = subprocess.run([shellcheck(), str(tmp_path / "run.sh")], capture_output=True, text=True, timeout=60)
    assert (found.returncode, found.stdout) == (0, "")
