"""Files that a plan brings along: whole, private, and in the run's folder before anything starts."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from prl_tui.core import plan
from prl_tui.core.config import Source, resolve
from prl_tui.runs import launcher, plans
from prl_tui.runs.launcher import Inside, Job, LaunchError, OwnFile
from tests.built_in import RECIPES
from tests.runs.helpers import ended


def test_a_program_finds_its_file_in_the_runs_folder(root):
    file = OwnFile("a.yaml", lambda folder: f"here: {folder}\n")
    script = "import pathlib, sys; print(pathlib.Path(sys.argv[1]).read_text())"
    folder = launcher.start(root, Job((sys.executable, "-c", script, Inside("files/a.yaml")), files=(file,)))
    assert ended(folder).exit_code == 0
    path = folder.path / "files" / "a.yaml"
    assert folder.output.read_text() == f"here: {folder.path / 'files'}\n\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(path.parent.iterdir()) == [path]
    assert json.loads((folder.path / "run.json").read_text())["argv"][-1] == str(path)


def test_a_plan_brings_its_files(tmp_path):
    recipe = RECIPES["vlm-sft"]
    config = resolve(recipe, "two-gpu").with_values({"config_source": "generate", "training_env": "this"}, Source.SET)
    job = plans.job(plan.build(config), tmp_path)
    [file] = job.files
    assert file.name == "train_vlm.yaml"
    assert job.argv[job.argv.index("--config") + 1] == Inside("files/train_vlm.yaml")


def test_accelerate_is_asked_for_rank_logs_unless_the_person_did(tmp_path):
    recipe = RECIPES["minionerec-rl"]
    files = {key: str(tmp_path / "one") for key in ("train_file", "eval_file", "info_file")}
    (tmp_path / "one").write_text("")
    config = resolve(recipe, "four-gpu").with_values({**files, "training_env": "this"}, Source.SET)
    made = plan.build(config)
    assert plans.job(made, tmp_path).argv[:6] == ("accelerate", "launch", "--log_dir", Inside("ranks"), "--tee", "3")
    assert "--tee" not in made.argv
    assert "--log_dir" not in made.argv


def test_a_folder_that_cannot_be_written_is_said(root):
    root.parent.mkdir(exist_ok=True)
    root.write_text("a file")
    with pytest.raises(LaunchError):
        launcher.start(root, Job(("true",), files=(OwnFile("a.yaml", str),)))
    Path(root).unlink()
