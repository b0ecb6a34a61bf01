"""Probing a training environment: real interpreters, asked in a process of their own."""

from __future__ import annotations

import os
import sys
import venv
from importlib import metadata
from pathlib import Path

import pytest

from prl_tui.core.config import Source, resolve
from prl_tui.core.plan import Activation, LaunchPlan, build
from prl_tui.machine import conda, environment, packages
from prl_tui.runs import plans
from tests.built_in import RECIPES


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


def test_what_pythonpath_adds_counts_as_it_does_in_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    venv.create(tmp_path / "train", with_pip=False)
    place = Activation("venv", str(tmp_path / "train"))
    before = environment.probe(place)
    assert before is not None
    assert dict(before.versions) == {}
    added = tmp_path / "modules" / "ms_swift-4.6.0.dist-info"
    added.mkdir(parents=True)
    (added / "METADATA").write_text("Metadata-Version: 2.1\nName: ms_swift\nVersion: 4.6.0\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "modules"))
    found = environment.probe(place)
    assert found is not None
    assert dict(found.versions) == {"ms-swift": "4.6.0"}
    assert ("ms-swift", "4.6.0") in packages.ask(tmp_path / "train" / "bin" / "python").versions
    monkeypatch.delenv("PYTHONPATH")
    assert environment.probe(place) == before


def test_a_folder_of_pythonpath_that_comes_later_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    venv.create(tmp_path / "train", with_pip=False)
    place = Activation("venv", str(tmp_path / "train"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "late"))
    before = environment.probe(place)
    assert before is not None
    added = tmp_path / "late" / "trl-0.17.0.dist-info"
    added.mkdir(parents=True)
    (added / "METADATA").write_text("Metadata-Version: 2.1\nName: trl\nVersion: 0.17.0\n")
    after = environment.probe(place)
    assert after is not None
    assert dict(after.versions) == {"trl": "0.17.0"}


def test_start_up_files_may_print_before_and_after_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    venv.create(tmp_path / "train", with_pip=False)
    (tmp_path / "sitecustomize.py").write_text("import atexit\nprint('hello', end='')\natexit.register(print, 'bye')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert environment.probe(Activation("venv", str(tmp_path / "train"))) is not None
    assert packages.ask(tmp_path / "train" / "bin" / "python").problem == ""
    (tmp_path / "sitecustomize.py").write_text("raise SystemExit(3)\n")
    assert packages.ask(tmp_path / "train" / "bin" / "python").problem == "exit code 1"


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 3000, "pipe"], ids=["deep-list", "deep-table", "pipe"])
def test_a_cache_that_is_no_cache_is_made_anew(tmp_path: Path, text: str) -> None:
    from prl_tui.machine import paths

    cache = paths.cache_dir() / "environments.json"
    cache.parent.mkdir(parents=True)
    os.mkfifo(cache) if text == "pipe" else cache.write_text(text)
    assert environment.probe(Activation("this")) is not None


def test_a_file_in_the_working_directory_takes_no_module_s_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv.create(tmp_path / "train", with_pip=False)
    (tmp_path / "json.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    assert environment.probe(Activation("venv", str(tmp_path / "train"))) is not None
    assert not packages.ask(tmp_path / "train" / "bin" / "python").problem


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


# --- CUDA and NCCL --------------------------------------------------------------------------------------------------


def metadata_of(packages: Path, name: str, version: str) -> None:
    info = packages / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


@pytest.fixture
def double(tmp_path: Path) -> Path:
    """A real interpreter with the metadata of a CUDA torch that is not there; its version.py is that of torch 2.8.0+cu128."""
    venv.create(tmp_path / "train", with_pip=False)
    packages = next((tmp_path / "train" / "lib").glob("python3*/site-packages"))
    metadata_of(packages, "torch", "2.8.0+cu128")
    metadata_of(packages, "nvidia-nccl-cu12", "2.27.3")
    metadata_of(packages, "ms_swift", "3.3.0.dev0")
    (packages / "torch").mkdir()
    (packages / "torch" / "__init__.py").write_text("raise SystemExit('torch was imported')\n")
    (packages / "torch" / "version.py").write_text(
        "from typing import Optional\n\n__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip']\n"
        "__version__ = '2.8.0+cu128'\ndebug = False\ncuda: Optional[str] = '12.8'\nhip: Optional[str] = None\n"
    )
    return tmp_path / "train"


def test_cuda_and_nccl_are_told_without_importing_torch(double: Path) -> None:
    found = environment.probe(Activation("venv", str(double)))
    assert found is not None
    assert (found.cuda, found.nccl) == ("12.8", "2.27.3")
    assert found.words() == "torch 2.8.0 (CUDA 12.8, NCCL 2.27.3) · ms-swift 3.3.0.dev0"


@pytest.mark.torch
def test_torch_s_own_build_is_told_as_torch_tells_it() -> None:
    import torch

    found = environment.probe(Activation("this"))
    assert found is not None
    assert found.cuda == (torch.version.cuda or "cpu")


def test_an_interpreter_that_prints_while_it_starts_is_understood(double: Path) -> None:
    packages = next((double / "lib").glob("python3*/site-packages"))
    (packages / "noisy.pth").write_text("import sys; print('welcome to this cluster')\n")
    found = environment.probe(Activation("venv", str(double)))
    assert found is not None
    assert found.versions["torch"] == "2.8.0+cu128"


def test_the_path_of_an_interpreter_is_an_environment(double: Path) -> None:
    found = environment.probe(Activation("python", str(double / "bin" / "python")))
    assert found is not None
    assert found.versions["ms-swift"] == "3.3.0.dev0"


# --- the program that starts the ranks --------------------------------------------------------------------------------


def plan_for(**values: object) -> LaunchPlan:
    config = resolve(RECIPES["swift-sft"], "lora-4gpu").with_values(values, Source.SET)
    return build(config)


def test_an_environment_without_torchrun_never_takes_another_s(double: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "torchrun").write_text("#!/bin/sh\n")
    (other / "torchrun").chmod(0o755)
    plan = plan_for(training_env=str(double))
    python = environment.interpreter(plan.activation)
    assert environment.lacks(plan, python, {"PATH": str(other)}) == "torchrun"
    (double / "bin" / "torchrun").write_text("#!/bin/sh\n")
    assert environment.lacks(plan, python, {"PATH": str(other)}) == ""


def test_without_an_environment_the_program_is_what_path_gives(tmp_path: Path) -> None:
    assert environment.lacks(plan_for(), None, {"PATH": str(tmp_path)}) == "torchrun"


# --- conda ------------------------------------------------------------------------------------------------------------


def conda_env(folder: Path) -> Path:
    """A double: a folder with a python, which is all that conda's environments are known by."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").write_text("#!/bin/sh\n")
    (folder / "bin" / "python").chmod(0o755)
    return folder


def test_a_conda_environment_is_found_by_environments_txt_alone(tmp_path: Path) -> None:
    made = conda_env(tmp_path / "data" / "envs" / "prl_clean")
    (tmp_path / "home" / ".conda").mkdir(parents=True)
    (tmp_path / "home" / ".conda" / "environments.txt").write_text(f"{tmp_path / 'gone'}\n{made}\n")
    values = {"HOME": str(tmp_path / "home"), "PATH": ""}
    assert conda.find("prl_clean", "", values) == made
    assert conda.find("other", "", values) is None
    assert "prl_clean" in conda.names(values)


@pytest.mark.parametrize("place", ["miniconda3/envs", ".conda/envs", "fast/envs"])
def test_a_conda_environment_is_found_where_conda_puts_them(tmp_path: Path, place: str) -> None:
    made = conda_env(tmp_path / place / "train")
    (tmp_path / ".condarc").write_text(
        "channels:\n  - conda-forge\nenvs_dirs:\n  - ~/fast/envs   # quick disk\nauto_activate_base: false\n"
    )
    assert conda.find("train", "", {"HOME": str(tmp_path), "PATH": ""}) == made


def test_a_conda_environment_is_found_by_conda_s_variables(tmp_path: Path) -> None:
    made = conda_env(tmp_path / "shared" / "train")
    assert conda.find("train", "", {"HOME": "/nonexistent", "CONDA_ENVS_PATH": str(tmp_path / "shared")}) == made
    base = conda_env(tmp_path / "conda")
    values = {"HOME": "/nonexistent", "CONDA_EXE": str(base / "bin" / "conda")}
    assert conda.find("base", "", values) == base


def test_conda_is_activated_by_its_own_hook_and_without_one_by_its_folder(tmp_path: Path) -> None:
    made = conda_env(tmp_path / "miniforge3" / "envs" / "train")
    values = {"HOME": str(tmp_path), "PATH": "/usr/bin"}
    plan = plan_for(training_env="conda:train")
    job = plans.job(plan, tmp_path, values)
    assert dict(job.env)["PATH"] == f"{made / 'bin'}:/usr/bin"
    assert dict(job.env)["CONDA_PREFIX"] == str(made)
    assert job.argv[0] == "torchrun"
    hook = tmp_path / "miniforge3" / "etc" / "profile.d" / "conda.sh"
    hook.parent.mkdir(parents=True)
    hook.write_text("conda() { :; }\n")
    job = plans.job(plan, tmp_path, values)
    assert job.argv[:2] == ("bash", "-c")
    assert job.argv[3:7] == ("conda", str(hook), str(made), "torchrun")
