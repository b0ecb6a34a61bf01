"""A home of its own for every screen test, and apps on boxes of several kinds."""

from __future__ import annotations

from pathlib import Path

import pytest

from prl_tui.tui.session import Session
from tests.built_in import CATALOG
from tests.tui.driving import App

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Of a test at several sizes one runs on every Python; the others, which no Python changes, run once, as slow ones."""
    first: dict[tuple[str, str], object] = {}
    for item in items:
        here = item.path.parent == HERE and hasattr(item, "callspec")
        size = item.callspec.params.get("size") if here else None
        if size is not None and first.setdefault((item.module.__name__, item.originalname), size) != size:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """Nothing of the developer's home is read or written; the working directory is empty."""
    home = tmp_path / "home"
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(home / name.lower()))
    monkeypatch.setenv("HOME", str(home))
    for name in ("TMUX", "NO_COLOR", "PRL_TUI_LANG", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    work = tmp_path / "work"
    work.mkdir(parents=True, exist_ok=True)
    home.mkdir(exist_ok=True)
    monkeypatch.chdir(work)
    return home


@pytest.fixture(autouse=True)
def quick_idle(monkeypatch):
    """Pilot decides more often whether the app is idle: 1/50 s a look, several looks a key, is most of a test's time."""
    monkeypatch.setattr("textual._wait.SLEEP_GRANULARITY", 0.004)
    monkeypatch.setattr("textual._wait.SLEEP_IDLE", 0.0004)


@pytest.fixture(scope="session")
def recipes():
    """The built-in recipes."""
    return CATALOG


@pytest.fixture
def app(recipes):
    """Make an app that opens on a preset."""

    def make(recipe="prl-grpo", preset="standard-4gpu", **options):
        return App(recipes, session=Session.begin(recipes, recipe, preset), **options)

    return make
