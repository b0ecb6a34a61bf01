"""Config files of a person's own: their values are part of the batch, and what cannot take effect is said."""

from __future__ import annotations

import json

import pytest

from prl_tui.core import checks, given
from prl_tui.core.config import Source, resolve
from prl_tui.core.findings import Facts
from tests.built_in import RECIPES


def report(recipe, preset, text=None, facts=None, **changes):
    config = resolve(RECIPES[recipe], preset).with_values(changes, Source.SET)
    known = ()
    if text is not None:
        [(template, path)] = given.wanted(config)
        known = (given.parse(template, path, text),)
    return checks.check(config, facts or Facts(given=known))


def codes(found):
    return [f.code for f in found.findings if f.severity != "note"]


def test_the_accumulation_of_a_vlm_yaml_enters_the_batch():
    # AnyLLM-to-VLM: batch_size // world × accumulation_steps × world; its SFT file has 36 and 4 (facts of train_vlm.py).
    yaml = "training:\n  stage: sft\n  batch_size: 36\n  accumulation_steps: 4\n"
    found = report("vlm-sft", "four-gpu", yaml, nproc_per_node=8, cuda_visible_devices="", batch_size="")
    assert (found.batch.per_device, found.batch.accumulation, found.batch.global_batch) == (4, 4, 128)
    assert codes(found) == ["total-batch-rounds-down"]
    assert report("vlm-sft", "four-gpu", yaml).batch.global_batch == 64  # the flag's 16 wins over the file's 36


def test_a_file_that_does_not_say_has_the_programs_default():
    found = report("vlm-pretrain", "four-gpu", "training:\n  stage: pretrain\n", batch_size="")
    assert (found.batch.global_batch, found.batch.accumulation) == (32, 1)


def test_the_batch_of_a_generated_yaml_is_that_of_the_fields():
    found = report("vlm-pretrain", "four-gpu", config_source="generate", batch_size=22, accumulation_steps=2)
    assert (found.batch.per_device, found.batch.global_batch) == (5, 40)


def test_the_fields_of_a_reward_model_come_from_its_file():
    found = report("reward-model", "helpful-8gpu", "batch_size: 8\nnum_epochs: 1\n")
    assert (found.batch.per_device, found.batch.global_batch) == (8, 64)
    assert codes(found) == ["gradients-apart"]


def test_a_field_that_only_the_file_carries_has_no_effect_and_the_fix_writes_it():
    found = report("reward-model", "single-gpu", batch_size=16)
    [finding] = [f for f in found.findings if f.code == "field-without-effect"]
    assert "configs/rm_config.yaml" in finding.message
    assert [dict(fix.changes) for fix in finding.fixes] == [{"config_source": "generate"}]
    fixed = report("reward-model", "single-gpu", batch_size=16, config_source="generate", gradient_accumulation_steps=1)
    assert codes(fixed) == []


def test_a_file_that_is_not_used_is_named_too():
    found = report("vlm-sft", "two-gpu", config="mine.yaml", config_source="generate")
    assert [(f.code, f.field) for f in found.findings] == [("field-without-effect", "config")]


def test_wrong_values_without_effect_are_no_errors():
    found = report("reward-model", "single-gpu", batch_size="many")
    assert found.ok
    assert codes(found) == ["field-without-effect"]


def test_no_fix_changes_what_stands_in_a_file():
    found = report("vlm-sft", "two-gpu", "training:\n  accumulation_steps: 4\n", batch_size=1)
    fixes = [dict(fix.changes) for f in found.findings for fix in f.fixes]
    assert fixes
    assert not any("accumulation_steps" in fix for fix in fixes)


def test_what_is_not_plain_is_named():
    found = report("vlm-sft", "two-gpu", "training: {accumulation_steps: 4}\n")
    [note] = [f for f in found.findings if f.code == "config-unread"]
    assert "training.accumulation_steps" in note.message


def test_a_bad_value_in_a_file_is_named_with_its_place():
    found = report("vlm-sft", "two-gpu", "training:\n  accumulation_steps: four\n")
    [warning] = [f for f in found.findings if f.code == "config-value"]
    assert "configs/vlm_sft.yaml, training.accumulation_steps: " in warning.message


def test_a_missing_file_can_be_written_instead():
    found = report("vlm-sft", "two-gpu", facts=Facts(missing_files=("configs/vlm_sft.yaml", "train_vlm.py")))
    fixes = {f.message: [dict(fix.changes) for fix in f.fixes] for f in found.findings if f.code == "file-missing"}
    assert fixes == {
        "configs/vlm_sft.yaml does not exist.": [{"config_source": "generate"}],
        "train_vlm.py does not exist.": [],
    }


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").mkdir()
    return tmp_path


def test_check_reads_the_file_where_it_lies(cli, checkout):
    (checkout / "configs/vlm_sft.yaml").write_text("training:\n  accumulation_steps: 4\n")
    assert json.loads(cli("check", "vlm-sft/two-gpu", "--json").out)["batch"]["global_batch"] == 32


@pytest.mark.parametrize(("content", "word"), [(b"\xff\xfe", "is not UTF-8 text"), (b"x" * 2_000_000, "too large")])
def test_a_file_that_cannot_be_read_is_an_error(cli, checkout, content, word):
    (checkout / "configs/vlm_sft.yaml").write_bytes(content)
    found = cli("check", "vlm-sft/two-gpu", "--json")
    assert found.code == 1
    assert word in found.out


def test_a_folder_in_its_place_is_an_error(cli, checkout):
    (checkout / "configs/vlm_sft.yaml").mkdir()
    assert "configs/vlm_sft.yaml cannot be read: Is a directory." in cli("check", "vlm-sft/two-gpu").out


def test_idle_model_paths_are_those_of_the_file(cli, checkout):
    (checkout / "configs/dpo_config.yaml").write_text("helpful_rm_path: elsewhere/helpful\n")
    found = cli("check", "safe-mm-dpo/eight-gpu", "--here").out
    assert "elsewhere/helpful does not exist." in found
    assert "models/helpful_rm does not exist." not in found


SETTINGS = "model:\n  lora_alpha: 8\ntraining:\n  accumulation_steps: 2\n  learning_rate: 7.0e-6\n  epochs: 5\n"


def way_out(recipe, preset, text, **changes):
    found = report(recipe, preset, text, **changes)
    [fix] = next(f.fixes for f in found.findings if f.code == "field-without-effect")
    return found, fix


def test_the_written_file_has_what_the_persons_own_said():
    found, fix = way_out("vlm-sft", "four-gpu", SETTINGS, lora_alpha=48)
    assert dict(fix.changes) == {"config_source": "generate", "accumulation_steps": 2, "lr": 7e-6}
    assert fix.label == "write it from these settings and the file's other values, without training.epochs"
    after = report("vlm-sft", "four-gpu", lora_alpha=48, **fix.changes)
    assert found.batch.global_batch == after.batch.global_batch == 32


def test_what_a_flag_sets_is_not_carried_over_and_what_the_person_took_away_is():
    yaml = "training:\n  batch_size: 36\n"
    found, fix = way_out("vlm-sft", "four-gpu", yaml, lora_alpha=48)
    assert dict(fix.changes) == {
        "config_source": "generate",
        "accumulation_steps": 1,
    }  # the program's own, not the form's 4
    assert report("vlm-sft", "four-gpu", **fix.changes).batch.global_batch == found.batch.global_batch == 16
    found, fix = way_out("vlm-sft", "four-gpu", yaml, lora_alpha=48, batch_size="")
    assert fix.changes["batch_size"] == 36
    assert report("vlm-sft", "four-gpu", **fix.changes).batch.global_batch == found.batch.global_batch == 36


@pytest.mark.parametrize(
    ("recipe", "preset", "text", "change", "carried"),
    [
        ("vlm-pretrain", "four-gpu", "training:\n  accumulation_steps: 2\n", {"lora_alpha": 48}, {"accumulation_steps": 2}),
        ("safe-mm-dpo", "eight-gpu", "batch_size: 2\ngradient_accumulation_steps: 3\n", {"learning_rate": 1e-6},
         {"batch_size": 2, "gradient_accumulation_steps": 3}),
        ("reward-model", "helpful-8gpu", "batch_size: 2\n", {"learning_rate": 1e-6}, {"batch_size": 2, "num_epochs": 1}),
    ],
)  # fmt: skip
def test_every_recipe_with_a_yaml_carries_it_over(recipe, preset, text, change, carried):
    found, fix = way_out(recipe, preset, text, **change)
    assert carried.items() <= fix.changes.items()
    assert not fix.changes.keys() & change.keys()
    assert report(recipe, preset, **change, **fix.changes).batch.global_batch == found.batch.global_batch


def test_what_cannot_be_carried_over_is_named():
    yaml = "training:\n  accumulation_steps: four\n  learning_rate: [1, 2]\nmodel:\n  lora_alpha: [1]\n  a: *b\n? x\n"
    _, fix = way_out("vlm-sft", "two-gpu", yaml, lora_alpha=48)
    assert dict(fix.changes) == {"config_source": "generate"}
    lost = "training.accumulation_steps, training.learning_rate, model.a, line 7 and what follows"
    assert fix.label == f"write it from these settings, without {lost}"


NOT_HERE = [
    ("vlm-sft", "four-gpu", "vlm_sft", "its training.accumulation_steps multiplies this batch."),
    (
        "safe-mm-dpo",
        "eight-gpu",
        "dpo_config",
        "the batch is known only with its batch_size, gradient_accumulation_steps.",
    ),
    ("reward-model", "helpful-8gpu", "rm_config", "the batch is known only with its batch_size."),
]


@pytest.mark.parametrize(("recipe", "preset", "name", "words"), NOT_HERE)
def test_a_file_that_decides_the_batch_and_is_not_here_is_noted(recipe, preset, name, words):
    message = f"configs/{name}.yaml is not here to be read: {words}"
    found = report(recipe, preset)
    assert [(f.severity, f.message) for f in found.findings if f.code == "config-not-here"] == [("note", message)]
    for read in (report(recipe, preset, "other: 1\n"), report(recipe, preset, config_source="generate")):
        assert "config-not-here" not in {f.code for f in read.findings}


def test_a_file_that_decides_nothing_of_the_batch_is_not_noted():
    found = report("minionerec-rl", "eight-gpu", accelerate_config="file")
    assert "config-not-here" not in {f.code for f in found.findings}


def test_a_file_that_goes_with_another_is_carried_over_too():
    """The accelerate config names DeepSpeed's settings; one change replaces both."""
    yaml = "distributed_type: DEEPSPEED\nmixed_precision: fp16\ndeepspeed_config:\n  a: 3\n"
    _, fix = way_out("minionerec-rl", "eight-gpu", yaml, accelerate_config="file", config_file="a.yaml", zero_stage=3)
    assert fix.label == "write it from these settings, without mixed_precision, deepspeed_config.a"
