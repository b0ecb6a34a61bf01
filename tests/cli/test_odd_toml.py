"""What TOML allows and a run config cannot mean: one sentence, in words, that names file and key and is no longer than a line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

LONG = "k" * 100_000

FILES = {
    "two spellings": ("num_generations = 3\nnum-generations = 4", "num_generations and num-generations are one field"),
    "a variable": (
        "num_generations = 3\nPRL_NUM_GENERATIONS = 4",
        "num_generations and PRL_NUM_GENERATIONS are one field,",
    ),
    "a flag": ('"--num_generations" = 3\nNum_Generations = 3', "--num_generations and Num_Generations are one field"),
    "deep": (".".join(["a"] * 500) + " = 1", "a: tables in tables, too deep for a config"),
    "deeper than tomli reads": (".".join(["a"] * 5000) + " = 1", "run.toml"),
    "deep lists": ("seed = " + "[" * 60 + "]" * 60, "seed: tables in tables, too deep for a config"),
    "hex": ("seed = 0x" + "f" * 9000, "seed: this number has too many digits"),
    "octal in a list": ("seed = [1, 0o" + "7" * 9000 + "]", "seed: this number has too many digits"),
    "decimal": ("seed = 1" + "0" * 9000, "not TOML: a number has too many digits"),
    "unknown": (f"{LONG} = 1", "has no field named kkk"),
    "nameless": ('"" = 1', "the name of a field is empty; `prl-tui presets prl-grpo` lists them."),
    "blank": ('" " = 1', "the name of a field is empty"),
}


@pytest.mark.parametrize(("values", "words"), FILES.values(), ids=FILES)
def test_a_file_with_odd_values_is_one_sentence(
    cli: Callable[..., object], tmp_path: Path, values: str, words: str
) -> None:
    path = tmp_path / "run.toml"
    path.write_text(f'recipe = "prl-grpo"\n[values]\n{values}\n')
    result = cli("check", str(path))
    assert (result.code, result.out) == (2, "")  # type: ignore[attr-defined]
    [line] = result.err.splitlines()  # type: ignore[attr-defined]
    assert str(path) in line
    assert words in line
    assert len(line) < 400
    assert not any(word in line for word in ("unexpected", "sys.", "Recursion"))


def test_a_long_name_is_cut_wherever_it_stands(cli: Callable[..., object], tmp_path: Path, config_dir: Path) -> None:
    path = tmp_path / "run.toml"
    tables = (
        f'recipe = "demo"\n{LONG} = 1\n', f'recipe = "{LONG}"\n', f'recipe = "demo"\npreset = "{LONG}"\n',
        f'schema = 1\nname = "{LONG}"\n', f'schema = 1\nextends = "{LONG}"\n', f'recipe = "demo"\n[sources]\n{LONG} = 1\n',
    )  # fmt: skip
    for text in tables:
        path.write_text(text)
        result = cli("check", str(path))
        assert (result.code, len(result.err.splitlines())) == (2, 1)  # type: ignore[attr-defined]
        assert len(result.err) < 700, result.err[:300]  # type: ignore[attr-defined]
    for option in ("--set", "--unset"):
        result = cli("check", "demo", option, f"{LONG}=1")
        assert (result.code, len(result.err) < 400) == (2, True)  # type: ignore[attr-defined]
    (config_dir / "recipes").mkdir()
    extra = f'schema = 1\nextends = "demo"\n[presets.{LONG}.values]\n{LONG} = 1\n'
    for n, text in enumerate((*tables, extra)):
        (config_dir / "recipes" / f"{n}.toml").write_text(text)
    told = cli("recipes").err.splitlines()  # type: ignore[attr-defined]
    files = {line.partition(".toml")[0] for line in told}
    assert len(files) == len(tables) + 1  # a file has a line for each of its mistyped names
    assert max(map(len, told)) < 500


@pytest.mark.parametrize(("option", "text"), [("--set", "=1"), ("--set", " =1"), ("--unset", "")])
def test_an_empty_name_is_said_as_such(cli: Callable[..., object], option: str, text: str) -> None:
    result = cli("check", "demo", option, text)
    assert (result.code, result.out) == (2, "")  # type: ignore[attr-defined]
    assert result.err.startswith(f"prl-tui: {option}: the name of the field is empty; ")  # type: ignore[attr-defined]


def test_empty_names_in_presets_of_ones_own_are_said_as_such(cli: Callable[..., object], config_dir: Path) -> None:
    (config_dir / "presets").mkdir()
    (config_dir / "presets" / "a.toml").write_text('schema = 1\nextends = ""\n[presets.x.values]\nseed = 1\n')
    (config_dir / "presets" / "b.toml").write_text('schema = 1\nextends = "demo"\n[presets.x.values]\n"" = 1\n')
    told = cli("recipes").err  # type: ignore[attr-defined]
    assert "a.toml: extends: the name of the recipe is empty." in told
    assert "b.toml: presets.x.values: the name of a field is empty." in told


VALUES = {
    "seed = 99999999999999999999": "“99999999999999999999” is too large; 2147483647 is the greatest that works.",
    'seed = "99999999999999999999"': "“99999999999999999999” is too large; 2147483647 is the greatest that works.",
    "seed = -1234567890123456": "“-1234567890123456” is too small; 0 is the least that works.",
    "seed = {a = 1, b = true}": "“{ a = 1, b = true }” is not a whole number; ",
    "seed = 2026-11-28": "“2026-11-28” is not a whole number; ",
    'learning_rate = [1, "a", 07:32:00]': '“[1, "a", 07:32:00]” is not a number; ',
}


@pytest.mark.parametrize(("line", "words"), VALUES.items())
def test_a_wrong_value_is_shown_as_the_file_has_it(
    cli: Callable[..., object], tmp_path: Path, line: str, words: str
) -> None:
    path = tmp_path / "run.toml"
    path.write_text(f'recipe = "demo"\n[values]\n{line}\n')
    result = cli("check", str(path))
    assert result.code == 1  # type: ignore[attr-defined]
    assert words in result.out  # type: ignore[attr-defined]
    assert not any(word in result.out for word in ("'a'", "datetime", "True"))  # type: ignore[attr-defined]


@pytest.mark.parametrize("form", ["accelerate", "deepspeed"])
def test_a_format_that_a_field_would_fill_names_the_field(cli: Callable[..., object], form: str) -> None:
    result = cli("export", "minionerec-rl/eight-gpu", "--format", form)
    assert result.code == 2  # type: ignore[attr-defined]
    assert "with accelerate_config=generate it does." in result.err  # type: ignore[attr-defined]
    made = cli("export", "minionerec-rl/eight-gpu", "--format", form, "--set", "accelerate_config=generate")
    assert made.code == 0, made.err  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "source", ["swift-sft/lora-1gpu", "prl-grpo/standard-4gpu", "minionerec-sft", "demo/two-ranks"]
)
def test_data_without_rows_are_an_error(cli: Callable[..., object], source: str) -> None:
    result = cli("check", source, "--rows", "0")
    assert result.code == 1  # type: ignore[attr-defined]
    assert "✗ The data has no rows." in result.out  # type: ignore[attr-defined]
    assert "✗ 1 error" in result.out  # type: ignore[attr-defined]


@pytest.mark.parametrize("content", ["", "\n  \n\t\r\n"])
def test_an_empty_file_of_data_is_an_error(
    cli: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.jsonl").write_text(content)
    result = cli("check", "swift-sft/lora-1gpu", "--set", "dataset=d.jsonl", "--json")
    assert result.code == 1  # type: ignore[attr-defined]
    [finding] = [one for one in json.loads(result.out)["findings"] if one["severity"] == "error"]  # type: ignore[attr-defined]
    assert (finding["code"], finding["field"]) == ("no-rows", "dataset")
