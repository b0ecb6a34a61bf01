"""A person's own recipes and presets: they load, they never shadow, and a broken file is named and skipped."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from prl_tui.core import catalog
from prl_tui.core.catalog import Catalog

RECIPE = """
schema = 1
name = "mine"
title = { en = "mine", zh = "我的" }
launcher = "python"
[program.python]
script = "train.py"
[[field]]
key = "lr"
type = "float"
group = "schedule"
label = { en = "rate", zh = "学习率" }
default = "1e-3"
flag = "--lr"
"""
TEMPLATE = """
[[field]]
key = "loop"
type = "str"
group = "data"
label = { en = "loop", zh = "环" }
default = "{loop}"
template = true
"""
PRESETS = """
schema = 1
extends = "prl-grpo"
[presets.night.values]
num_generations = 8
"""


def load(folder: Path, **files: str | bytes) -> Catalog:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / f"{name}.toml").write_bytes(content if isinstance(content, bytes) else content.encode())
    return catalog.load([folder])


def test_a_persons_own_recipe_and_presets_load(tmp_path: Path) -> None:
    found = load(tmp_path / "own", a=RECIPE, b=PRESETS)
    assert found.problems == ()
    assert found.recipes["mine"].origin == str(tmp_path / "own" / "a.toml")
    assert found.recipes["prl-grpo"].presets["night"].values == {"num_generations": 8}
    assert "standard-4gpu" in found.recipes["prl-grpo"].presets


@pytest.mark.parametrize("name", ["prl-grpo", "demo"])
def test_a_recipe_with_a_built_in_name_is_a_problem_and_shadows_nothing(tmp_path: Path, name: str) -> None:
    found = load(tmp_path / "own", a=RECIPE.replace('"mine"', f'"{name}"'))
    assert found.recipes[name].origin == ""
    [problem] = found.problems
    assert f"there is a recipe named {name} already, a built-in one, so" in problem.message


@pytest.mark.parametrize(
    ("table", "place"),
    [
        ('[[outputs.anchors]]\nkey = "ready"\npattern = "((("', "outputs.anchors.ready"),
        ('[outputs]\nmetric_lines = ["ok", "[a"]', "outputs.metric_lines.1"),
    ],
)
def test_a_pattern_that_does_not_compile_is_a_problem_of_its_recipe(tmp_path: Path, table: str, place: str) -> None:
    found = load(tmp_path / "own", a=f"{RECIPE}\n{table}\n")
    assert "mine" not in found.recipes
    [problem] = found.problems
    assert f"{place}: " in problem.message
    assert "is not a regular expression" in problem.message


def test_it_does_not_shadow_where_only_one_other_built_in_is_read(tmp_path: Path) -> None:
    load(tmp_path / "own", a=RECIPE.replace('"mine"', '"demo"'))
    found = catalog.load([tmp_path / "own"], only="prl-grpo")
    assert "demo" not in found.recipes
    [problem] = found.problems
    assert "there is a recipe named demo already, a built-in one, so" in problem.message


def test_a_preset_with_a_built_in_name_is_a_problem_and_shadows_nothing(tmp_path: Path) -> None:
    found = load(tmp_path / "own", b=PRESETS.replace("night", "standard-4gpu"))
    assert found.recipes["prl-grpo"].presets["standard-4gpu"].values["num_generations"] == 2
    assert "has a preset of that name already, a built-in one;" in found.problems[0].message


def test_two_presets_of_one_name_are_told_with_the_others_file(tmp_path: Path) -> None:
    own = tmp_path / "own"
    found = load(own, a=PRESETS, b=PRESETS.replace("= 8", "= 4"))
    assert found.recipes["prl-grpo"].presets["night"].values == {"num_generations": 8}
    assert [problem.message for problem in found.problems] == [
        (
            f"{own / 'b.toml'}: presets.night: prl-grpo has a preset of that name already, in {own / 'a.toml'}; "
            "another name would work."
        )
    ]


def test_two_recipes_of_one_name_and_a_preset_of_its_own_file_are_told_with_that_file(tmp_path: Path) -> None:
    own = tmp_path / "own"
    recipe = RECIPE + "[presets.night.values]\nlr = 1\n"
    found = load(
        own, a=recipe, b=recipe, c=PRESETS.replace("prl-grpo", "mine").replace("num_generations = 8", "lr = 2")
    )
    assert [problem.message for problem in found.problems] == [
        (
            f"{own / 'b.toml'}: name: there is a recipe named mine already, in {own / 'a.toml'}, so this one is skipped; "
            "another name would work."
        ),
        (
            f"{own / 'c.toml'}: presets.night: mine has a preset of that name already, in {own / 'a.toml'}; "
            "another name would work."
        ),
    ]


NOISE = random.Random(1).randbytes(10_000_000)
BROKEN = {
    "syntax": (RECIPE + "\n[oops\n", "line 16: not TOML"),
    "type": (RECIPE.replace('"float"', '"flaot"'), "field lr, type"),
    "missing": (RECIPE.replace('name = "mine"', ""), "name"),
    "unknown": (RECIPE.replace("default =", "defualt ="), "field lr"),
    "table": ("field = 7\n" + RECIPE.partition("[[field]]")[0], "field: it must be a list in brackets"),
    "preset-field": (RECIPE + "[presets.x.values]\nlrr = 1\n", "presets.x.values.lrr"),
    "extends": (PRESETS.replace("prl-grpo", "prl-gropo"), "extends: there is no recipe named prl-gropo"),
    "extends-field": (PRESETS.replace("num_gen", "num_gne"), "presets.night.values.num_gneerations"),
    "variable": (RECIPE + 'variable = "A; touch x"', "'A; touch x' is not the name of an environment variable"),
    "default-variable": (RECIPE.replace('"lr"', '"l.r"'), "'PRL_L.R' is not the name of an environment variable"),
    "key": (RECIPE.replace('"lr"', '"l r"'), "'l r' is not a name"),
    "name": (RECIPE.replace('"mine"', '"mi\\nne"'), "is not a name"),
    "shared-variable": (RECIPE + 'variable = "PRL_NNODES"', "shares its variable with lr"),
    "self-template": (RECIPE + TEMPLATE, "cannot follow another template"),
    "schema": (RECIPE.replace("schema = 1", "schema = 2"), "schema"),
    "latin": ('name = "é"'.encode("latin-1"), "line 1: this is not UTF-8 text"),
    "utf16": (RECIPE.encode("utf-16"), "not UTF-8"),
    "empty": ("", "is empty"),
    "blank": (" \n\n", "is empty"),
    "noise": (NOISE, "not UTF-8"),
    "ascii-noise": (bytes(b % 95 + 32 for b in NOISE[:100_000]) * 100, "line 1: not TOML"),
    "deep": ("x = " + "[" * 100_000, "too deep for a config"),
    "digits": ("x = 1" + "0" * 5000, "not TOML"),
}


@pytest.mark.parametrize(("content", "place"), BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_named_with_the_place_and_skipped_and_the_rest_works(
    tmp_path: Path, content: str | bytes, place: str
) -> None:
    found = load(tmp_path / "own", broken=content, good=RECIPE)
    [problem] = found.problems
    assert problem.message.startswith(str(tmp_path / "own" / "broken.toml"))
    assert place in problem.message
    assert "\n" not in problem.message
    assert len(problem.message) < 500
    assert "mine" in found.recipes or content != RECIPE
    assert "prl-grpo" in found.recipes


def test_a_directory_and_a_dangling_link_named_like_a_recipe_are_named_and_skipped(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    (folder / "x.toml").mkdir(parents=True)
    (folder / "y.toml").symlink_to("nowhere")
    messages = [problem.message for problem in load(folder, good=RECIPE).problems]
    assert "x.toml is a directory" in messages[0]
    assert "y.toml: there is no such file" in messages[1]


def test_a_file_without_permission_is_named_and_skipped(open_folder: Path, as_nobody: Callable[..., str]) -> None:
    load(open_folder, secret=PRESETS, good=RECIPE)
    (open_folder / "secret.toml").chmod(0)

    def messages() -> None:
        found = catalog.load([open_folder])
        print(*[problem.message for problem in found.problems], "mine" in found.recipes)

    assert as_nobody(messages) == f"{open_folder / 'secret.toml'}: no permission to read it. True\n"


def test_a_folder_that_does_not_exist_is_no_problem(tmp_path: Path) -> None:
    assert catalog.load([tmp_path / "nowhere"]).problems == ()


LINES = 25
PLACELESS = {
    "digits": "a = 1" + "0" * 5000,
    "digits in a list": "a = [1, 2" + "0" * 5000 + ", 3]",
    "digits in a table": "a = {b = -1" + "0" * 5000 + "}",
    "digits behind a like text": 't = "1' + "0" * 5000 + '"  # 1' + "0" * 5000 + "\na = 1" + "0" * 5000,
    "deep": "a = " + "[" * 100_000,
}


@pytest.mark.parametrize("wrong", PLACELESS.values(), ids=PLACELESS)
@pytest.mark.parametrize("at", [1, 4, 13, LINES])
def test_an_error_to_which_the_parser_gives_no_place_names_the_right_line(tmp_path: Path, wrong: str, at: int) -> None:
    lines = [f"k{n} = [\n{n}]" if n % 5 == 0 else f"k{n} = {n}" for n in range(LINES)]
    lines.insert(at - 1, wrong)
    text = "\n".join(lines) + "\n"
    line = text.split(wrong)[0].count("\n") + 1 + wrong.count("\n")
    [problem] = load(tmp_path / "own", broken=text).problems
    assert problem.message.startswith(f"{tmp_path / 'own' / 'broken.toml'}, line {line}: ")


def test_a_text_that_ends_too_soon_does_so_at_its_last_line(tmp_path: Path) -> None:
    [problem] = load(tmp_path / "own", broken='a = 1\nb = """x\nlast\n\n').problems
    assert ", line 3: not TOML: a text without its closing quotes" in problem.message


def test_all_mistakes_of_a_presets_file_are_told_at_once_and_its_good_presets_are_there(tmp_path: Path) -> None:
    text = PRESETS + (
        "[presets.bad]\nvalues = 3\n[presets.worse]\ntitle = 7\n[presets.odd.values]\nmax_stps = 1\nseed = 2\n"
        '[presets.standard-4gpu.values]\nseed = 1\n[presets.mixed]\ntitle = "x"\n[presets.mixed.values]\nlerning_rate = 1\n'
    )
    found = load(tmp_path / "own", b=text)
    path = tmp_path / "own" / "b.toml"
    assert sorted(problem.message for problem in found.problems) == sorted(
        [
            f"{path}: presets.bad.values: it must be a table, and is a whole number.",
            f"{path}: presets.worse: the key values is missing.",
            f"{path}: presets.worse.title: it must be a table, and is a whole number.",
            f"{path}: presets.mixed.title: it must be a table, and is a text.",
            f"{path}: presets.odd.values.max_stps: prl-grpo has no such field; did you mean max_steps?",
            f"{path}: presets.mixed.values.lerning_rate: prl-grpo has no such field; did you mean learning_rate?",
            (
                f"{path}: presets.standard-4gpu: prl-grpo has a preset of that name already, a built-in one; "
                "another name would work."
            ),
        ]
    )
    presets = found.recipes["prl-grpo"].presets
    assert presets["night"].values == {"num_generations": 8}
    assert not presets.keys() & {"bad", "worse", "odd", "mixed"}
    assert presets["standard-4gpu"].values["num_generations"] == 2


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ('"1"', 'schema: "1" does not work here; 1 would.'),
        ("2", "schema: 2 does not work here; 1 would."),
        ("[1]", "schema: it must be a whole number, and is a list."),
        ("true", "schema: it must be a whole number, and is true or false."),
        ("1.0", "schema: it must be a whole number, and is a number with a point."),
    ],
)
@pytest.mark.parametrize("text", [PRESETS, RECIPE], ids=["presets", "recipe"])
def test_a_schema_of_another_type_is_shown_as_it_stands_there(
    tmp_path: Path, text: str, written: str, words: str
) -> None:
    found = load(tmp_path / "own", b=text.replace("schema = 1", f"schema = {written}"))
    assert [problem.message for problem in found.problems] == [f"{tmp_path / 'own' / 'b.toml'}: {words}"]
    assert "night" not in found.recipes["prl-grpo"].presets


@pytest.mark.parametrize(("text", "said"), [
    ("schema = 1\n[presets.a.values]\nnum_generations = 8\nDATASET = 'mr'\n",
     'extends is missing: extends = "prl-grpo" would add its presets to that recipe; a recipe of its own needs name, title'),
    ("schema = 1\n[presets.a.values]\npacking = true\n", 'extends = "swift-sft" would add its presets'),
    ("schema = 1\n[presets.a.values]\nno_such = true\n", 'extends = "prl-grpo" would add its presets'),
    ("schema = 1\n", 'it is neither presets nor a recipe: extends = "prl-grpo" with tables [presets.NAME.values] would be the one'),
    ("schema = 1\nextend = 'demo'\n[presets.a.values]\nseed = 1\n", "there is no key extend here; did you mean extends?"),
])  # fmt: skip
def test_a_file_without_extends_and_program_is_told_in_one_sentence_what_would_make_it_either(
    config_dir: Path, text: str, said: str
) -> None:
    path = config_dir / "mine.toml"
    path.write_text(text)
    (problem,) = catalog.load([config_dir]).problems
    assert problem.message.startswith(f"{path}: ")
    assert said in problem.message


def test_what_is_said_to_make_it_either_does(config_dir: Path) -> None:
    presets = "schema = 1\nextends = 'prl-grpo'\n[presets.a.values]\nnum_generations = 8\n"
    (config_dir / "mine.toml").write_text(presets)
    (config_dir / "own.toml").write_text(
        "schema = 1\nname = 'own'\ntitle = { en = 'own' }\n[program.torchrun]\nscript = 'a.py'\n"
    )
    found = catalog.load([config_dir])
    assert not found.problems
    assert "a" in found.recipes["prl-grpo"].presets
    assert "own" in found.recipes
