"""Runs that prl-tui did not start: real captures (ms-swift 4.6.0, see the fixtures' INDEX) laid out as they lie on a disk."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from prl_tui.machine import paths
from prl_tui.runs import bare, launcher, overview
from prl_tui.runs.bare import BareRun
from prl_tui.telemetry import cause as causes
from tests.runs.helpers import ended, until

RUNS = Path(__file__).parent.parent / "fixtures" / "engine_runs"


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """`output/v30-…` and `output/v31-…` as ms-swift leaves them, the newer one with a console log beside it."""
    for name, age in (("v30-20260209-101010", 100), ("v31-20260210-185134", 10)):
        folder = tmp_path / "output" / name
        folder.mkdir(parents=True)
        shutil.copy(RUNS / "grpo_np2_ok" / "logging.jsonl", folder)
        then = time.time() - age
        os.utime(folder / "logging.jsonl", (then, then))
    shutil.copy(RUNS / "grpo_np2_ok" / "console.raw", tmp_path / "output" / "train.log")
    return tmp_path


def last_row(folder: Path) -> dict[str, object]:
    rows = [json.loads(line) for line in (folder / "logging.jsonl").read_text("utf-8").splitlines()]
    return [row for row in rows if "loss" in row][-1]


@pytest.mark.parametrize(
    "name", ["output", ".", "output/v31-20260210-185134", "output/v31-20260210-185134/logging.jsonl", "v31"]
)
def test_the_newest_run_is_found_by_folder_file_and_name(output: Path, name: str) -> None:
    wanted = str(output / name) if name != "v31" else name
    found = bare.find(wanted, output)
    assert isinstance(found, BareRun)
    assert found.metrics == output / "output/v31-20260210-185134/logging.jsonl"
    assert found.id == "v31-20260210-185134"
    one = overview.overview(found)
    assert one.status.state == "unknown"
    assert one.view.progress is not None
    steps, total = str(last_row(found.path)["global_step/max_steps"]).split("/")
    assert (one.view.progress.step, one.view.progress.total) == (int(steps), int(total))
    assert one.view.last_row is not None
    assert one.view.last_row.values["loss"] == last_row(found.path)["loss"]


def test_an_older_run_is_found_by_its_own_name(output: Path) -> None:
    found = bare.find("v30", output)
    assert isinstance(found, BareRun)
    assert found.id.startswith("v30-")
    assert bare.find("v3", output) is None, "v3 is another run than v30"
    assert bare.find("v32", output) is None


def test_a_log_alone_shows_its_cause(tmp_path: Path, cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    shutil.copy(RUNS / "fail_rank1_raises" / "console.raw", tmp_path / "night.log")
    done = cli("watch", str(tmp_path / "night.log"), "--plain")
    assert done.code == 1
    assert "the first cause: rank 1: RuntimeError: reward function failed on rank 1: bad completion" in done.err
    assert "night.log" in done.err
    events = [json.loads(line) for line in cli("watch", str(tmp_path / "night.log"), "--json").out.splitlines()]
    assert events[-1]["event"] == "end"
    assert events[-1]["cause"]["file"].endswith("night.log")


@pytest.mark.parametrize(("capture", "rank", "text"), [
    ("torchrun_missing_module", None, "/workspace/venv/bin/python3: No module named swift.cli.no_such"),
    ("fail_sigkill_rank1", 1, "ended by SIGKILL"),
    ("accelerate_np2_rank1_raises", 1, "RuntimeError: simulated failure on rank 1 at step 8"),
    ("ddp_np2_ok", None, None),
])  # fmt: skip
def test_the_cause_of_a_console_alone(tmp_path: Path, capture: str, rank: int | None, text: str | None) -> None:
    shutil.copy(RUNS / capture / "console.raw", tmp_path / "console.log")
    cause = overview.overview(bare.find(str(tmp_path), tmp_path) or pytest.fail("not found")).cause
    assert (cause.rank, cause.text) == (rank, text) if cause is not None else text is None


@pytest.mark.parametrize("words", [["no_such.py"], ["-m", "no_such_module"], ["-m", "json.no_such"]])
def test_what_python_says_of_a_program_that_is_not_there_is_the_cause(tmp_path: Path, words: list[str]) -> None:
    with (tmp_path / "run.log").open("wb") as log:
        subprocess.run([sys.executable, *words], cwd=tmp_path, stderr=log, check=False)
    cause = causes.find(tmp_path / "run.log", ())
    assert cause is not None
    assert words[-1] in cause.text


@pytest.mark.parametrize("row", [
    "{'loss': %s, 'global_step/max_steps': '%d/100'}\n",  # ms-swift 4
    "{'loss': %s, 'step': %d}\n",  # a plain loop: nothing tells how far it goes
], ids=["with total", "step alone"])  # fmt: skip
def test_a_log_that_grows_is_waited_for(tmp_path: Path, cli, monkeypatch: pytest.MonkeyPatch, row: str) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    log = tmp_path / "live.log"
    log.write_text(row % (1.0, 1), "utf-8")

    def grow() -> None:
        time.sleep(1.0)
        with log.open("a", encoding="utf-8") as file:
            file.write(row % (0.5, 7))

    writer = threading.Thread(target=grow)
    writer.start()
    assert cli("watch", str(log), "--exit-on", "step=7").code == 0
    writer.join()


def test_steps_without_a_total_are_told(tmp_path: Path, cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    log = tmp_path / "plain.log"
    log.write_text("".join(f"{{'loss': {1 / step:.2f}, 'step': {step}}}\n" for step in (5, 10)), "utf-8")
    assert "step 10  loss 0.1" in cli("watch", str(log), "--plain").out
    events = [json.loads(line) for line in cli("watch", str(log), "--json").out.splitlines()]
    assert [(e["step"], e["total"]) for e in events if e["event"] == "progress"] == [(10, None)]
    log.write_text("{'loss': 0.5}\n{'loss': 0.4}\n", "utf-8")
    assert "step" not in cli("watch", str(log), "--plain").out, "the number of a row is no step"


@pytest.mark.parametrize("row", ["{'loss': 1.0, 'step': %d}\n", "{'loss': 1.0, 'global_step/max_steps': '%d/40'}\n"])
@pytest.mark.parametrize("how", ["--plain", "--json"])
def test_a_step_counts_although_a_restart_goes_back_behind_it(
    tmp_path: Path, cli, monkeypatch, row: str, how: str
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    log = tmp_path / "back.log"
    log.write_text("".join(row % step for step in (10, 20, 30, 5, 6)), "utf-8")
    done = cli("watch", str(log), how, "--exit-on", "step=30")
    assert done.code == 0
    assert "goes on" not in done.err, "nobody knows that of another's log"


@pytest.mark.parametrize("name", ["x" * 5000, "~nobody-here/x", "nothing", "v", "v3x", ""])
def test_what_is_no_run_is_none(tmp_path: Path, name: str) -> None:
    assert bare.find(name, tmp_path) is None or name == ""


def test_a_folder_without_a_log_says_what_would_be_one(tmp_path: Path, cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "data").mkdir()
    done = cli("watch", str(tmp_path / "data"))
    assert done.code == 3
    assert "neither logging.jsonl nor a log" in done.err


def test_a_deep_folder_of_data_is_not_walked_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bare, "_MOST", 50)
    for number in range(200):
        (tmp_path / f"{number:03}.bin").touch()
    assert len(list(bare._walk(tmp_path, 4))) == 50


def test_the_folder_of_a_run_of_ours_is_that_run(tmp_path: Path, cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "output" / "v7-20260210-185134"
    program = f"""
import pathlib
place = pathlib.Path({str(place)!r}); place.mkdir(parents=True)
print("[INFO:swift] logging_dir:", place)
(place / "logging.jsonl").write_text('{{"loss": 1.0, "global_step/max_steps": "1/1"}}\\n')
"""
    job = launcher.Job((sys.executable, "-c", program), cwd=tmp_path, info={"recipe": "demo"})
    run = launcher.start(paths.runs_dir(), job)
    until(place.is_dir, "its folder")
    ended(run)
    for name in ("output", "v7", str(place), str(run.output), str(run.path)):
        done = cli("watch", name, "--plain")
        assert done.code == 0
        assert f"run {run.id} in" in done.err, name
        assert "finished" in done.out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "nothing is written yet"),
        ("Epoch of another age\n", "no training step in its log so far"),
        ("[INFO:swift] model_info: ModelInfo()\n", "so far in its log: loading the model"),
    ],
)
def test_before_any_step_only_what_the_log_shows_is_said(
    tmp_path: Path, cli, monkeypatch, text: str, told: str
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "night.log").write_text(text)
    done = cli("watch", str(tmp_path / "night.log"), "--plain")
    first = done.out.splitlines()[0]
    assert first == told
    assert "starting the processes" not in done.out + done.err
