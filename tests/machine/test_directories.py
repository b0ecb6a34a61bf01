"""Where things lie: the XDG rules, and no reading of the developer's home."""

from __future__ import annotations

from pathlib import Path

import pytest

from prl_tui.machine import paths


def test_without_xdg_variables_the_home_is_used():
    world = {"HOME": "/home/a"}
    assert paths.config_dir(world) == Path("/home/a/.config/prl-tui")
    assert paths.state_dir(world) == Path("/home/a/.local/state/prl-tui")
    assert paths.cache_dir(world) == Path("/home/a/.cache/prl-tui")
    assert paths.runs_dir(world) == Path("/home/a/.local/state/prl-tui/runs")


def test_xdg_variables_win():
    world = {"HOME": "/home/a", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "/k"}
    assert [paths.config_dir(world), paths.state_dir(world), paths.cache_dir(world)] == [
        Path("/c/prl-tui"),
        Path("/s/prl-tui"),
        Path("/k/prl-tui"),
    ]


@pytest.mark.parametrize("value", ["", "relative/path", "~/x"])
def test_a_path_that_is_not_absolute_is_ignored(value):
    assert paths.state_dir({"HOME": "/home/a", "XDG_STATE_HOME": value}) == Path("/home/a/.local/state/prl-tui")


def test_the_process_environment_is_the_default(monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", "/elsewhere")
    assert paths.config_dir() == Path("/elsewhere/prl-tui")


def test_a_process_without_home_still_has_one():
    assert paths.home({}).is_absolute()
    assert paths.home({"HOME": "relative"}).is_absolute()


def test_the_projects_folder_lies_in_the_working_directory():
    assert paths.project_dir(Path("/w")) == Path("/w/.prl-tui")
