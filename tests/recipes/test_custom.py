"""Any command: checked, exported, launched for real by torchrun 2.13, accelerate 1.15 and python, edited in the form."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from prl_tui.machine import paths
from prl_tui.runs import overview
from prl_tui.runs.folder import RunFolder
from tests.built_in import CATALOG
from tests.conftest import installed_script
from tests.runs.helpers import nothing_left
from tests.tui.driving import configure, text_of, wait_for

PROGRAM = """
import os, sys
rank, world = os.environ.get("RANK", "0"), os.environ.get("WORLD_SIZE", "1")
print(f"rank {rank} of {world} has {sys.argv[1:]} and {os.environ['NOTE']}", flush=True)
if rank == "0":
    for step in range(1, 5):
        print({"loss": 1.0 / step, "learning_rate": 1e-5, "epoch": step / 4}, flush=True)
        print(f"\\r{25 * step:3}%|#   | {step}/4 [00:00<00:01, 9.50it/s]", end="", file=sys.stderr, flush=True)
"""
ARGUMENTS = "--name 'a b' --text '$HOME'"
GIVEN = "['--name', 'a b', '--text', '$HOME']"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(PROGRAM)
    yield tmp_path
    nothing_left(paths.runs_dir().resolve())


def prl(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*installed_script(), *words], capture_output=True, text=True, timeout=120)


def launch(preset: str):
    changes = {"arguments": ARGUMENTS, "environment": "NOTE='x y'", "training_env": "this"}
    sets = [word for key, value in changes.items() for word in ("--set", f"{key}={value}")]
    started = prl("launch", f"custom/{preset}", *sets, "--json")
    assert started.returncode == 0, started.stderr
    folder = Path(json.loads(started.stdout)["folder"])
    watched = prl("watch", folder.name, "--plain")
    return watched, overview.overview(RunFolder(folder)).view, (folder / "output.log").read_text("utf-8"), folder


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize(("preset", "world"), [("torchrun", 2), ("accelerate", 2), ("python", 1)])
def test_it_is_launched_and_watched(here, preset, world):
    pytest.importorskip("accelerate" if preset == "accelerate" else "torch")
    watched, view, said, folder = launch(preset)
    assert watched.returncode == 0, said
    for rank in range(world):
        assert f"rank {rank} of {world} has {GIVEN} and x y" in said
    assert (view.progress.step, view.progress.total) == (4, 4)
    assert {"loss", "learning_rate"} <= view.series.keys()
    assert "step 4/4  100 %" in watched.stdout
    if world > 1:
        assert len(list((folder / "ranks").glob("*/attempt_0/1/stdout.log"))) == 1


@pytest.mark.slow
@pytest.mark.torch
def test_a_smoke_test_adds_the_arguments_for_it_or_stops_the_program_at_its_steps(here):
    (here / "train.py").write_text(
        PROGRAM.replace("range(1, 5)", "range(1, 1 + int(sys.argv[-1]))") + "    import time; time.sleep(0.05)\n"
    )
    changes = {"arguments": "--steps 4000", "environment": "NOTE=x", "training_env": "this"}
    sets = [word for key, value in changes.items() for word in ("--set", f"{key}={value}")]
    ended = prl("launch", "custom/torchrun", *sets, "--set", "smoke_arguments=--stop-at {steps}", "--smoke", "2")
    assert (
        "✓ smoke test passed: 2 steps logged; no evaluation seen, and none can be forced; no checkpoint seen"
        in ended.stdout
    )
    assert (ended.returncode, "exit code 0" in ended.stdout) == (0, True)
    stopped = prl("launch", "custom/torchrun", *sets, "--smoke", "2", "--foreground")
    assert "smoke_arguments takes the arguments that would end it." in stopped.stderr
    assert stopped.returncode == 0, stopped.stderr + stopped.stdout
    assert "smoke test passed: 2 steps seen;" in stopped.stderr
    assert "4000/4000" not in stopped.stdout


def test_a_failing_program_gives_its_code(here):
    (here / "train.py").write_text("raise SystemExit(7)")
    watched, _, said, _ = launch("python")
    assert watched.returncode == 7, said


def test_without_a_batch_there_is_no_arithmetic_and_with_one_there_is(cli, here):
    found = json.loads(cli("check", "custom/torchrun", "--json").out)
    assert (found["ok"], found["batch"]["global_batch"], found["batch"]["formula"]) == (True, None, "")
    more = ("--set", "per_device_train_batch_size=4", "--set", "gradient_accumulation_steps=3")
    assert json.loads(cli("check", "custom/torchrun", *more, "--json").out)["batch"]["formula"] == "4 × 2 × 3 = 24"
    assert "batch" not in cli("export", "custom/torchrun", *more, "--format", "command").out


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (["--set", "script="], "no-program"),
        (["--set", "module=a.b"], "two-programs"),
        (["--set", "launcher=python"], "python-alone"),
        (["--set", "arguments='open"], "bad-value"),
    ],
)
def test_what_cannot_start_is_found(cli, here, change, code):
    found = json.loads(cli("check", "custom/torchrun", *change, "--json").out)
    assert [one["code"] for one in found["findings"]] == [code]


@pytest.mark.parametrize("launcher", ["python", "torchrun"])
def test_a_script_that_a_launcher_reads_as_an_option_is_found_with_what_works(cli, here, launcher):
    if launcher == "torchrun":
        pytest.importorskip("torch")
    (here / "-x.py").write_text("raise SystemExit(7)")
    found = json.loads(cli("check", f"custom/{launcher}", "--set", "script=-x.py", "--json").out)
    assert [(one["code"], one["message"]) for one in found["findings"]] == [
        ("dashed-script", "-x.py would be read as an option; ./-x.py would work.")
    ]
    [fix] = found["findings"][0]["fixes"]
    assert fix == {"set": {"script": "./-x.py"}, "label": "script -x.py → ./-x.py"}
    command = {
        "python": [sys.executable],
        "torchrun": [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=1"],
    }
    for script, code in (("-x.py", {1, 2}), ("./-x.py", {7} if launcher == "python" else {1})):
        done = subprocess.run([*command[launcher], script], cwd=here, capture_output=True, text=True, check=False)
        assert done.returncode in code
        assert ("exitcode  : 7" in done.stderr or done.returncode == 7) is script.startswith(".")


def test_a_script_that_is_not_there_is_named_before_the_launch(cli, here):
    (here / "train.py").unlink()
    refused = cli("launch", "custom/python", "--detach")
    assert refused.code == 1
    assert "train.py does not exist." in refused.err


def test_a_variable_that_is_only_named_must_be_set_here(cli, here, monkeypatch):
    monkeypatch.delenv("HF_TOKEN", raising=False)
    refused = cli("launch", "custom/python", "--set", "environment=HF_TOKEN", "--detach")
    assert refused.code == 4
    assert "environment: HF_TOKEN is not set in this environment" in refused.err


async def test_the_form_edits_free_fields(app, tmp_path, monkeypatch):
    (tmp_path / "train.py").write_text("")
    async with app("custom", "torchrun").run_test(size=(160, 45)) as pilot:
        place = await configure(pilot)
        for key, text in (("arguments", "--lr 1e-4 --note x"), ("environment", "A=1 B=2")):
            place.form.go_to(key)
            await pilot.pause()
            await pilot.press("enter", "ctrl+u")
            for char in text:
                await pilot.press({" ": "space", "-": "minus", "=": "equals_sign", ".": "full_stop"}.get(char, char))
            await pilot.press("enter")
            await wait_for(pilot, lambda: not place.form.typing, "the field closed")
        config = place.session.config
        assert config.value("arguments") == ("--lr", "1e-4", "--note", "x")
        assert config.value("environment") == ("A=1", "B=2")
        assert place.session.verdict.plan.argv[-5:] == ("train.py", "--lr", "1e-4", "--note", "x")
        assert place.session.verdict.report.ok, text_of(place.verdict)  # of the config: this box may have no torchrun


@pytest.fixture
def app(own_home):
    from prl_tui.tui.session import Session
    from tests.tui.driving import App

    found = CATALOG

    def make(recipe, preset):
        return App(found, session=Session.begin(found, recipe, preset))

    return make


@pytest.fixture
def own_home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path
