"""Files that an exported script writes. Judges: bash 5.2 runs it, PyYAML 6.0 and json read what it wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from prl_tui.core import plan, scalars, values
from prl_tui.core.config import Source, resolve
from prl_tui.export import bash_files
from prl_tui.export.formats import FORMATS
from tests.built_in import RECIPES
from tests.export.scripts import script

HOSTILE = '/数据/it\'s: "x" $HOME `id` #\\n\n\tEND_OF_FILE\n ${v_x} $(touch canary) & | \x07'


def config(recipe, preset="", **changes):
    return resolve(RECIPES[recipe], preset).with_values(changes, Source.SET)


@pytest.fixture
def run(bench, tmp_path):
    def go(config, **env):
        bench.place = tmp_path / "place it's here"
        bench.outcome = bench.run(script(config), cwd=tmp_path, PRL_FILES_DIR=str(bench.place), **env)
        return bench.outcome

    return go


def made(outcome, flag):
    path = Path(outcome.argv[outcome.argv.index(flag) + 1])
    return json.loads(path.read_text()) if path.suffix == ".json" else yaml.safe_load(path.read_text("utf-8"))


def test_a_script_writes_what_a_launch_writes(run, bench):
    one = config(
        "safe-mm-dpo", "four-gpu", config_source="generate", policy_model_path=HOSTILE, lora_target_modules=["a b", "c"]
    )
    outcome = run(one)
    assert outcome.code == 0, outcome.err
    [file] = plan.build(one).files
    assert (bench.place / file.name).read_text("utf-8") == file.text(str(bench.place))
    found = made(outcome, "--config")
    assert found["policy_model_path"] == found["ref_model_path"] == HOSTILE


def test_two_files_know_of_each_other(run, bench, tmp_path):
    for name in (
        "train/Industrial_and_Scientific_11.csv",
        "valid/Industrial_and_Scientific_11.csv",
        "info/Industrial_and_Scientific.txt",
    ):
        path = tmp_path / "data/Amazon" / name
        path.parent.mkdir(parents=True)
        path.write_text("")
    outcome = run(
        config("minionerec-rl", "four-gpu"), PRL_NPROC_PER_NODE="2", PRL_CUDA_VISIBLE_DEVICES="0,1", PRL_ZERO_STAGE="3"
    )
    found = made(outcome, "--config_file")
    assert (found["num_processes"], outcome.argv[2]) == (2, "--num_processes=2")
    beside = found["deepspeed_config"]["deepspeed_config_file"]
    assert beside == str(bench.place / "deepspeed.json")
    assert json.loads(Path(beside).read_text())["zero_optimization"]["stage"] == 3


def test_an_override_holds_in_the_file_too(run):
    outcome = run(
        config("reward-model", config_source="generate"),
        PRL_BATCH_SIZE="16", PRL_LEARNING_RATE="3E-6", PRL_USE_LORA="false", PRL_BASE_MODEL_PATH=HOSTILE, PRL_TRAIN_HELPFUL_PATH="y",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    found = made(outcome, "--config")
    assert (found["batch_size"], found["learning_rate"], found["use_lora"]) == (16, 3e-6, False)
    assert (found["base_model_path"], found["train_helpful_path"]) == (HOSTILE, "y")


@pytest.mark.parametrize(
    ("source", "variable", "word"),
    [
        ("generate", "PRL_CONFIG", "this script writes that file itself"),
        ("generate", "PRL_CONFIG_SOURCE", "cannot be changed here"),
        ("generate", "PRL_WEIGHT_DECAY", "cannot be changed here"),
        ("file", "PRL_ACCUMULATION_STEPS", "it stands in a file that this script does not write"),
    ],
)
def test_what_cannot_hold_is_refused(run, source, variable, word):
    outcome = run(config("vlm-sft", "two-gpu", config_source=source), **{variable: "7"})
    assert outcome.code == 1
    assert outcome.argv is None
    assert word in outcome.err
    assert variable in outcome.err


def test_without_a_place_a_new_folder_of_its_own_is_made(bench, tmp_path):
    outcome = bench.run(script(config("vlm-sft", config_source="generate")), TMPDIR=str(tmp_path))
    [folder] = tmp_path.glob("prl-files.*")
    assert outcome.argv[outcome.argv.index("--config") + 1] == str(folder / "train_vlm.yaml")
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_place_that_cannot_be_written_is_named(bench, tmp_path):
    (tmp_path / "taken").write_text("")
    outcome = bench.run(script(config("vlm-sft", config_source="generate")), PRL_FILES_DIR=str(tmp_path / "taken"))
    assert outcome.code == 1
    assert "cannot be written: " in outcome.err
    assert outcome.argv is None


def test_the_plain_command_writes_the_same_file(bench, tmp_path):
    one = config("vlm-pretrain", "two-gpu", config_source="generate", vision_model=HOSTILE)
    outcome = bench.run(FORMATS["command"](plan.build(one)).text, cwd=tmp_path, shell="sh")
    assert outcome.code == 0, outcome.err
    [file] = plan.build(one).files
    assert (tmp_path / "prl-files" / "train_vlm.yaml").read_bytes().decode() == file.text("prl-files")
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize("value", [b"\xff", b"a\xc3", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"\xe4\xb8"])
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_bytes_that_are_no_text_are_refused(run, value, locale):
    # Judge: Python's own UTF-8 decoder refuses each of them.
    with pytest.raises(UnicodeDecodeError):
        value.decode()
    outcome = run(config("vlm-sft", config_source="generate", vision_model="x"), PRL_VISION_MODEL=value, LC_ALL=locale)
    assert outcome.code == 1
    assert outcome.argv is None
    assert "this is not UTF-8 text and cannot stand in a file: " in outcome.err


BYTES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=25)
NUMBERS = st.from_regex(r"-?(0|[1-9][0-9]{0,3})?(\.[0-9]{0,3})?([eE][+-]?[0-9]{1,2})?", fullmatch=True).filter(
    values.is_decimal
)


@settings(max_examples=40)
@given(st.lists(BYTES, min_size=1, max_size=20), st.lists(NUMBERS, min_size=1, max_size=20))
@example(
    ['\x85\u2028\u2029\ufeff\ufffe\uffff\x7f\x80\x9f\xa0é😀\\"', "&", "END_OF_FILE\n"], ["5e-7", "-.5", "1.", "1E5"]
)
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_bash_writes_scalars_as_core_does(tmp_path_factory, locale, texts, numbers):
    folder = tmp_path_factory.getbasetemp() / f"scalars-{locale}"
    folder.mkdir(exist_ok=True)
    lines = [*bash_files.TEXT, *bash_files.NUMBER, *bash_files.LIST]
    from prl_tui.export.shell import literal

    lines += [f"text {literal(one)}; printf '%s\\0' \"$scalar\"" for one in texts]
    lines += [f"number {literal(one)}; printf '%s\\0' \"$scalar\"" for one in numbers]
    lines += [f"list {' '.join(literal(one) for one in texts)}; printf '%s\\0' \"$scalar\""]
    import subprocess

    (folder / "s.sh").write_text("set -euo pipefail\n" + "\n".join(lines), "utf-8")
    done = subprocess.run(
        ["bash", str(folder / "s.sh")], capture_output=True, env={"LC_ALL": locale, "PATH": "/usr/bin:/bin"}
    )
    want = [*map(scalars.text, texts), *map(scalars.number, numbers), scalars.sequence(texts)]
    assert done.stdout.decode() == "".join(f"{one}\0" for one in want), done.stderr.decode()
