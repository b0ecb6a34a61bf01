"""A launch into a training environment whose engine does not know the recipe's flags. The environments here are doubles:
real interpreters with the metadata of an ms-swift that is not there; tests/swift asks the real one.
"""

from __future__ import annotations

import json
import venv
from pathlib import Path

import pytest

from tests import odd_program

DEAD = ("--train_type", "--num_infer_workers", "--use_lmdeploy")


@pytest.fixture
def double(tmp_path: Path):
    """Make an environment that says to have that version of ms-swift."""

    def make(version: str) -> Path:
        folder = tmp_path / f"swift-{version}"
        venv.create(folder, with_pip=False)
        packages = next((folder / "lib").glob("python3*/site-packages"))
        info = packages / f"ms_swift-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: ms_swift\nVersion: {version}\n")
        return folder

    return make


def test_prl_against_ms_swift_4_6_is_not_launched_and_the_dead_flags_are_named(cli, double) -> None:
    done = cli("launch", "prl-grpo", "--set", f"training_env={double('4.6.0')}")
    assert done.code == 1
    for flag in DEAD:
        assert f"ms-swift 4.6.0 does not know {flag}." in done.err
    assert "Since 4.0 it is called --tuner_type." in done.err
    assert "has ms-swift 4.6.0, and this recipe's flags are those of ms-swift <3.5" in done.err


def test_prl_against_its_own_fork_has_no_word_about_flags(cli, double) -> None:
    done = cli("check", "prl-grpo", "--here", "--set", f"training_env={double('3.3.0.dev0')}")
    assert "does not know" not in done.out
    assert "has ms-swift" not in done.out
    assert "PRL's fork" in done.out


def test_a_fork_in_the_working_directory_is_what_dash_m_starts(cli, double, tmp_path: Path) -> None:
    (tmp_path / "prl" / "swift").mkdir(parents=True)
    (tmp_path / "prl" / "swift" / "version.py").write_text("__version__ = '3.3.0.dev0'\n")
    words = ["--here", "--set", f"training_env={double('4.6.0')}", "--set", f"workdir={tmp_path / 'prl'}"]
    assert "does not know" not in cli("check", "prl-grpo", *words).out
    by_command = cli("check", "prl-grpo", *words, "--set", "launcher=swift")
    assert "ms-swift 4.6.0 does not know --train_type." in by_command.out


@pytest.fixture
def odd(config_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (config_dir / "recipes").mkdir()
    (config_dir / "recipes" / "odd.toml").write_text(odd_program.recipe())
    (tmp_path / "train.py").write_text("import no_such_engine\n")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("odd")
def test_a_program_that_cannot_be_imported_is_not_launched(cli) -> None:
    done = cli("launch", "odd/one", "--detach")
    assert done.code == 1
    assert "The trainer cannot be imported: ModuleNotFoundError: No module named 'no_such_engine'" in done.err
    assert "--no-probe launches without asking the training environment." in done.err
    assert "probing the training environment: " in done.err
    assert cli("runs").out == ""


@pytest.mark.usefixtures("odd")
def test_no_probe_launches_all_the_same(cli) -> None:
    started = cli("launch", "odd/one", "--detach", "--no-probe")
    assert started.code == 0
    assert cli("watch", started.out.strip(), "--plain").code == 1


@pytest.mark.usefixtures("odd")
def test_check_probes_on_demand_and_here_only(cli) -> None:
    assert cli("check", "odd/one", "--here").code == 0
    done = cli("check", "odd/one", "--here", "--probe", "--json")
    assert done.code == 1
    assert [finding["code"] for finding in json.loads(done.out)["findings"]] == ["probe-import"]
    assert cli("check", "odd/one", "--probe").code == 2
