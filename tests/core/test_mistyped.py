"""Mistyped names: all of them at once, each with its nearest name, and the values that work where few do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from prl_tui import i18n
from prl_tui.core import catalog, mistakes
from prl_tui.core.recipe import RecipeFile
from tests.core.test_catalog import RECIPE

FILES = {
    "fields": (
        'recipe = "prl-grpo"\n[values]\nnum_generation = 4\nmax_lenght = 3\nseed = 1\n',
        ("num_generation; did you mean num_generations?", "max_lenght; did you mean max_length?"),
    ),
    "keys": (
        'recipe = "prl-grpo"\npresett = "x"\n[value]\nnum_generations = 4\n',
        (
            "no key presett here; did you mean preset?",
            "no key value here; did you mean values?",
            "prl-grpo has no preset named x; it has ",
        ),
    ),
    "keys-and-fields": (
        'recipe = "demo"\npresett = "two-ranks"\n[values]\nmax_stepps = 4\n',
        ("no key presett here; did you mean preset?", "max_stepps; did you mean max_steps?"),
    ),
    "preset-and-fields": (
        'recipe = "prl-grpo"\npreset = "standard-4gp"\n[values]\nmax_lenght = 3\n',
        ("named standard-4gp; did you mean standard-4gpu?", "max_lenght; did you mean max_length?"),
    ),
    "recipe-preset-and-fields": (
        'recipe = "prl-grop"\npreset = "standard-4gp"\n[values]\nmax_lenght = 3\n',
        (
            "no recipe named prl-grop; did you mean prl-grpo?",
            "named standard-4gp; did you mean standard-4gpu?",
            "max_lenght; did you mean max_length?",
        ),
    ),
    "everything": (
        'recpie = "prl-grop"\npresett = "standard-4gp"\n[value]\nmax_lenght = 3\n',
        (
            "no key recpie here; did you mean recipe?",
            "no key presett here; did you mean preset?",
            "no key value here; did you mean values?",
            "no recipe named prl-grop; did you mean prl-grpo?",
            "named standard-4gp; did you mean standard-4gpu?",
            "max_lenght; did you mean max_length?",
        ),
    ),
    "types-and-fields": (
        'recipe = "prl-grpo"\npreset = 4\n[values]\nmax_lenght = 3\nseed = 1\nPRL_SEED = 2\n',
        (
            "preset: it must be a text in quotes, and is a whole number.",
            "max_lenght; did you mean max_length?",
            "seed and PRL_SEED are one field, seed; keep one of them.",
        ),
    ),
    "a-recipes-first-line": (
        'schema = 1\nrecpie = "prl-grpo"\n',
        ("no key schema here; a run config has none: leave that line out.", "recpie here; did you mean recipe?"),
    ),
    "presets-of-nothing": (
        'schema = 1\nextends = "prl-grop"\n[presets.a.values]\nseed = 1\n',
        ("extends: there is no recipe named prl-grop; did you mean prl-grpo?",),
    ),
    "no-recipe": (
        'recip = "prl-grpo"\n[vaules]\n',
        ("no key recip here; did you mean recipe?", "no key vaules here; did you mean values?"),
    ),
}


@pytest.mark.parametrize(("content", "words"), FILES.values(), ids=FILES)
def test_a_run_config_names_every_mistyped_name(
    cli: Callable[..., object], tmp_path: Path, content: str, words: tuple[str, ...]
) -> None:
    path = tmp_path / "run.toml"
    path.write_text(content)
    result = cli("check", str(path))
    assert (result.code, result.out) == (2, "")  # type: ignore[attr-defined]
    lines = result.err.splitlines()  # type: ignore[attr-defined]
    assert len(lines) == len(words)
    for line, word in zip(lines, words, strict=True):
        assert line.startswith(f"prl-tui: {path}: ")
        assert word in line


@pytest.mark.parametrize(
    ("content", "folder", "source"),
    [
        ('schema = 1\nextends = "demo"\n[presets.a.values]\nseed = 1\n', "presets", "demo/a"),
        ('schema = 1\nname = "mine"\n', "recipes", "mine"),
    ],
)
def test_what_belongs_into_the_configuration_folder_is_sent_to_the_one_in_force(
    cli: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, folder: str, source: str
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "elsewhere"))
    path = tmp_path / "own.toml"
    path.write_text(content)
    (line,) = cli("check", str(path)).err.splitlines()  # type: ignore[attr-defined]
    assert line.endswith(f"put it into {tmp_path / 'elsewhere' / 'prl-tui' / folder} and name {source}.")


def test_the_command_line_names_every_mistyped_name(cli: Callable[..., object]) -> None:
    result = cli("check", "prl-grpo", "--set", "zz=1", "--set", "num_genrations=2", "--unset", "max_lenght")
    assert (result.code, result.out) == (2, "")  # type: ignore[attr-defined]
    first, second, third = result.err.splitlines()  # type: ignore[attr-defined]
    assert first.startswith("prl-tui: --set zz: prl-grpo has no field named zz; ")
    assert second.endswith("did you mean num_generations?")
    assert third == "prl-tui: --unset max_lenght: prl-grpo has no field named max_lenght; did you mean max_length?"


@pytest.mark.parametrize(("n", "last"), [(10, "k9"), (11, "1 more is like these."), (500, "490 more are like these.")])
def test_ten_are_listed_and_the_rest_is_counted(cli: Callable[..., object], n: int, last: str) -> None:
    sets = [word for i in range(n) for word in ("--set", f"k{i}=1")]
    lines = cli("check", "demo", *sets).err.splitlines()  # type: ignore[attr-defined]
    assert len(lines) == min(n, 11)
    assert all(line.startswith("prl-tui: ") for line in lines)
    assert last in lines[-1]


def problems(folder: Path, content: str) -> list[str]:
    (folder / "own.toml").write_text(content)
    found = catalog.load([folder]).problems
    assert all(problem.message.startswith(f"{folder / 'own.toml'}: ") for problem in found)
    return [problem.message.removeprefix(f"{folder / 'own.toml'}: ") for problem in found]


def test_presets_of_ones_own_name_every_mistyped_field(tmp_path: Path) -> None:
    keys = "".join(f"k{i} = 1\n" for i in range(12))
    told = problems(tmp_path, f'schema = 1\nextends = "demo"\n[presets.a.values]\nmax_step = 1\nfail_rnk = 2\n{keys}')
    assert told[0] == "presets.a.values.max_step: demo has no such field; did you mean max_steps?"
    assert told[1] == "presets.a.values.fail_rnk: demo has no such field; did you mean fail_rank?"
    assert (len(told), told[-1]) == (11, "4 more are like these.")


WRONG = {
    "launcher": (
        RECIPE.replace('launcher = "python"', 'launcher = "pythn"'),
        ["launcher: pythn is none of torchrun, accelerate, swift, python; did you mean python?"],
    ),
    "near nothing": (
        RECIPE.replace('"schedule"', '"zzz"'),
        [
            "field lr, group: zzz is none of batch, generation, model, data, schedule, faults, launch, environment."
        ],
    ),
    "type and key": (
        RECIPE.replace('"float"', '"flaot"') + "defualt = 3\n",
        [
            ("field lr, type: flaot is none of int, float, str, path, bool, choice, list, json, gpus, arguments, "
            "variables; did you mean float?"),
            "field lr: there is no key defualt here; did you mean default?",
        ],
    ),
    "table": (
        RECIPE.replace("[program.python]", "[program.pyton]"),
        ["program: there is no key pyton here; did you mean python?"],
    ),
    "schema": (RECIPE.replace("schema = 1", "schema = 2"), ["schema: 2 does not work here; 1 would."]),
    "rule": (
        RECIPE + '[batch]\nrule = "prodct"\n[batch.fields]\n',
        [
            ("batch.rule: prodct is none of grpo, product, global, total, minionerec-sft, mmdpo-rm, mmdpo-dpo, "
            "deepspeed, none; did you mean product?")
        ],
    ),
    "only_with": (
        RECIPE + 'only_with = ["python", "swfit"]\n',
        ["field lr, only_with[1]: swfit is none of torchrun, accelerate, swift, python; did you mean swift?"],
    ),
    "preset": (
        RECIPE + "[presets.a]\ntitel = 1\nvalues = {}\n[presets.b]\nhlep = 1\nvalues = {}\n",
        [
            "presets.a: there is no key titel here; did you mean title?",
            "presets.b: there is no key hlep here; did you mean help?",
        ],
    ),
    "names of fields": (
        RECIPE + '[batch]\nrows = ["dta"]\n[presets.a.values]\nlrr = 1\n',
        [
            "presets.a.values.lrr: there is no such field as lrr; did you mean lr?",
            "batch.rows: there is no such field as dta.",
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("content", "told"), WRONG.values(), ids=WRONG)
def test_a_recipe_is_told_what_works(tmp_path: Path, content: str, told: list[str]) -> None:
    assert problems(tmp_path, content) == told


def test_a_recipe_is_told_in_chinese(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(RECIPE.replace('launcher = "python"', 'launcher = "pythn"'))
    i18n.set_language("zh")
    try:
        [problem] = catalog.load([tmp_path]).problems
    finally:
        i18n.set_language("en")
    assert problem.message.endswith("是不是 python？")


@pytest.mark.parametrize("recipe", sorted(catalog.BUILT_IN.glob("[!_]*.toml")), ids=lambda path: path.stem)
def test_what_ships_has_no_mistyped_name(recipe: Path) -> None:
    assert mistakes.found(catalog.read_toml(recipe), RecipeFile) == []
