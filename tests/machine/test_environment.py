"""Probing a training environment: real interpreters, asked in a process of their own."""

from __future__ import annotations

import sys
import venv
from importlib import metadata
from pathlib import Path

import pytest

from prl_tui.core.plan import Activation
from prl_tui.machine import environment


def test_this_environment_tells_what_it_has() -> None:
    found = environment.probe(Activation("this"))
    assert found is not None
    assert found.version == ".".join(map(str, sys.version_info[:3]))
    for package, version in found.versions.items():
        assert metadata.version(package) == version


def test_a_venv_is_asked_by_its_own_python(tmp_path: Path) -> None:
    venv.create(tmp_path / "train", with_pip=False)
    packages = next((tmp_path / "train" / "lib").glob("python3*/site-packages"))
    (packages / "ms_swift-3.3.0.dev0.dist-info").mkdir()
    (packages / "ms_swift-3.3.0.dev0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: ms_swift\nVersion: 3.3.0.dev0\n"
    )
    found = environment.probe(Activation("venv", str(tmp_path / "train")))
    assert found is not None
    assert dict(found.versions) == {"ms-swift": "3.3.0.dev0"}


def test_what_was_found_is_remembered_until_the_packages_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv.create(tmp_path / "train", with_pip=False)
    place = Activation("venv", str(tmp_path / "train"))
    assert environment.probe(place) is not None
    asked: list[Path] = []
    monkeypatch.setattr(environment, "_ask", asked.append)
    environment.probe(place)
    assert not asked
    packages = next((tmp_path / "train" / "lib").glob("python3*/site-packages"))
    (packages / "new.dist-info").mkdir()
    environment.probe(place)
    assert len(asked) == 1


def test_a_conda_environment_is_found_beside_its_hook(tmp_path: Path) -> None:
    venv.create(tmp_path / "conda" / "envs" / "prl_clean", with_pip=False)
    hook = tmp_path / "conda" / "etc" / "profile.d" / "conda.sh"
    python = environment.interpreter(Activation("conda", "prl_clean", str(hook)))
    assert python == tmp_path / "conda" / "envs" / "prl_clean" / "bin" / "python"


def test_no_interpreter_or_a_broken_one_is_no_environment(tmp_path: Path) -> None:
    assert environment.probe(Activation("venv", str(tmp_path / "none"))) is None
    (tmp_path / "broken" / "bin").mkdir(parents=True)
    (tmp_path / "broken" / "bin" / "python").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "broken" / "bin" / "python").chmod(0o755)
    assert environment.probe(Activation("venv", str(tmp_path / "broken"))) is None
