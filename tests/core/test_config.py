"""Layers of a run config, where each value came from, and its TOML form."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prl_tui.core import config_file
from prl_tui.core.config import RunConfig, Source, find_key, from_environment, nearest_key, resolve
from tests.built_in import CATALOG

PRL = CATALOG.recipes["prl-grpo"]


def read(folder: Path, text: str) -> RunConfig:
    path = folder / "run.toml"
    path.write_text(text, "utf-8")
    return config_file.read(path, CATALOG)


def test_a_later_layer_wins_and_each_value_says_where_it_came_from(tmp_path: Path) -> None:
    assert resolve(PRL).settings["num_generations"].source is Source.DEFAULT
    preset = resolve(PRL, "high-throughput-4gpu")
    assert (preset.value("num_generations"), preset.settings["num_generations"].source) == (4, Source.PRESET)
    file = read(tmp_path, 'recipe = "prl-grpo"\npreset = "high-throughput-4gpu"\n[values]\nnum_generations = 8\n')
    assert (file.value("num_generations"), file.settings["num_generations"].source) == (8, Source.FILE)
    assert file.settings["num_generations"].origin.endswith("run.toml")
    environment = from_environment(file, {"PRL_NUM_GENERATIONS": "16"})
    setting = environment.settings["num_generations"]
    assert (setting.value, setting.source, setting.origin) == (16, Source.ENVIRONMENT, "PRL_NUM_GENERATIONS")
    chosen = environment.with_values({"num_generations": "2"}, Source.SET)
    assert (chosen.value("num_generations"), chosen.settings["num_generations"].source) == (2, Source.SET)
    assert chosen.value("per_device_train_batch_size") == 4


def test_an_empty_variable_counts_as_unset() -> None:
    assert from_environment(resolve(PRL), {"PRL_NUM_GENERATIONS": ""}).value("num_generations") == 2


@pytest.mark.parametrize("field", PRL.fields, ids=lambda field: field.key)
def test_an_empty_text_unsets_any_field(field: object) -> None:
    config = resolve(PRL).with_values({field.key: ""}, Source.FORM)  # type: ignore[attr-defined]
    assert config.value(field.key) is None  # type: ignore[attr-defined]


def test_a_template_follows_the_field_that_it_names() -> None:
    config = resolve(PRL).with_values({"DATASET": "sim"}, Source.SET)
    assert config.value("dataset") == "datasets/original/sim_train.jsonl"
    fixed = config.with_values({"dataset": "{DATASET}.jsonl"}, Source.SET)
    assert fixed.value("dataset") == "{DATASET}.jsonl"


@pytest.mark.parametrize(
    "name", ["num_generations", "--num_generations", "PRL_NUM_GENERATIONS", "num-generations", "NUM_GENERATIONS"]
)
def test_a_field_is_found_by_key_flag_and_variable(name: str) -> None:
    assert find_key(PRL, name) == "num_generations"


@pytest.mark.parametrize(
    ("typo", "near"),
    [("num_genrations", "num_generations"), ("perdevice_train_batch_size", "per_device_train_batch_size"),
     ("dataste", "dataset"), ("zzzzzz", None), ("nope", None), ("lr", "learning_rate"), ("epochs", "num_train_epochs"),
     ("bs", "per_device_train_batch_size"), ("gpus", "cuda_visible_devices")],
)  # fmt: skip
def test_the_nearest_field_to_a_typo(typo: str, near: str | None) -> None:
    assert find_key(PRL, typo) is None
    found = nearest_key(PRL, typo)
    assert found == near or (near == "dataset" and found == "DATASET")


def test_only_real_changes_count_as_changed() -> None:
    config = resolve(PRL, "standard-4gpu").with_values({"num_generations": "2", "seed": "6"}, Source.FORM)
    assert config.changed() == ("seed",)


# --- TOML ---


def again(config: RunConfig, folder: Path) -> RunConfig:
    return read(folder, config_file.dump(config, "a comment\n\n[values]\nnum_generations = 3"))


def facts(config: RunConfig) -> dict[str, object]:
    return {key: (config.value(key), config.text(key), bool(s.problem)) for key, s in config.settings.items()}


@pytest.mark.parametrize("recipe", CATALOG.recipes.values(), ids=lambda recipe: recipe.name)
def test_every_preset_survives_toml_with_its_sources(recipe: object, tmp_path: Path) -> None:
    for name in recipe.presets:  # type: ignore[attr-defined]
        config = resolve(recipe, name)  # type: ignore[arg-type]
        read_back = again(config, tmp_path)
        assert facts(read_back) == facts(config)
        assert {k: s.source for k, s in read_back.settings.items()} == {k: s.source for k, s in config.settings.items()}


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40)
TRICKY = st.sampled_from(
    ["中文 路径", "a\nb", "a\r\nb", '"', "'", '"""', "\\", "\t", "🚀", "#x", "[values]", " ", "{DATASET}", "1e-6"]
)
RAW = {
    "int": st.integers(-(10**14), 10**14) | st.sampled_from(["4", " 4 ", "2abc", "08"]),
    "float": st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["1e-6", ".5", "5.", "0.40", "1E+2", "x"]),
    "bool": st.booleans() | st.sampled_from(["yes", "0", "maybe"]),
    "json": st.sampled_from(['{"a": "中"}', "[1,  2]", "{", "null"]),
    "list": st.lists(TEXT | TRICKY, min_size=1, max_size=4) | st.just("a  b"),
}


def raw_values() -> st.SearchStrategy[dict[str, object]]:
    def one(field: object) -> st.SearchStrategy[object]:
        kind, choices = field.type, field.choices  # type: ignore[attr-defined]
        usual = st.sampled_from(choices) if choices else TEXT | TRICKY
        return st.just("") | RAW.get(kind, usual)

    return st.fixed_dictionaries({}, optional={field.key: one(field) for field in PRL.fields})


@given(raw_values())
def test_any_values_survive_toml(tmp_path_factory: pytest.TempPathFactory, raw: dict[str, object]) -> None:
    config = resolve(PRL, "quick-test").with_values(raw, Source.FORM)
    assert facts(again(config, tmp_path_factory.getbasetemp())) == facts(config)


def test_a_file_keeps_its_values_when_the_preset_changes_later(tmp_path: Path) -> None:
    text = config_file.dump(resolve(PRL, "standard-4gpu")).replace("num_generations = 2", "num_generations = 8")
    assert read(tmp_path, text).value("num_generations") == 8


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('recipe = "prl-gropo"', "there is no recipe named prl-gropo; did you mean prl-grpo?"),
        ('recipe = "prl-grpo"\npreset = "standrad-4gpu"', "did you mean standard-4gpu?"),
        ('recipe = "prl-grpo"\n[values]\nnum_genrations = 2', "did you mean num_generations?"),
        ('recipe = "prl-grpo"\n[vaules]\nseed = 2', "there is no key vaules here; did you mean values?"),
        (
            'recipe = "prl-grpo"\n[sources]\nseed = "preset"\nnum_generations = 6',
            "sources.num_generations: it must be a text in quotes",
        ),
        ('recipe = "prl-grpo"\nvalues = 3', "run.toml: values: "),
        ('preset = "x"', "the key recipe is missing"),
        ('recipe = "prl-grpo"\n[values]\nx = = 2', "line 3: not TOML"),
        ("recipe = 7", "run.toml: recipe: "),
    ],
)
def test_a_wrong_file_is_named_with_the_place_and_a_near_miss(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        read(tmp_path, text)
    assert sentence in str(caught.value)
    assert str(tmp_path / "run.toml") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_wrong_value_in_a_file_is_a_problem_of_its_field_and_not_of_the_file(tmp_path: Path) -> None:
    config = read(tmp_path, 'recipe = "prl-grpo"\n[values]\nnum_generations = "2abc"\nseed = [1]\n')
    assert "is not a whole number" in config.settings["num_generations"].problem
    assert "is not a whole number" in config.settings["seed"].problem


def test_a_typed_value_that_equals_the_derived_one_is_no_change() -> None:
    """per_device_eval_batch_size follows per_device_train_batch_size, which is 4 here."""
    base = resolve(PRL, "standard-4gpu")
    typed = base.with_values({"per_device_eval_batch_size": "4"}, Source.FORM)
    assert typed.changed() == ()
    moved = typed.with_values({"per_device_train_batch_size": "8"}, Source.FORM)
    assert set(moved.changed()) == {"per_device_train_batch_size", "per_device_eval_batch_size"}
    assert base.with_values({"per_device_eval_batch_size": None}, Source.FORM).changed() == (
        "per_device_eval_batch_size",
    )
    assert base.with_values({"per_device_eval_batch_size": "x"}, Source.FORM).changed() == (
        "per_device_eval_batch_size",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('schema = 1\nextends = "prl-grpo"\n[presets.night.values]\nnum_generations = 8\n', "and name prl-grpo/night."),
        ('schema = 1\nname = "mine"\n', "and name mine."),
    ],
)
def test_a_recipe_or_presets_given_as_a_config_say_where_they_belong(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="of your own") as caught:
        read(tmp_path, text)
    assert str(caught.value).endswith(said)
