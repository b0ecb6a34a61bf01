"""A person's own presets are saved into the file that they keep, wherever it lies."""

from __future__ import annotations

import pytest

from prl_tui.core import catalog
from prl_tui.core.config import Source, resolve
from prl_tui.machine import presets, trust


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
