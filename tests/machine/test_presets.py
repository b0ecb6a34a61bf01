"""A person's own presets are saved into the file that they keep, wherever it lies."""

from __future__ import annotations

import pytest

from prl_tui.core import catalog
from prl_tui.core.config import Source, resolve
from prl_tui.machine import presets, trust
from tests.built_in import RECIPES


@pytest.fixture
def config():
    return resolve(catalog.load(only="demo").recipes["demo"]).with_values({"max_steps": 7}, Source.FORM)


@pytest.mark.parametrize("there", [True, False], ids=["a link", "a dangling link"])
def test_the_file_behind_a_link_is_the_one_that_is_written(tmp_path, config, there):
    real, link = tmp_path / "dotfiles" / "demo.toml", tmp_path / "presets" / "demo.toml"
    real.parent.mkdir()
    link.parent.mkdir()
    link.symlink_to(real)
    if there:
        real.write_text('# mine\nschema = 1\nextends = "demo"\n')
        real.chmod(0o600)
    presets.save(link, config, "quick")
    assert link.is_symlink()
    assert "max_steps = 7" in real.read_text()
    assert ("# mine" in real.read_text(), real.stat().st_mode & 0o777 == 0o600) == (there, there)


def test_links_in_a_circle_are_one_sentence(tmp_path, config):
    link = tmp_path / "demo.toml"
    link.symlink_to(link)
    with pytest.raises(ValueError, match=r"demo.toml cannot be written: Too many levels of symbolic links"):
        presets.save(link, config, "quick")
    assert link.is_symlink()


def test_answers_for_projects_are_kept_behind_a_link(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    real, link = tmp_path / "elsewhere.json", tmp_path / "prl-tui" / "projects.json"
    link.parent.mkdir()
    link.symlink_to(real)
    trust.remember(tmp_path, True)
    assert (link.is_symlink(), trust.known(tmp_path)) == (True, True)


MINE = """# my presets
schema = 1
extends = "demo"

[presets.mine]
title = { en = "a short one" }
[presets.mine.values]
max_steps = 9  # short
learning_rate = 1e-2 # as in the paper

# the long one
[presets.other.values]
max_steps = 900
"""


@pytest.fixture
def file(tmp_path):
    found = tmp_path / "presets" / "mine.toml"
    found.parent.mkdir()
    found.write_text(MINE)
    return found


def opened(file, name, **changes):
    """The demo with a preset of the file in the form, and some values changed."""
    recipe = catalog.load([file.parent], only="demo").recipes["demo"]
    return resolve(recipe, name).with_values(changes, Source.FORM)


def test_a_preset_is_saved_into_the_file_that_it_is_from_and_the_rest_stays(tmp_path, file):
    """Judged by the text: only the number differs."""
    usual = tmp_path / "presets" / "demo.toml"
    config = opened(file, "mine", max_steps=7)
    found = presets.save(usual, config, "mine")
    assert (found.path, found.asks, list(map(str, found.changes))) == (file, False, ["max_steps: 9 → 7"])
    assert not usual.exists()
    assert file.read_text() == MINE.replace("max_steps = 9 ", "max_steps = 7 ")


def test_another_preset_of_ones_own_is_replaced_after_a_yes_alone(tmp_path, file):
    usual = tmp_path / "presets" / "demo.toml"
    found = presets.target(usual, opened(file, "mine", max_steps=7), "other")
    assert (found.path, found.asks) == (file, True)
    assert list(map(str, found.changes)) == ["learning_rate: 3e-3 → 0.01", "max_steps: 900 → 7"]
    assert file.read_text() == MINE


def test_a_preset_that_was_changed_in_the_file_meanwhile_is_another_one(tmp_path, file):
    config = opened(file, "mine", max_steps=7)
    file.write_text(MINE.replace("max_steps = 9 ", "max_steps = 8 "))
    found = presets.target(file, config, "mine")
    assert (found.asks, str(found.changes[0])) == (True, "max_steps: 8 → 7")


def test_a_file_of_another_recipe_is_left_alone_and_named(tmp_path, config):
    path = tmp_path / "demo.toml"
    for text in ('schema = 1\nextends = "custom"\n[presets.a.values]\n', 'schema = 1\nname = "mine"\n'):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"demo\.toml is a file of (custom|mine), so no preset of demo"):
            presets.save(path, config, "quick")
        assert path.read_text() == text


def test_a_file_with_a_mark_at_its_beginning_and_dotted_keys_is_changed_too(tmp_path):
    file = tmp_path / "presets" / "mine.toml"
    file.parent.mkdir()
    file.write_text('\ufeffschema = 1\nextends = "demo"\npresets.mine.values.max_steps = 9\n', encoding="utf-8")
    presets.save(file, opened(file, "mine", max_steps=7), "mine")
    assert opened(file, "mine").number("max_steps") == 7


def test_a_recipe_of_ones_own_keeps_its_presets_in_its_own_file(tmp_path):
    file = tmp_path / "recipes" / "small.toml"
    file.parent.mkdir()
    text = (catalog.BUILT_IN / "demo.toml").read_text().replace('name = "demo"', 'name = "small"')
    file.write_text(text)
    recipe = catalog.load([file.parent]).recipes["small"]
    name = next(iter(recipe.presets))
    config = resolve(recipe, name).with_values({"max_steps": 7}, Source.FORM)
    assert presets.save(tmp_path / "presets" / "small.toml", config, name).path == file
    again = catalog.load([file.parent])
    assert (again.problems, resolve(again.recipes["small"], name).number("max_steps")) == ((), 7)
    assert len(set(text.splitlines()) - set(file.read_text().splitlines())) <= 2


def test_a_built_in_name_is_refused_though_a_skipped_preset_of_the_file_has_it(tmp_path):
    file = tmp_path / "presets" / "demo.toml"
    file.parent.mkdir()
    name = next(iter(catalog.load(only="demo").recipes["demo"].presets))
    file.write_text(MINE.replace("presets.other.", f"presets.{name}."))
    with pytest.raises(ValueError, match=f"demo has a built-in preset named {name}"):
        presets.save(file, opened(file, "mine", max_steps=7), name)
    assert opened(file, "mine").number("max_steps") == 9


def test_a_text_that_the_editor_cannot_change_alone_names_the_file_and_stays(tmp_path, file, monkeypatch):
    """A double of the editor, which loses a neighbour: the file is not written."""
    import tomlkit

    monkeypatch.setattr(tomlkit, "dumps", lambda _document: "schema = 1\n")
    with pytest.raises(ValueError, match=r"mine\.toml cannot be changed here without a loss: change presets\.mine in"):
        presets.save(file, opened(file, "mine", max_steps=7), "mine")
    assert file.read_text() == MINE


def test_a_value_that_cannot_be_read_is_not_saved_as_none(tmp_path):
    """It was written as "", which unsets it, and said to be saved."""
    from prl_tui.core.config import Source, resolve
    from prl_tui.machine import presets

    one = resolve(RECIPES["prl-grpo"], "standard-4gpu").with_values({"learning_rate": "5e-"}, Source.FORM)
    with pytest.raises(ValueError, match="Not saved: learning_rate: “5e-” is not a number"):
        presets.save(tmp_path / "prl-grpo.toml", one, "mine")
    assert not (tmp_path / "prl-grpo.toml").exists()
