"""What is wrong with a run config's recipe, preset and names: one sentence each, in either language, with what would work."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from prl_tui import i18n
from prl_tui.core import config_file, mistakes
from tests.built_in import CATALOG


def told(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "run.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"run\.toml") as error:
        config_file.read(path, CATALOG)
    return [one.removeprefix(str(path)) for one in getattr(error.value, "sentences", [str(error.value)])]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ('"" = 1\nrecipe = "demo"', [": a key is empty; settings belong in the table [values]."]),
        ('" " = 1\nrecipe = "demo"', [": a key is empty; settings belong in the table [values]."]),
        (
            'recipe = "demo"\n[presets.a]\nseed = 1',
            [
                (": there is no key presets here; presets of your own go into a file of their own, "
                'which begins with schema = 1 and extends = "demo".')
            ],
        ),
        ('recipe = "demo"\npresett = 7', [": there is no key presett here; did you mean preset?"]),
        (
            'recipe = "prl-grpo/standard-4gpu"',
            [': recipe: there is no recipe named prl-grpo/standard-4gpu; recipe = "prl-grpo", preset = "standard-4gpu" would work.'],
        ),
        (
            'recipe = "prl-grpo/"\n[values]\nseeed = 1',
            [': recipe: there is no recipe named prl-grpo/; recipe = "prl-grpo" would work.',
             ": values: prl-grpo has no field named seeed; did you mean seed?"],
        ),
        (
            'recipe = "prl-grpo/standard-4gup"',
            [": recipe: prl-grpo has no preset named standard-4gup; did you mean standard-4gpu?"],
        ),
    ],
)  # fmt: skip
def test_each_mistake_is_one_sentence_with_what_would_work(tmp_path: Path, text: str, sentences: list[str]) -> None:
    assert told(tmp_path, text) == sentences


@pytest.mark.parametrize(
    "text",
    [
        'recipe = "unk"',
        'recipe = "demo"\npreset = "unk"',
        'recipe = "demo"\n[values]\nunk = 1\n"" = 2\nseed = 1\n"--seed" = 2',
        'recipe = "prl-grpo/unk"\nvalues = 3',
        '"" = 1\nunk = 3\npreset = 3',
        'schema = 1\nextends = "unk"',
        'recipe = "demo"\n[presets.a]\nseed = 1',
        "a = 1" + "0" * 5000,
    ],
)
def test_in_chinese_no_colon_of_ours_is_an_english_one(tmp_path: Path, text: str) -> None:
    i18n.set_language("zh")
    for sentence in told(tmp_path, text):
        assert not re.search(r": |[;?]|\S  \S", sentence), sentence
        assert "：" in sentence


def test_an_empty_key_of_a_recipe_is_said_as_such(tmp_path: Path) -> None:
    from prl_tui.core.recipe import PresetFile

    [sentence] = mistakes.told("a.toml", {"schema": 1, "extends": "demo", "presets": {}, "": 1}, PresetFile)
    assert sentence == "a.toml: a key is empty; there are schema, extends, presets."
