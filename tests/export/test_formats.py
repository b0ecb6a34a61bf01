"""What every format says of itself: its seal, its losses, its refusals."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from prl_tui.core import catalog, plan, seal
from prl_tui.core.config import Source, resolve
from prl_tui.export.formats import FORMATS, SUFFIX, fitting
from tests.export.scripts import recipe, text_field

CUSTOM = catalog.load().recipes["custom"]
TORCHRUN = resolve(CUSTOM, "torchrun")


@pytest.mark.parametrize("name", ["bash", "env", "slurm", "toml", "dlc"])
def test_a_file_knows_whether_it_was_edited(name: str) -> None:
    text = FORMATS[name](plan.build(TORCHRUN)).text
    assert seal.edited(text) is False
    assert seal.edited(text + "# mine\n") is True
    assert seal.edited(text.replace("train.py", "train2.py")) is ("train.py" in text)


def test_a_text_without_a_seal_says_nothing() -> None:
    assert seal.edited("#!/bin/bash\n") is None


def test_endings_tell_the_formats_apart() -> None:
    assert len(set(SUFFIX.values())) == len(FORMATS)


@pytest.mark.parametrize("name", ["bash", "slurm"])
def test_a_script_as_source_says_whether_a_hand_changed_it(
    cli: Callable[..., object], tmp_path: Path, name: str
) -> None:
    target = tmp_path / "x.sh"
    words = ("export", "custom/torchrun", "--set", "script=a b.py", "--format", name, "-o", str(target))
    assert cli(*words).code == 0  # type: ignore[attr-defined]
    said = cli("check", str(target)).err  # type: ignore[attr-defined]
    assert "custom/torchrun --set 'script=a b.py'," in said
    assert "It is as it was exported." in said
    target.write_text(target.read_text().replace("a b.py", "c.py"))
    assert "changed by hand" in cli("check", str(target)).err  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", ["/path/to/train.py", "your_model_path", "path/to/x"])
@pytest.mark.parametrize("name", list(FORMATS))
def test_a_placeholder_is_named_by_every_format(name: str, value: str) -> None:
    lost = FORMATS[name](plan.build(TORCHRUN.with_values({"script": value}, Source.SET))).losses
    assert any("script" in loss and value in loss for loss in lost)


def test_a_value_of_ones_own_is_no_placeholder() -> None:
    made = plan.build(TORCHRUN.with_values({"script": "/data/mypath/total/yours.py"}, Source.SET))
    assert not any("placeholder" in loss for loss in FORMATS["bash"](made).losses)


def test_json_has_text_and_losses(cli: Callable[..., object]) -> None:
    result = cli("export", "custom/torchrun", "--set", "script=/path/to/x.py", "--format", "oneline", "--json")
    data = json.loads(result.out)  # type: ignore[attr-defined]
    assert data["format"] == "oneline"
    assert data["text"].endswith("/path/to/x.py\n")
    assert any("/path/to/x.py" in loss for loss in data["losses"])
    assert result.err.count("! ") == len(data["losses"])  # type: ignore[attr-defined]


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
