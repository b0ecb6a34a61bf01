"""The list of presets without the recipes: what a start shows before it builds any."""

from __future__ import annotations

import json

import pytest

from prl_tui.core import catalog, heads
from prl_tui.core.config import resolve
from tests.built_in import CATALOG

OWN = 'schema = 1\nextends = "demo"\n[presets.mine.values]\nnproc_per_node = 1\n'


@pytest.fixture
def cache(tmp_path):
    """A cache with the list."""
    heads.keep(heads.load([], tmp_path), tmp_path)
    return tmp_path


@pytest.fixture
def built(monkeypatch):
    """The recipes that are built from now on."""
    names, real = [], catalog.read_recipe

    def noted(path, *arguments):
        names.append(path.stem)
        return real(path, *arguments)

    monkeypatch.setattr(catalog, "read_recipe", noted)
    return names


def test_a_first_start_has_everything_and_no_list(tmp_path):
    found = heads.load([], tmp_path)
    assert not found.heads
    assert list(heads.of(found)) == list(CATALOG.recipes)


def test_the_list_says_what_the_recipes_say(cache):
    listed = heads.load([], cache).heads
    assert list(listed) == list(CATALOG.recipes)
    for name, recipe in CATALOG.recipes.items():
        assert (listed[name].title.en, listed[name].title.zh) == (recipe.data.title.en, recipe.data.title.zh)
        assert listed[name].presets == {one: heads.figures(resolve(recipe, one)) for one in recipe.presets}
    assert listed["prl-grpo"].presets["standard-4gpu"] == (4, 4, 2, 16)


def test_a_recipe_is_built_when_it_is_asked_for_and_once(cache, built):
    found = heads.load([], cache)
    assert not built
    assert len(found.recipes) == len(CATALOG.recipes)
    assert "demo" in found.recipes
    assert not built
    assert found.find("demo") is found.find("demo") is found.recipes["demo"]
    assert built == ["demo"]
    assert found.find("no-such") is None
    assert [one.name for one in found.recipes.values()] == list(CATALOG.recipes)
    assert sorted(built) == sorted(CATALOG.recipes)


@pytest.mark.parametrize("name", list(CATALOG.recipes))
def test_a_recipe_built_late_is_the_same(cache, name):
    late = heads.load([], cache).recipes[name]
    assert (late.data, late.fields, late.presets, late.origin) == (
        CATALOG.recipes[name].data, CATALOG.recipes[name].fields, CATALOG.recipes[name].presets, "",
    )  # fmt: skip


def test_with_presets_of_a_persons_own_everything_is_read(cache, tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "mine.toml").write_text(OWN)
    found = heads.load([folder, tmp_path / "none"], cache)
    assert not found.heads
    assert "mine" in found.recipes["demo"].presets
    heads.keep(found, tmp_path / "other")
    assert not (tmp_path / "other").exists()  # it would be theirs alone, and the next start may be elsewhere


def test_a_folder_that_cannot_be_read_is_told(cache, tmp_path, monkeypatch):
    problem = catalog.Problem(tmp_path, "no permission")
    monkeypatch.setattr(catalog, "own_files", lambda folder, problems: problems.append(problem) or [])
    assert heads.load([tmp_path], cache).problems == (problem,)


@pytest.mark.parametrize("changed", ["a recipe", "a rule"])
def test_the_list_holds_for_these_very_files(cache, tmp_path, monkeypatch, changed):
    other = tmp_path / "changed.py"
    other.write_text("")
    if changed == "a rule":
        monkeypatch.setattr(heads, "RULES", tmp_path)
    else:
        real = catalog.built_in_files
        monkeypatch.setattr(catalog, "built_in_files", lambda: [*real()[:-1], other])
        monkeypatch.setattr(catalog, "load", lambda *_, **__: CATALOG)
    assert not heads.load([], cache).heads


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "null",
        '{"stamp": [], "recipes": {}}',
        "STAMP",
        "[" * 100_000,
        '{"stamp": "STAMP", "recipes": []}',
    ],
)
def test_a_broken_list_counts_as_none(cache, text):
    path = cache / heads.NAME
    stamp = json.dumps({**json.loads(path.read_text()), "recipes": {"demo": {"title": None}}})
    path.write_text(stamp if text == "STAMP" else text)
    assert not heads.load([], cache).heads


def test_a_cache_that_cannot_be_written_costs_time_and_no_more(tmp_path):
    (tmp_path / "file").write_text("")
    heads.keep(heads.load([], tmp_path / "file"), tmp_path / "file")


def test_the_list_is_one_of_the_files_that_were_read(tmp_path, monkeypatch):
    """Recipes that change while the app is open are not in what it has read; the next start reads them."""
    found = heads.load([], tmp_path)
    other = tmp_path / "new.toml"
    other.write_text("")
    real = catalog.built_in_files
    monkeypatch.setattr(catalog, "built_in_files", lambda: [*real(), other])
    monkeypatch.setattr(catalog, "load", lambda *_, **__: CATALOG)
    heads.keep(found, tmp_path)
    assert not heads.load([], tmp_path).heads
