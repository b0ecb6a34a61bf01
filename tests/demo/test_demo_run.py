"""The demo as it is used: real torchrun, two gloo ranks on the CPU, tiny models."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import psutil
import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.torch,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed"),
]

ROOT = Path(__file__).parents[2]
SAMPLE = Path(__file__).parents[1] / "fixtures" / "engine_samples" / "swift452_sft_logging.jsonl"
TORCHRUN = Path(sys.executable).with_name("torchrun")
DEADLINE = 120  # seconds; a busy box takes a while to import torch three times
SMALL = ["--hidden_size", "32", "--num_layers", "1", "--block_size", "32", "--warmup_steps", "5"]
# One training that the resumed one repeats from its 5th step: both must be told the same.
STRAIGHT = [*SMALL, "--max_steps", "40", "--learning_rate", "1e-2", "--eval_steps", "20"]


class Job:
    """A started demo with its files; `end` leaves no process of it behind."""

    def __init__(self, folder: Path, command: list[str], arguments: list[str]) -> None:
        self.folder = folder
        self.output = folder / "out"
        self._marker = uuid.uuid4().hex
        ours = ("PET_", "TORCHELASTIC", "RANK", "LOCAL_", "WORLD_SIZE", "MASTER_", "PRL_")
        environment = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
        environment |= {
            "PYTHONPATH": str(ROOT),
            "CUDA_VISIBLE_DEVICES": "",
            "OMP_NUM_THREADS": "1",
            "PET_LOG_DIR": str(folder / "ranks"),
            "PET_REDIRECTS": "3",
            "DEMO_TEST_MARKER": self._marker,
        }
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "launcher.log").open("wb") as log:
            self.process = subprocess.Popen(
                [*command, "-m", "prl_tui.demo.train", "--output_dir", str(self.output), *arguments],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            )

    def wait(self) -> int:
        return self.process.wait(DEADLINE)

    @property
    def launcher(self) -> str:
        return (self.folder / "launcher.log").read_text()

    @property
    def run_folder(self) -> Path:
        (folder,) = self.output.iterdir()
        return folder

    @property
    def log(self) -> list[dict[str, object]]:
        files = list(self.output.glob("*/logging.jsonl"))
        return [json.loads(line) for line in files[0].read_text().splitlines()] if files else []

    def rank(self, rank: int, stream: str = "stdout") -> str:
        files = list((self.folder / "ranks").glob(f"*/attempt_0/{rank}/{stream}.log"))
        return files[0].read_bytes().decode() if files else ""

    def alive(self) -> list[psutil.Process]:
        """Every living process that inherited this job's marker, wherever it was moved."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                ours = process.environ().get("DEMO_TEST_MARKER") == self._marker
                if ours and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def ranks_alive(self) -> int:
        return sum("prl_tui.demo.train" in process.cmdline() for process in self.alive()) - 1

    def end(self) -> None:
        while processes := self.alive():
            for process in processes:
                with contextlib.suppress(psutil.Error):
                    process.kill()
            psutil.wait_procs(processes, timeout=1)
        self.process.wait(DEADLINE)


def until(condition, what: str):
    """The first true value of `condition`; fails after the deadline."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.05)
    pytest.fail(f"not seen in {DEADLINE} s: {what}")


@pytest.fixture
def start(tmp_path):
    """Starts a two-rank job under torchrun, and ends it after the test."""
    jobs = []

    def begin(*arguments: str, name: str = "job") -> Job:
        job = two_ranks(tmp_path / name, *arguments)
        jobs.append(job)
        return job

    yield begin
    for job in jobs:
        job.end()


def two_ranks(folder: Path, *arguments: str) -> Job:
    return Job(folder, [str(TORCHRUN), "--nproc_per_node=2"], list(arguments))


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """One whole training."""
    job = two_ranks(tmp_path_factory.mktemp("straight"), *STRAIGHT, "--save_steps", "15", "--save_total_limit", "2")
    try:
        assert job.wait() == 0, job.launcher + job.rank(0, "stderr")
        yield job
    finally:
        job.end()


@pytest.fixture(scope="module")
def failed(tmp_path_factory):
    """The same training, ended by rank 1 in step 7."""
    faults = ["--fail_rank", "1", "--fail_step", "7", "--flood_lines", "3"]
    job = two_ranks(tmp_path_factory.mktemp("failed"), *STRAIGHT, "--save_steps", "5", *faults)
    try:
        job.wait()
        yield job
    finally:
        job.end()


@pytest.fixture(scope="module")
def resumed(tmp_path_factory, failed):
    """The failed training, gone on from its checkpoint to the end, where it crashes."""
    faults = ["--crash_at_exit", "true", "--eat_memory_rank", "0", "--eat_memory_mib", "16", "--eat_memory_step", "8"]
    checkpoint = str(failed.run_folder / "checkpoint-5")
    job = two_ranks(tmp_path_factory.mktemp("resumed"), *STRAIGHT, "--resume_from_checkpoint", checkpoint, *faults)
    try:
        job.wait()
        yield job
    finally:
        job.end()


def losses(job: Job) -> list[float]:
    return [line["loss"] for line in job.log if "loss" in line]


def test_the_loss_really_falls(straight):
    values = losses(straight)
    assert len(values) == 40
    assert sum(values[-5:]) / 5 < values[0] - 1.2
    evaluated = [line["eval_loss"] for line in straight.log if "eval_loss" in line]
    assert len(evaluated) == 2
    assert evaluated[1] < evaluated[0] < values[0]


def test_logging_jsonl_has_the_keys_and_types_of_ms_swift(straight):
    # judged by a real sft run of ms-swift 4.5.2 (transformers 5.16.1)
    def shape(line):
        return [(key, type(value)) for key, value in line.items()]

    real = [json.loads(line) for line in SAMPLE.read_text().splitlines()]
    for key in ("loss", "eval_loss", "train_runtime", "last_model_checkpoint"):
        theirs = next(shape(line) for line in real if key in line)
        ours = [shape(line) for line in straight.log if key in line]
        assert ours, key
        assert all(one == theirs for one in ours), key
    theirs, ours = real[-1]["log_history"], straight.log[-1]["log_history"]
    assert shape(ours[0]) == shape(theirs[0])
    assert shape(ours[-1]) == shape(theirs[-1])


def test_the_summary_names_checkpoints_that_are_there(straight):
    summary = straight.log[-1]
    checkpoints = sorted(path.name for path in straight.run_folder.glob("checkpoint-*"))
    assert checkpoints == ["checkpoint-30", "checkpoint-40"]  # 15 fell to --save_total_limit 2
    assert Path(summary["last_model_checkpoint"]) == straight.run_folder / "checkpoint-40"
    assert Path(summary["best_model_checkpoint"]) == straight.run_folder / "checkpoint-40"
    assert summary["best_metric"] == min(line["eval_loss"] for line in summary["log_history"] if "eval_loss" in line)
    assert {path.name for path in (straight.run_folder / "checkpoint-40").iterdir()} == {
        *("pytorch_model.bin", "optimizer.pt", "scheduler.pt", "rng_state_0.pth", "rng_state_1.pth"),
        *("trainer_state.json", "args.json"),
    }
    state = json.loads((straight.run_folder / "checkpoint-40" / "trainer_state.json").read_text())
    assert (state["global_step"], state["max_steps"], len(state["log_history"])) == (40, 40, 42)
    assert json.loads((straight.run_folder / "args.json").read_text())["gradient_accumulation_steps"] == 2


def test_the_console_has_the_milestones_in_order(straight):
    folder = re.escape(str(straight.run_folder))
    milestones = [
        r"^\[INFO:prl_demo\] rank: 0, local_rank: 0, world_size: 2, local_world_size: 2$",
        rf"^\[INFO:prl_demo\] output_dir: {folder}$",
        r"^\[INFO:prl_demo\] args: TrainArguments\($",
        r"^global_batch_size=16,$",
        r"^\[INFO:prl_demo\] Global seed set to 42$",
        r"^\[INFO:prl_demo\] Start time of running main: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$",
        r"^    num_rows: \d+$",
        r"^\[INFO:prl_demo\] model_parameter_info: \w+: 0\.\d{4}M Params \(0\.\d{4}M Trainable \[100\.0000%\]\), ",
        rf"^\[INFO:prl_demo\] The logging file will be saved in: {folder}/logging\.jsonl$",
        r"^\{'loss': '\d\.\d+', .*'global_step/max_steps': '1/40', .*\}$",
        rf"^\[INFO:prl_demo\] Saving model checkpoint to {folder}/checkpoint-15$",
        r"^\{'eval_loss': .*'global_step/max_steps': '20/40'",
        rf"^\[INFO:prl_demo\] Saving model checkpoint to {folder}/checkpoint-40$",
        r"^\{'train_runtime': ",
        rf"^\[INFO:prl_demo\] last_model_checkpoint: {folder}/checkpoint-40$",
        rf"^\[INFO:prl_demo\] best_model_checkpoint: {folder}/checkpoint-40$",
        r"^\[INFO:prl_demo\] End time of running main: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$",
    ]
    text, at = straight.rank(0), 0
    for milestone in milestones:
        found = re.compile(milestone, re.MULTILINE).search(text, at)
        assert found, f"missing after position {at}: {milestone}\n{text}"
        at = found.end()


def test_the_bars_are_on_stderr_and_end_full(straight):
    frames = straight.rank(0, "stderr").split("\r")
    assert frames[1] == "Train:   0%|          | 0/40 [00:00<?, ?it/s]"
    assert re.fullmatch(r"Train: 100%\|█{10}\| 40/40 \[\d\d:\d\d<00:00, +\d+\.\d\d(it/s|s/it)\]\n", frames[-1])
    assert any(frame.startswith("Val: 100%") for frame in frames)


def test_the_other_rank_says_who_it_is_and_a_line_per_logged_step(straight):
    lines = straight.rank(1).splitlines()
    assert lines[0] == "[INFO:prl_demo] rank: 1, local_rank: 1, world_size: 2, local_world_size: 2"
    pattern = re.compile(r"rank 1 step (\d+)/40 loss \d\.\d+ \d+\.\d samples/s")
    assert [int(pattern.fullmatch(line)[1]) for line in lines[1:]] == list(range(1, 41))


def test_a_rank_that_raises_ends_the_job_and_leaves_the_last_checkpoint(failed):
    assert failed.process.returncode == 1
    assert "RuntimeError: simulated failure on rank 1 at step 7" in failed.rank(1, "stderr")
    # -6: torch 2.13's gloo aborts an interpreter on its way out about once in 25 times
    assert re.search(r"Root Cause.*?rank +: 1 \(local_rank: 1\)\s+exitcode +: (1|-6) ", failed.launcher, re.DOTALL)
    assert "End time of running main" not in failed.rank(0)
    assert [path.name for path in failed.run_folder.glob("*checkpoint-*")] == ["checkpoint-5"]


def test_a_flood_has_its_lines_in_each_step_on_each_rank(failed):
    for rank in (0, 1):
        lines = re.findall(rf"^rank {rank} step (\d) line [123]/3 ", failed.rank(rank), re.MULTILINE)
        assert lines == [str(step) for step in range(1, 8) for _ in range(3)]


def test_a_resumed_run_learns_exactly_what_the_straight_one_did(straight, failed, resumed):
    def learned(job):
        timed = ("elapsed_time", "remaining_time", "train_speed(s/it)", "eval_runtime")
        kept = [line for line in job.log if "loss" in line or "eval_loss" in line]
        return [
            {key: value for key, value in line.items() if key not in timed and not key.endswith("_per_second")}
            for line in kept
        ]

    whole = learned(straight)
    assert learned(failed) == whole[:6]
    assert learned(resumed) == whole[5:]
    assert len(resumed.log[-1]["log_history"]) == len(straight.log[-1]["log_history"])  # the first 5 steps are known
    frames = resumed.rank(0, "stderr").split("\r")
    assert "| 5/40 [00:00<?, ?it/s]" in frames[1]


def test_a_crash_at_exit_comes_after_everything_was_done(resumed):
    assert resumed.process.returncode == 1
    assert re.search(r"exitcode +: -11 \(pid: \d+\) +\(SIGSEGV\)", resumed.launcher)
    assert "End time of running main" in resumed.rank(0)
    assert (resumed.run_folder / "checkpoint-40" / "trainer_state.json").exists()


def test_memory_is_taken_during_training(resumed):
    text = resumed.rank(0)
    assert text.count("took 16 MiB") == 1
    assert text.index("'7/40'") < text.index("rank 0 took 16 MiB of host memory") < text.index("'8/40'")


def test_an_indivisible_batch_ends_the_job_before_training(start):
    job = start(*SMALL, "--per_device_train_batch_size", "3")
    assert job.wait() == 1
    text = "ValueError: global_batch_size (16) must be divisible by per_device_train_batch_size (3) x world_size (2)"
    assert text in job.rank(0, "stderr") + job.rank(1, "stderr")
    assert not job.output.exists()


def test_a_hanging_rank_stops_all_and_sigterm_ends_them_without_a_checkpoint(start):
    job = start(*SMALL, "--max_steps", "50", "--hang_rank", "1", "--hang_step", "3", "--save_steps", "50")
    until(lambda: len(losses(job)) == 2, "the last step before the hang")
    watched = time.monotonic() + 1
    while time.monotonic() < watched:
        assert len(losses(job)) == 2
        assert job.process.poll() is None
        time.sleep(0.05)
    assert job.ranks_alive() == 2
    job.process.send_signal(signal.SIGTERM)
    assert job.wait() == 1
    assert job.alive() == []
    assert list(job.run_folder.glob("checkpoint-*")) == []


def test_deaf_ranks_train_on_after_sigterm_and_the_daemon_outlives_them(start):
    faults = ["--ignore_sigterm", "true", "--spawn_daemon", "true"]
    job = start(*SMALL, "--max_steps", "2000", "--step_delay", "0.05", *faults)
    until(lambda: losses(job), "the first step")
    daemon = psutil.Process(int(re.search(r"started daemon pid (\d+)", job.rank(0))[1]))
    assert os.getsid(daemon.pid) == daemon.pid
    job.process.send_signal(signal.SIGTERM)
    until(lambda: "death signal" in job.launcher, "torchrun's word that it ends the ranks")
    seen = len(losses(job))
    until(lambda: len(losses(job)) > seen + 5, "steps after SIGTERM")
    assert job.ranks_alive() == 2
    for process in [one for one in job.alive() if one.pid != daemon.pid]:
        process.kill()
    until(lambda: job.alive() == [daemon], "the daemon alone")


def test_one_process_trains_without_torchrun(tmp_path):
    job = Job(tmp_path / "job", [sys.executable], [*SMALL, "--max_steps", "6", "--add_version", "false"])
    try:
        assert job.wait() == 0, job.launcher
        lines = job.launcher.splitlines()
        assert lines[0] == "[INFO:prl_demo] rank: -1, local_rank: -1, world_size: 1, local_world_size: 1"
        assert "gradient_accumulation_steps=4," in lines
        assert (job.output / "checkpoint-6" / "rng_state.pth").exists()
        logged = [json.loads(line) for line in (job.output / "logging.jsonl").read_text().splitlines()]
        assert logged[5]["loss"] < logged[0]["loss"]
    finally:
        job.end()
