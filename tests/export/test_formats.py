"""What every format says of itself: its seal, its losses, its refusals."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from prl_tui.core import plan, seal
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.core.recipe import Recipe
from prl_tui.core.value import replace
from prl_tui.export import losses, nodes
from prl_tui.export.formats import FORMATS, SUFFIX, fitting
from tests.built_in import RECIPES
from tests.export.scripts import recipe, text_field

CUSTOM = RECIPES["custom"]
TORCHRUN = resolve(CUSTOM, "torchrun")


SEALED = [name for name in FORMATS if name not in {"command", "oneline", "deepspeed"}]
"""The rest has no place for a comment: a platform may put words behind a line, and JSON has none."""
IN_FULL = resolve(RECIPES["minionerec-rl"], "four-gpu")
"""A config that has files of accelerate and DeepSpeed."""


@pytest.mark.parametrize("name", SEALED)
def test_a_file_knows_whether_it_was_edited(name: str) -> None:
    made = FORMATS[name](plan.build(IN_FULL if name == "accelerate" else TORCHRUN))
    assert seal.edited(made.text) is False
    end = "\r\n" if "\r\n" in made.text else "\n"
    assert seal.edited(made.text + f"# mine{end}") is True
    lines = made.text.split(end)
    place = next(n for n, line in enumerate(lines) if line.startswith(("# file sha256: ", "rem file sha256: ")))
    assert seal.edited(end.join(lines[:place] + lines[place + 1 :])) is True, "the seal itself taken out"
    assert seal.edited(end.join([*lines[:-2], "x" + lines[-2], ""])) is True, "the last line"
    assert not any("no place for a head" in loss for loss in made.losses)


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in SEALED])
def test_a_format_without_a_seal_says_so(name: str) -> None:
    made = FORMATS[name](plan.build(IN_FULL))
    assert seal.edited(made.text) is None
    assert any("no place for a head" in loss for loss in made.losses)


def test_a_text_without_a_seal_says_nothing() -> None:
    assert seal.edited("#!/bin/bash\n") is None


def test_endings_tell_the_formats_apart() -> None:
    assert len(set(SUFFIX.values())) == len(FORMATS)


@pytest.mark.parametrize("name", [name for name in SEALED if name not in {"toml", "accelerate"}])
def test_a_script_as_source_says_whether_a_hand_changed_it(
    cli: Callable[..., object], tmp_path: Path, name: str
) -> None:
    target = tmp_path / f"x{SUFFIX[name]}"
    words = (
        "export",
        "custom/torchrun",
        "--set",
        "script=a b%1.py",
        "--set",
        "environment='V=a b%1.py'",
        "--format",
        name,
    )
    assert cli(*words, "-o", str(target)).code == 0  # type: ignore[attr-defined]
    result = cli("check", str(target))
    assert result.code == 2  # type: ignore[attr-defined]
    said = result.err  # type: ignore[attr-defined]
    assert "--set 'script=a b%1.py'" in said
    assert "It is as it was exported." in said
    target.write_bytes(target.read_bytes().replace(b"a b", b"c"))
    assert "changed by hand" in cli("check", str(target)).err  # type: ignore[attr-defined]


def test_an_accelerate_config_as_source_says_whether_a_hand_changed_it(
    cli: Callable[..., object], tmp_path: Path
) -> None:
    target = tmp_path / "x.accelerate.yaml"
    words = ("export", "minionerec-rl/four-gpu", "--format", "accelerate", "-o", str(target))
    assert cli(*words, "--allow-errors").code == 0  # type: ignore[attr-defined]
    said = cli("check", str(target)).err  # type: ignore[attr-defined]
    assert "minionerec-rl/four-gpu" in said
    assert "It is as it was exported." in said
    target.write_text(target.read_text() + "x: 1\n")
    assert "changed by hand" in cli("check", str(target)).err  # type: ignore[attr-defined]


@pytest.mark.parametrize("command", ["check", "export", "launch"])
def test_a_run_config_that_a_hand_changed_says_so_and_is_read(
    cli: Callable[..., object], tmp_path: Path, command: str
) -> None:
    more = {"check": (), "export": ("--format", "command"), "launch": ("--dry-run", "--no-probe")}[command]
    target = tmp_path / "x.toml"
    assert cli("export", "custom/torchrun", "--format", "toml", "-o", str(target)).code == 0  # type: ignore[attr-defined]
    assert "by hand" not in cli(command, str(target), *more).err  # type: ignore[attr-defined]
    target.write_text(target.read_text().replace('"train.py"', '"other.py"'))
    after = cli(command, str(target), *more)
    assert f"{target} was changed by hand after its export." in after.err  # type: ignore[attr-defined]
    assert command == "check" or "other.py" in after.out + after.err  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", ["/path/to/train.py", "your_model_path", "path/to/x"])
@pytest.mark.parametrize("name", list(FORMATS))
def test_a_placeholder_is_named_by_every_format(name: str, value: str) -> None:
    lost = FORMATS[name](plan.build(TORCHRUN.with_values({"script": value}, Source.SET))).losses
    assert any("script" in loss and value in loss for loss in lost)


def held(config: RunConfig) -> set[str]:
    return {sentence.partition(" ")[0] for sentence in losses.placeholders(plan.build(config))}


PLACEHOLDERS = {
    "custom/swift": {"arguments"},
    "minionerec-rl": {"model_path"},
    "minionerec-sft": {"base_model", "output_dir"},
}
"""Recipe, or one preset of it → its fields that the program's guide leaves for a person to fill in."""


@pytest.mark.parametrize("source", [f"{one.name}/{preset}" for one in RECIPES.values() for preset in one.presets])
def test_the_placeholders_of_every_built_in_preset_are_named_and_nothing_else(source: str) -> None:
    recipe, _, preset = source.partition("/")
    known = PLACEHOLDERS.get(source, PLACEHOLDERS.get(recipe, set()))
    assert held(resolve(RECIPES[recipe], preset)) == known


@pytest.mark.parametrize("value", [
    "path_to_model", "PATH_TO_MODEL", "/path_to_model", "/data/path_to_checkpoint/last", "path-to-model", "./path/to",
    "hf::your-name/set", "<path_to_model>", "<your_file>.py", "--model=path_to_model", "runs/xxx", "xxx", "XXXX/train.py",
    "xxx.jsonl", r"C:\path\to\train.py", "[your model]", "(your model)", "<your model>", "{your model}", "`your_model`",
    "`your model`", "「your_model」", "“your model”", "【your-model】", "【你的模型】", "「你的模型路径」", "（你的模型）",
    "/data/你的模型/x", "/your/path", "your/path/x.py", "/data/<your model>/x.py", "--model=[your model]", "[path_to_model]",
    "(path/to/model)", "“/path/to/model”", "《path/to》", "[xxx]", "「xxx」", "path_to_the_file", "path-to-your-data",
    "PATH_TO_LLAMA", "path_to_checkpoints", "path_to_base_model", "path_to", "“xxx”", "path_to_model1",
    "/data/path_to_weights.pt", "x=（xxx）", "【您的模型】", "/data/您的模型", "<model_path>", "<path>", "你的模型路径", "your model",
    "path_to_sft_model", "/data/<checkpoint dir>/x",
])  # fmt: skip
def test_what_guides_write_for_a_person_s_own_is_a_placeholder(value: str) -> None:
    assert held(TORCHRUN.with_values({"script": value}, Source.SET)) == {"script"}


@pytest.mark.parametrize("value", [
    "/data/mypath/total/yours.py", "shortest_path_to_goal.py", "/data/xpath_to_json/train.py", "path_tokens.py",
    "path/tools/train.py", "/data/paths_to_try/x.py", "path_total/x.py", "yourself.py", "xxxl/train.py", "max-xxx.py",
    "xx/train.py", "axxx", "/data/path_to_rome", "path_to_rome/train.py", "path-to-victory.py", "/data/path_to_modeling", "path_to_datable",
    "/data/yours/path", "yours/x", "tour/your.py", "say your mind (not your model) now", "把你的答案写在最后", "你的任务是（回答）",
    "answer in your/their words", "[your", "my [model]", "(youth model)", "path_together/x.py", "model (v2)", "[x]", "「模型」",
    'Answer as {"reason":"your reasoning","answer":"your answer"}', '请按 {"答案":"你的答案"} 的格式输出',
    "先写出思考过程/你的推理，再给出答案",
    '"Your task" is to solve the problem.', "“你的任务”是解题。", "<your reasoning> then <your answer>", "/data/你的名字/anime",
    "/data/你的婚礼.jsonl", "<image>", "</s>", "<|im_end|>",
])  # fmt: skip
def test_a_value_of_ones_own_is_no_placeholder(value: str) -> None:
    assert held(TORCHRUN.with_values({"script": value}, Source.SET)) == set()


def test_json_has_text_and_losses(cli: Callable[..., object]) -> None:
    result = cli("export", "custom/torchrun", "--set", "script=/path/to/x.py", "--format", "oneline", "--json")
    data = json.loads(result.out)  # type: ignore[attr-defined]
    assert data["format"] == "oneline"
    assert data["text"].endswith("/path/to/x.py\n")
    assert any("/path/to/x.py" in loss for loss in data["losses"])
    assert result.err.count("! ") == len(data["losses"])  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["bash", "command", "toml", "env"])
def test_export_tells_what_check_warns_of(cli: Callable[..., object], name: str) -> None:
    asked = ("export", "vlm-sft", "--format", name, "--json")
    assert json.loads(cli(*asked).out)["warnings"] == []  # type: ignore[attr-defined]
    told = "A total batch of 7 on 2 processes is 3 each: really 6 samples a step."
    result = cli(*asked, "--set", "batch_size=7")
    data = json.loads(result.out)  # type: ignore[attr-defined]
    assert data["warnings"] == [told]
    assert result.err.splitlines() == [f"! {told}", *(f"! {loss}" for loss in data["losses"])]  # type: ignore[attr-defined]


def test_a_warning_is_told_once_beside_errors(cli: Callable[..., object]) -> None:
    wrong = ("--set", "batch_size=7", "--set", "node_rank=3", "--allow-errors")
    result = cli("export", "vlm-sft", "--format", "command", *wrong)
    assert result.err.count("really 6 samples") == 1  # type: ignore[attr-defined]
    assert result.err.count("✗ ") >= 1  # type: ignore[attr-defined]


def test_a_format_that_cannot_carry_a_recipe_says_why_and_is_not_offered() -> None:
    made = plan.build(resolve(recipe(text_field("a"))))
    assert "slurm" not in fitting(made)
    assert FORMATS["slurm"].refusal(made)
    assert set(fitting(plan.build(TORCHRUN))) == set(FORMATS) - {"accelerate", "deepspeed"}


@pytest.mark.parametrize("name", list(FORMATS))
@pytest.mark.parametrize(
    "arguments",
    ["--hub_token hf_abcdefghijklmnopqrstuvwx", "--api-key=plainword", "--data https://me:pass-word@host/x.jsonl"],
)
def test_a_secret_is_written_in_no_format(cli: Callable[..., object], name: str, arguments: str) -> None:
    words = ("export", "custom/torchrun", "--set", f"arguments={arguments}", "--format", name, "--json")
    result = cli(*words)
    assert result.code in (1, 2)  # type: ignore[attr-defined]
    assert result.out == ""  # type: ignore[attr-defined]
    assert "arguments" in result.err  # type: ignore[attr-defined]
    forced = cli(*words, "--allow-errors")
    said = result.err + forced.out + forced.err  # type: ignore[attr-defined]
    for part in ("hf_abc", "plainword", "pass-word"):
        assert part not in said


@pytest.mark.parametrize("name", list(FORMATS))
@pytest.mark.parametrize("value", ["https://me:pass-word@host/x.py", "/x/hf_abcdefghijklmnopqrstuvwx.py"])
def test_a_path_that_holds_a_secret_is_written_in_no_format(cli: Callable[..., object], name: str, value: str) -> None:
    words = ("export", "custom/torchrun", "--set", f"script={value}", "--format", name, "--allow-errors")
    result = cli(*words)
    assert (result.code, result.out) == (2, "")  # type: ignore[attr-defined]
    assert "script holds a secret" in result.err  # type: ignore[attr-defined]
    assert "pass-word" not in result.err  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", ["https://host:8080/x", "s3://bucket/a@b", "user@host:/x", "--tokenizer a"])
def test_what_only_resembles_a_secret_is_written(cli: Callable[..., object], value: str) -> None:
    words = ("export", "custom/torchrun", "--set", f"arguments=--x {value}", "--format", "oneline")
    assert cli(*words).code == 0  # type: ignore[attr-defined]


def test_export_without_a_format_says_which_there_are(cli: Callable[..., object]) -> None:
    result = cli("export", "custom/torchrun")
    assert (result.code, result.out) == (2, "")  # type: ignore[attr-defined]
    [line] = result.err.splitlines()  # type: ignore[attr-defined]
    assert line.endswith(f"--format is needed, one of: {', '.join(FORMATS)}.")


def test_what_no_run_config_has_is_said_by_an_option(cli: Callable[..., object]) -> None:
    words = ("export", "prl-grpo/standard-4gpu", "--image", "reg.local/prl:1", "--json")
    for name in ("trainjob", "pytorchjob"):
        data = json.loads(cli(*words, "--format", name).out)  # type: ignore[attr-defined]
        assert 'image: "reg.local/prl:1"' in data["text"]
        assert not any("--image" in loss for loss in data["losses"])
    for name, place in (("skypilot", '"H100:4"'), ("dstack", '"H100:4"')):
        data = json.loads(cli(*words, "--gpu-type", "H100", "--format", name).out)  # type: ignore[attr-defined]
        assert place in data["text"]
        assert "reg.local/prl:1" in data["text"]
        assert not any("--gpu-type" in loss or "--image" in loss for loss in data["losses"])


def test_without_them_it_says_what_is_missing(cli: Callable[..., object]) -> None:
    words = ("export", "prl-grpo/standard-4gpu", "--json", "--format")
    for name, option, placeholder in (
        ("trainjob", "--image", ""),
        ("pytorchjob", "--image", "registry.example/your-image:tag"),
        ("skypilot", "--gpu-type", "YOUR-GPU"),
        ("dstack", "--gpu-type", ""),
    ):
        data = json.loads(cli(*words, name).out)  # type: ignore[attr-defined]
        assert any(option in loss and placeholder in loss for loss in data["losses"])
        assert placeholder in data["text"]


@pytest.mark.parametrize(
    ("words", "told"),
    [(("--format", "bash", "--image", "x"), "the format bash has no place for it; trainjob, pytorchjob, skypilot, dstack would"),
     (("--format", "trainjob", "--gpu-type", "H100"), "the format trainjob has no place for it; skypilot, dstack would"),
     (("--format", "trainjob", "--image", "a b"), "--image a b: this cannot be one"),
     (("--format", "trainjob", "--image", ""), "--image : this cannot be one"),
     (("--format", "trainjob", "--image", "x" * 501), "this cannot be one"),
     (("--format", "trainjob", "--image", "https://me:pass-word@reg/x"), "--image holds a secret"),
     (("--format", "dstack", "--gpu-type", "H100:4"), "--gpu-type H100:4: this cannot be one; H100 would work")],
)  # fmt: skip
def test_an_option_that_cannot_be_carried_is_one_sentence(
    cli: Callable[..., object], words: tuple[str, ...], told: str
) -> None:
    result = cli("export", "custom/torchrun", *words)
    assert (result.code, result.out) == (2, "")  # type: ignore[attr-defined]
    [line] = result.err.splitlines()  # type: ignore[attr-defined]
    assert told in line
    assert "pass-word" not in line


@pytest.mark.parametrize("name", ["trainjob", "pytorchjob", "skypilot", "dstack", "dlc"])
def test_a_platform_refuses_a_recipe_without_nodes_and_a_script_that_fits_in_no_argument(name: str) -> None:
    assert "no fields for nodes and GPUs" in FORMATS[name].refusal(plan.build(resolve(recipe(text_field("a")))))
    long = TORCHRUN.with_values({"arguments": ["x" * 130_000]}, Source.SET)
    assert "The script is longer than" in FORMATS[name].refusal(plan.build(long))
    middle = plan.build(TORCHRUN.with_values({"arguments": ["x" * 29_000]}, Source.SET))
    assert bool(FORMATS[name].refusal(middle)) is (name == "trainjob")


@pytest.mark.parametrize(
    ("name", "preset", "job"),
    [("PRL_Grpo", "Fast.1", "prl-grpo-fast-1"), ("中文", "", "prl"), ("3d", "x", "prl-3d-x"), ("a" * 50, "b", "a" * 40),
     ("a" * 39, "b", "a" * 39), ("-", "--", "prl")],
)  # fmt: skip
def test_a_job_has_a_name_that_kubernetes_takes(name: str, preset: str, job: str) -> None:
    made = plan.build(TORCHRUN)
    config = replace(made.config, recipe=replace_name(name), preset=preset)
    assert nodes.job_name(replace(made, config=config)) == job


def replace_name(name: str) -> Recipe:
    found = recipe(text_field("a"))
    return Recipe(replace(found.data, name=name), found.fields, found.presets, found.origin)
