"""Files of a plan. Judges: PyYAML 6.0's safe_load and json give back every value; accelerate 1.15 loads its config."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from prl_tui.core import files, plan, shape
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.core.recipe import Field, RecipeFile, Text, build
from prl_tui.core.recipe_tables import recipe_file_of
from tests.built_in import RECIPES

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40)


def config(recipe: str, preset: str = "", **changes: object) -> RunConfig:
    return resolve(RECIPES[recipe], preset).with_values(changes, Source.SET)


def texts(config: RunConfig, folder: str = "/run/files") -> dict[str, str]:
    return {file.name: file.text(folder) for file in plan.build(config).files}


def load(config: RunConfig) -> dict[str, object]:
    [text] = texts(config).values()
    return yaml.safe_load(text)


def test_nothing_is_written_where_the_person_names_a_file():
    for recipe, preset in (("vlm-sft", "two-gpu"), ("reward-model", "helpful-8gpu"), ("minionerec-rl", "eight-gpu")):
        assert plan.build(config(recipe, preset)).files == ()


def test_the_vlm_yaml_has_what_is_set_and_no_more():
    found = load(
        config("vlm-sft", "two-gpu", config_source="generate", vision_model="./clip", lr="1e-5", max_seq_len=640)
    )
    assert found == {
        "model": {
            "vision_model_type": "clip",
            "vision_model_path": "./clip",
            "language_model_type": "qwen3",
            "max_seq_length": 640,
        },
        "training": {
            "stage": "sft",
            "batch_size": 8,
            "learning_rate": 1e-5,
            "max_seq_length": 640,
            "accumulation_steps": 4,
        },
    }


def test_greek_keys_stay():
    found = load(config("safe-mm-dpo", "eight-gpu", config_source="generate", lambda_lr="2e-3"))
    assert (found["λ_init"], found["β_ori"], found["λ_lr"]) == (1.0, 0.1, 2e-3)
    assert found["lora"] == {"r": 16, "alpha": 32, "dropout": 0.1}
    assert found["ref_model_path"] == found["policy_model_path"] == "models/base/Mistral-7B-v0.1"
    assert found["learning_rate"] == 5e-7  # a number, where the program's own file has a text


def test_a_list_is_a_list():
    found = load(config("reward-model", config_source="generate", lora_target_modules=["q: proj", "k proj"]))
    assert found["lora"]["target_modules"] == ["q: proj", "k proj"]


@given(TEXTS, TEXTS)
def test_any_text_comes_back(one, other):
    found = load(config("reward-model", config_source="generate", base_model_path=one, train_helpful_path=other))
    assert (found["base_model_path"], found["train_helpful_path"]) == (one, other)


@given(TEXTS)
def test_any_folder_can_hold_the_files(folder):
    made = texts(config("minionerec-rl", "four-gpu"), folder)
    section = yaml.safe_load(made["accelerate.yaml"])["deepspeed_config"]
    assert section["deepspeed_config_file"] == f"{folder}/deepspeed.json"
    assert json.loads(made["deepspeed.json"])["zero_optimization"]["stage"] == 2


def test_the_command_names_the_file_where_it_lies():
    made = plan.with_folder(plan.build(config("minionerec-rl", "four-gpu")), "/run/files")
    assert made.argv[:6] == (
        "accelerate", "launch", "--num_processes=4", "--main_process_port=29503", "--config_file", "/run/files/accelerate.yaml",
    )  # fmt: skip


def test_fields_that_only_a_file_carries_are_idle_while_it_is_the_persons():
    assert "lr" not in files.carried(RECIPES["vlm-sft"])
    assert "accumulation_steps" in files.idle(config("vlm-sft"))
    assert files.idle(config("vlm-sft", config_source="generate")) == frozenset()


FIELDS = (
    Field(key="text", type="str", label=Text("t"), group="data"),
    Field(key="number", type="float", label=Text("n"), group="data"),
    Field(key="table", type="json", label=Text("j"), group="data"),
    Field(key="way", type="path", label=Text("w"), group="data", flag="--way"),
)


def recipe_with(*write: dict[str, object]):
    table = {"schema": 1, "name": "files", "title": {"en": "files"}, "program": {"python": {"script": "a.py"}}, "launcher": "python",
             "shared": [], "needs_gpu": False, "write": list(write)}  # fmt: skip
    shape.check(table, RecipeFile)
    data = recipe_file_of(table)
    return build(RecipeFile(**{**{k: getattr(data, k) for k in RecipeFile.declared_fields}, "field": FIELDS}), {}, "")


def test_json_and_constants_and_mixed_texts():
    content = {"a": {"b": "x {text} {number}"}, "n": "{number}", "c": [1, "two"], "gone": "{way}", "empty": {"gone": "{way}"},
               "j": "{table}"}  # fmt: skip
    one = recipe_with({"name": "a.json", "content": content}, {"name": "a.yaml", "content": content})
    made = texts(resolve(one).with_values({"text": '"\n中', "number": "5e-7", "table": '{"k": [1, null]}'}, Source.SET))
    want = {"a": {"b": 'x "\n中 5e-7'}, "n": 5e-7, "c": [1, "two"], "j": {"k": [1, None]}}
    assert json.loads(made["a.json"]) == want
    assert yaml.safe_load(made["a.yaml"]) == want


@pytest.mark.parametrize(
    ("write", "word"),
    [
        ({"name": "a.txt", "content": {}}, "ends in .yaml"),
        ({"name": "../a.yaml", "content": {}}, "the name needs"),
        ({"name": "a.yaml", "content": {"x": "{nothing}"}}, "there is no field nothing"),
        ({"name": "a.yaml", "content": {"x": "{ text }"}}, "a brace that names no field"),
        ({"name": "a.yaml", "content": {"x": "{file:b.json}"}}, "no file b.json is written"),
        ({"name": "a.yaml", "content": {"x": ["{text}"]}}, "a list holds constants only"),
        ({"name": "a.yaml", "content": {}, "key": "text"}, "there is no field text with a flag"),
        ({"name": "a.yaml", "content": {}, "when": {"nobody": 1}}, "there is no field nobody"),
        ({"name": "a.yaml", "content": {"x": float("inf")}}, "a text, a number, true or false"),
    ],
)
def test_a_mistake_in_a_recipe_is_named(write, word):
    with pytest.raises(ValueError, match=word):
        recipe_with(write)
