"""Every preset in every shell format: pasted where nothing is set, read by shellcheck 0.11, and the cases that the
original scripts let through. Judges: bash 5.2, dash 0.5.12, a recording launcher, shellcheck, Python's own venv.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from prl_tui.core import plan
from prl_tui.core.config import Source, resolve
from prl_tui.core.plan import LaunchPlan
from prl_tui.export import supervised
from prl_tui.export.formats import FORMATS
from tests.built_in import RECIPES
from tests.export.scripts import STUB, Bench, Outcome
from tests.export.test_bash_script import CASES, refused, shellcheck
from tests.export.test_slurm import JOB, SRUN

PRESETS = [pytest.param(r, name, id=f"{r.name}-{name}") for r in RECIPES.values() for name in ("", *r.presets)]
SHELLS = ["bash", "dash"]


def pasted(bench: Bench, line: str, shell: str, cwd: Path, path: str = "") -> Outcome:
    """The line in `env -i SHELL -c`, with nothing in the environment but PATH, and not even that where `path` is "-"."""
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    given = "" if path == "-" else f'PATH="{path}{bench.bin}:{os.defpath}" '
    bench.file.write_text(f'exec env -i {given}{shutil.which(shell)} -c "$LINE"\n')
    return bench.run_file(bench.file, cwd, LINE=line)


def line_of(made: LaunchPlan) -> str:
    return FORMATS["oneline"](made).text


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(("one", "name"), PRESETS)
def test_the_line_runs_the_engine_or_stops_with_one_line(
    one: object, name: str, shell: str, bench: Bench, tmp_path: Path
) -> None:
    made = plan.build(resolve(one, name))  # type: ignore[arg-type]
    outcome = pasted(bench, line_of(made), shell, tmp_path)
    if made.activation.kind in {"conda", "venv", "python"} or made.workdir:
        assert (outcome.argv, outcome.code, len(outcome.err.splitlines())) == (None, 1, 1)
        assert outcome.err.startswith("error: ")
        return
    assert (outcome.err, outcome.code) == ("", 0)
    assert outcome.argv == list(made.argv)
    assert dict(made.env).items() <= outcome.env.items()
    for file in made.files:
        assert (tmp_path / "prl-files" / file.name).read_text("utf-8") == file.text("prl-files")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("one", RECIPES.values(), ids=lambda one: one.name)
def test_without_an_engine_the_line_stops_with_one_line_that_names_it(
    one: object, shell: str, bench: Bench, tmp_path: Path
) -> None:
    made = plan.build(resolve(one, one.data.default_preset))  # type: ignore[attr-defined,arg-type]
    if shutil.which(made.argv[0], path=os.defpath):
        pytest.skip("this box has that program where a shell looks by itself")
    outcome = pasted(bench, line_of(made), shell, tmp_path, "-")
    assert (outcome.argv, outcome.code) == (None, 127)
    [line] = outcome.err.splitlines()
    assert made.argv[0] in line


@pytest.fixture
def conda(tmp_path: Path, bench: Bench) -> Path:
    """What conda's hook defines, with one environment, `good 环境`, in which the launcher is."""
    (tmp_path / "env bin").mkdir()
    hook = tmp_path / "etc 中" / "conda.sh"
    hook.parent.mkdir()
    hook.write_text(
        'conda() { [ "$1" = activate ] && [ "$2" = "good 环境" ] || return 1; '
        f"export CONDA_PREFIX='{tmp_path}' PATH='{tmp_path}/env bin':\"$PATH\"; }}\n"
    )
    return hook


@pytest.mark.parametrize("shell", SHELLS)
def test_the_line_activates_conda_and_goes_on_only_then(shell: str, conda: Path, bench: Bench, tmp_path: Path) -> None:
    base = resolve(RECIPES["custom"], "torchrun").with_values({"conda_hook": str(conda)}, Source.SET)
    good = plan.build(base.with_values({"training_env": "conda:good 环境"}, Source.SET))
    outcome = pasted(bench, line_of(good), shell, tmp_path)
    assert (outcome.err, outcome.code) == ("", 0)
    assert outcome.argv == list(good.argv)
    assert outcome.env["CONDA_PREFIX"] == str(tmp_path)
    bad = plan.build(base.with_values({"training_env": "conda:other"}, Source.SET))
    refused(pasted(bench, line_of(bad), shell, tmp_path), "other")


@pytest.fixture(scope="module")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real one, whose torchrun is a stub, in a folder of an awkward name."""
    folder = tmp_path_factory.mktemp("venv") / "工作 a b" / "my env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=120)
    (folder / "bin/torchrun").write_text(STUB)
    (folder / "bin/torchrun").chmod(0o755)
    (folder / "bin/code").write_text("0")
    return folder


def exported(bench: Bench, how: str, made: LaunchPlan, cwd: Path) -> Outcome:
    """The plan run as bash script, or as line of a shell."""
    if how == "script":
        return bench.run(FORMATS["bash"](made).text, cwd)
    return pasted(bench, line_of(made), how, cwd)


@pytest.mark.parametrize("how", ["script", *SHELLS])
def test_a_folder_is_entered_and_a_real_venv_in_it_activated(
    how: str, venv: Path, bench: Bench, tmp_path: Path
) -> None:
    changes = {"workdir": str(venv.parent), "training_env": "my env" if how != "script" else str(venv)}
    made = plan.build(resolve(RECIPES["custom"], "torchrun").with_values(changes, Source.SET))
    outcome = exported(bench, how, made, tmp_path)
    assert (outcome.err, outcome.code) == ("", 0)
    assert (venv / "bin/argv").read_text().split("\0")[2:-1] == list(made.argv)[1:]
    assert (venv / "bin/cwd").read_text().rstrip("\n") == str(venv.parent)


@pytest.mark.parametrize("how", ["script", *SHELLS])
@pytest.mark.parametrize("stays", [True, False])
def test_a_venv_that_was_copied_elsewhere_stops_instead_of_another_environments_engine(
    how: str, stays: bool, venv: Path, bench: Bench, tmp_path: Path
) -> None:
    first, copy = tmp_path / "first", tmp_path / "copy"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(first)], check=True, timeout=120)
    shutil.copytree(first, copy, symlinks=True)
    if not stays:
        shutil.rmtree(first)
    made = plan.build(resolve(RECIPES["custom"], "torchrun").with_values({"training_env": str(copy)}, Source.SET))
    outcome = exported(bench, how, made, tmp_path)
    refused(outcome, str(first), str(copy))
    assert "made for another place" in outcome.err


@pytest.mark.slow
@pytest.mark.parametrize(("one", "name"), PRESETS)
def test_shellcheck_finds_nothing_in_any_shell_format(one: object, name: str) -> None:
    made = plan.build(resolve(one, name))  # type: ignore[arg-type]
    for each, dialect in (("oneline", "sh"), ("env", "sh"), ("command", "sh"), ("bash", "bash"), ("slurm", "bash")):
        if not FORMATS[each].refused(made):
            text = FORMATS[each](made).text
            words = [shellcheck(), "-s", dialect, "-"]
            done = subprocess.run(words, input=text, capture_output=True, text=True, timeout=60,
                                  env={**os.environ, "LC_ALL": "C.UTF-8"})  # fmt: skip
            assert (each, done.stdout + done.stderr) == (each, "")


QUOTES = ["'", '"', "\n", "$$", "$(RANK)", "${{ x }}", "‘", "’", "a", "%", "\\", "#", " ", "\r\n"]


@pytest.mark.slow
@pytest.mark.parametrize("format_", ["bash", "slurm", "supervised", "dlc", "oneline", "env", "command"])
def test_shellcheck_takes_no_quotes_of_a_value_for_a_slip(format_: str) -> None:
    """SC1003 and SC2016 are notes that literal text looks like an escape or an expansion: it does, and is none."""
    form = supervised.FORMAT if format_ == "supervised" else FORMATS[format_]
    source = random.Random(20261129)
    base = resolve(RECIPES["custom"], "torchrun")
    for _ in range(3):
        words = ["".join(source.choices(QUOTES, k=6)) for _ in range(12)]
        changes = {
            "script": words[0],
            "arguments": words,
            "environment": [f"NOTE_{at}={word}" for at, word in enumerate(words)],
        }
        text = form(plan.build(base.with_values(changes, Source.SET))).text
        dialect = "bash" if format_ in {"bash", "slurm", "supervised"} else "sh"
        done = subprocess.run([shellcheck(), "-s", dialect, "-e", "SC1003,SC2016", "-f", "gcc", "-"], input=text,
                              capture_output=True, text=True, timeout=60, env={**os.environ, "LC_ALL": "C.UTF-8"})  # fmt: skip
        assert done.stdout + done.stderr == ""


@pytest.mark.slow
@pytest.mark.parametrize(("one", "name"), PRESETS)
def test_every_shell_reads_every_preset_to_its_end(one: object, name: str, tmp_path: Path) -> None:
    made = plan.build(resolve(one, name))  # type: ignore[arg-type]
    for each, shells in {
        "bash": ["bash"],
        "slurm": ["bash"],
        "oneline": SHELLS,
        "env": SHELLS,
        "command": SHELLS,
    }.items():
        for shell in shells:
            if not FORMATS[each].refused(made) and shutil.which(shell):
                path = tmp_path / each
                path.write_text(FORMATS[each](made).text, "utf-8")
                done = subprocess.run([shell, "-n", str(path)], capture_output=True, text=True, timeout=60)
                assert (each, shell, done.returncode, done.stderr) == (each, shell, 0, "")


B20 = [json.loads(line) for line in (CASES / "B20.jsonl").read_text("utf-8").splitlines()]
REASON = {
    "refuse, exit 1": "PRL_NUM_GENERATIONS needs a whole number from 2 to 65536; this is not one: 0",
    "refuse: must be >= 2": "PRL_NUM_GENERATIONS needs a whole number from 2 to 65536; this is not one: -2",
    "refuse; offer 2, 4, 8, 16": "PRL_NUM_GENERATIONS=3 does not divide the generation batch 16; valid: 2 4 8 16.",
    "refuse: not an integer": "PRL_NPROC_PER_NODE needs a whole number from 1 to 1024; this is not one: ",
    "same, but show that the default was taken": "",
}
"""What each row's `right` asks for → the one line that a script says."""


@pytest.mark.parametrize("format_", ["bash", "slurm"])
@pytest.mark.parametrize("row", B20, ids=lambda row: str(row["env"]))
def test_a_row_that_the_original_script_got_wrong_does_what_is_right(
    row: dict[str, object], format_: str, bench: Bench
) -> None:
    (bench.bin / "srun").write_text(SRUN)
    (bench.bin / "srun").chmod(0o755)
    made = plan.build(resolve(RECIPES["prl-grpo"], "standard-4gpu"))
    around = {**JOB, "CUDA_VISIBLE_DEVICES": "0,1,2,3"} if format_ == "slurm" else {}
    env: dict[str, str] = row["env"]  # type: ignore[assignment]
    outcome = bench.run(FORMATS[format_](made).text, **around, **env)
    wanted = REASON[str(row["right"])]
    if wanted:
        [(variable, value)] = env.items()
        refused(outcome, variable)
        assert outcome.err.removeprefix("error: ").strip() in (wanted, wanted + value)
        return
    [variable] = env
    assert (outcome.err, outcome.code) == ("", 0)
    assert outcome.shown["per_device_train_batch_size"] == ("4", f"file, {variable} is empty")
    assert "--per_device_train_batch_size" in (outcome.argv or [])


def test_a_batch_without_room_for_a_group_of_two_names_the_batch_that_is_to_grow(bench: Bench) -> None:
    made = plan.build(resolve(RECIPES["prl-grpo"], "single-gpu"))
    one = {"PRL_PER_DEVICE_TRAIN_BATCH_SIZE": "1", "PRL_PER_DEVICE_EVAL_BATCH_SIZE": "4"}
    outcome = bench.run(FORMATS["bash"](made).text, **one)
    refused(outcome, "PRL_PER_DEVICE_TRAIN_BATCH_SIZE")
    assert outcome.err == (
        "error: PRL_PER_DEVICE_TRAIN_BATCH_SIZE: a generation batch of 1 is too small for 2 generations; raise it.\n"
    )
