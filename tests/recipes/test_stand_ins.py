"""Recipes launched for real on two CPU ranks against small stand-ins of their programs: `prl-tui launch`, then `watch --plain`.

The stub driver shows two idle GPUs, as a check wants one for each process; the stand-ins compute on the CPU with gloo. Launchers:
torchrun of torch 2.13, accelerate 1.15's own multi-process launch.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from prl_tui.machine import paths
from prl_tui.runs import overview, store
from prl_tui.runs.folder import RunFolder
from prl_tui.telemetry.run_view import RunView
from tests.conftest import installed_script
from tests.runs.helpers import nothing_left

HERE_IS_TORCH = importlib.util.find_spec("torch") is not None  # its import takes seconds, of each worker that collects
pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.skipif(not HERE_IS_TORCH, reason="needs torch")]

PROGRAMS = Path(__file__).with_name("programs")
DEADLINE = 120.0
HERE = {"cuda_visible_devices": "", "nproc_per_node": 2, "training_env": "this"}


@dataclass
class Ran:
    """One launched run, as both commands told it and as its files do."""

    code: int
    """Of `watch --plain`."""
    lines: str
    """What that printed."""
    view: RunView
    run: Path
    """The run's folder."""
    checkout: Path

    @property
    def said(self) -> str:
        return (self.run / "output.log").read_text("utf-8")

    def rank(self, number: int) -> str:
        """What one rank wrote itself."""
        [path] = (self.run / "ranks").glob(f"*/attempt_0/{number}/stdout.log")
        return path.read_text("utf-8")


class Box:
    """A checkout of a stand-in, and the two commands in it."""

    def __init__(self, checkout: Path, environment: dict[str, str]) -> None:
        self.checkout, self.environment = checkout, environment

    def prl(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [*installed_script(), *words]
        return subprocess.run(
            command, cwd=self.checkout, env=self.environment, capture_output=True, text=True, timeout=DEADLINE
        )

    def launch(self, source: str, **changes: object) -> subprocess.CompletedProcess[str]:
        sets = [word for key, value in (HERE | changes).items() for word in ("--set", f"{key}={value}")]
        # the probe would ask this environment's torch for GPUs, and it is a build for the CPU
        return self.prl("launch", source, *sets, "--no-probe", "--json")

    def smoke(self, source: str, steps: int, **changes: object) -> tuple[subprocess.CompletedProcess[str], Ran]:
        """A smoke test, and its run."""
        sets = [word for key, value in (HERE | changes).items() for word in ("--set", f"{key}={value}")]
        ran = self.prl("launch", source, *sets, "--no-probe", "--smoke", str(steps))
        folder = store.list_runs(paths.runs_dir())[0]  # the newest
        return ran, Ran(ran.returncode, ran.stdout, overview.overview(folder).view, folder.path, self.checkout)

    def run(self, source: str, **changes: object) -> Ran:
        started = self.launch(source, **changes)
        assert started.returncode == 0, started.stderr
        folder = Path(json.loads(started.stdout)["folder"])
        watched = self.prl("watch", folder.name, "--plain")
        view = overview.overview(RunFolder(folder)).view
        return Ran(watched.returncode, watched.stdout, view, folder, self.checkout)


@pytest.fixture
def box(tmp_path, nvml_stub):
    def checkout(program):
        shutil.copytree(PROGRAMS / program, tmp_path / "checkout")
        return Box(tmp_path / "checkout", nvml_stub.environment())

    yield checkout
    nothing_left(paths.runs_dir().resolve())


def rows(path: Path, count: int) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(f'{{"row": {n}}}' for n in range(count)) + "\n")
    return str(path)


# --- AnyLLM-to-VLM ------------------------------------------------------------------------------------------------


def test_vlm_runs_with_a_yaml_that_the_launch_wrote(box):
    here = box("vlm")
    rows(here.checkout / "数据: 40.parquet", 40)
    ran = here.run("vlm-pretrain/four-gpu", config_source="generate", train_data="数据: 40.parquet", batch_size=8, epochs=2,
                   save_dir="out", accumulation_steps=3, warmup_steps=5)  # fmt: skip
    assert ran.code == 0, ran.said
    assert ran.view.done
    assert "  累积步数: 3" in ran.said
    made = yaml.safe_load((ran.run / "files" / "train_vlm.yaml").read_text("utf-8"))
    assert made["training"]["data_path"] == "数据: 40.parquet"
    assert made["training"]["warmup_steps"] == 5
    # 40 rows over 2 ranks, 8 // 2 = 4 each: 5 steps an epoch
    assert (ran.view.progress.step, ran.view.progress.total) == (10, 10)
    assert ran.view.facts["world_size"] == "2"
    assert [one.path for one in ran.view.checkpoints] == ["out/checkpoint_epoch1.pt", "out/checkpoint_epoch2.pt"]
    assert (ran.checkout / "out" / "checkpoint_epoch2.pt").exists()
    assert {"loss", "learning_rate", "train_loss", "eval_loss"} <= ran.view.series.keys()
    assert ran.view.last_eval.values["eval_loss"] == pytest.approx(2.0)
    assert "step 10/10  100 %" in ran.lines
    assert "checkpoint out/checkpoint_epoch2.pt" in ran.lines
    assert "分布式训练初始化: rank=1" in ran.rank(1)


def test_vlm_sft_takes_the_persons_yaml_and_its_accumulation(box):
    here = box("vlm")
    data = rows(here.checkout / "data.parquet", 40)
    (here.checkout / "configs/vlm_sft.yaml").write_text(
        "training:\n  stage: sft\n  num_epochs: 1\n  accumulation_steps: 2\n"
    )
    ran = here.run("vlm-sft/two-gpu", train_data=data)
    assert ran.code == 0, ran.said
    assert "  累积步数: 2" in ran.said
    assert "  学习率: 1e-05" in ran.said  # by the YAML's stage
    assert (ran.view.progress.step, ran.view.progress.total) == (5, 5)


def test_what_the_program_would_refuse_is_not_launched(box):
    here = box("vlm")
    refused = here.launch("vlm-sft/two-gpu", batch_size=1, train_data=rows(here.checkout / "data.parquet", 40))
    assert refused.returncode == 1
    assert "A total batch of 1 on 2 processes leaves 0 samples for each." in refused.stderr
    (here.checkout / "configs/vlm_sft.yaml").unlink()
    missing = here.launch("vlm-sft/two-gpu", train_data=str(here.checkout / "data.parquet"))
    assert missing.returncode == 1
    assert "configs/vlm_sft.yaml does not exist." in missing.stderr
    assert "write it from these settings" in missing.stderr


# --- mmdpo-alignment ----------------------------------------------------------------------------------------------


def pairs(checkout: Path, count: int) -> None:
    for task in ("helpful", "harmless"):
        for split in ("train", "val"):
            rows(checkout / f"data/{split}/{task}_pairs.jsonl", count)
        (checkout / f"models/{task}_rm").mkdir(parents=True)


def test_a_reward_model_is_followed_by_its_line_an_epoch(box):
    here = box("mmdpo")
    pairs(here.checkout, 9)
    ran = here.run("reward-model/harmless-8gpu")
    assert ran.code == 0, ran.said
    assert (ran.view.progress.step, ran.view.progress.total) == (3, 3)
    assert ran.view.facts["effective_batch"] == "16"
    assert ran.view.series.keys() == {"train_loss", "val_loss", "val_acc"}
    assert [one.path for one in ran.view.checkpoints] == ["models/harmless_rm"]
    assert (ran.checkout / "models" / "harmless_rm" / "adapter_config.json").exists()
    assert "step 3/3  100 %" in ran.lines


def test_a_single_process_needs_no_torchrun(box):
    here = box("mmdpo")
    pairs(here.checkout, 9)
    ran = here.run("reward-model/single-gpu", nproc_per_node=1, config_source="generate", num_epochs=2)
    assert ran.code == 0, ran.said
    assert "Single GPU training on device: cpu" in ran.said
    assert ran.view.progress.step == 2


def test_safe_mm_dpo_reads_both_losses_the_multiplier_and_its_checkpoints(box):
    here = box("mmdpo")
    pairs(here.checkout, 45)
    ran = here.run("safe-mm-dpo/eight-gpu", config_source="generate", batch_size=2, gradient_accumulation_steps=2)
    assert ran.code == 0, ran.said
    assert yaml.safe_load((ran.run / "files" / "dpo_config.yaml").read_text("utf-8"))["λ_init"] == 1.0
    names = {"loss_H", "loss_S", "KL", "lambda", "J_C", "delta_S_mean"}
    assert ran.view.series.keys() == names
    # 90 rows over 2 ranks in twos: 23 micro-steps an epoch; told at 10 and 20, then where an accumulation ends as well
    assert ran.view.last_row.step == 20
    assert ran.view.last_row.values["J_C"] == pytest.approx(-0.1234)
    assert [one.path for one in ran.view.checkpoints] == ["models/aligned/epoch_1", "models/aligned/epoch_2"]
    # its log tells no total: 23 × 2 micro-steps, counted from the data at the launch
    assert (ran.view.progress.step, ran.view.progress.total) == (20, 46)
    assert "step 20/46" in ran.lines
    assert "checkpoint models/aligned/epoch_2" in ran.lines


# --- MiniOneRec ---------------------------------------------------------------------------------------------------


def amazon(checkout: Path, category: str = "Office_Products") -> None:
    for kind in ("train", "valid"):
        rows(checkout / f"data/Amazon/{kind}/{category}_5_2016-10-2018-11.csv", 33)
    rows(checkout / f"data/Amazon/info/{category}_5_2016-10-2018-11.txt", 9)
    for name in ("index", "item"):
        rows(checkout / f"data/Amazon/index/{category}.{name}.json", 1)


def test_minionerec_sft_finds_its_files_by_category(box):
    here = box("minionerec")
    amazon(here.checkout)
    ran = here.run(
        "minionerec-sft/eight-gpu", category="Office_Products", batch_size=8, micro_batch_size=2, num_epochs=2
    )
    assert ran.code == 0, ran.said
    # 32 rows in twos over 2 ranks: 8 batches, 8 // 2 // 2 = 2 of them a step: 4 steps an epoch
    assert (ran.view.progress.step, ran.view.progress.total) == (8, 8)
    assert {"loss", "grad_norm", "learning_rate"} <= ran.view.series.keys()
    assert (ran.checkout / "output_dir/xxx/final_checkpoint").is_dir()
    assert "step 8/8  100 %" in ran.lines
    assert "rank 1 of 2 trains" in ran.rank(1)


@pytest.fixture
def accelerate():
    pytest.importorskip("accelerate", reason="needs accelerate")


def test_minionerec_rl_runs_by_accelerates_own_launch_with_a_config_of_its_own(box, accelerate):
    here = box("minionerec")
    amazon(here.checkout)
    # MULTI_GPU instead of DEEPSPEED: DeepSpeed does not train on a CPU with gloo alone
    ran = here.run("minionerec-rl/four-gpu", category="Office_Products", distributed_type="MULTI_GPU", train_batch_size=8,
                   eval_batch_size=8, num_generations=4, gradient_accumulation_steps=2)  # fmt: skip
    assert ran.code == 0, ran.said
    assert yaml.safe_load((ran.run / "files/accelerate.yaml").read_text())["num_processes"] == 2
    # 32 rows × 4 generations ÷ (8 × 2 × 2) = 4 steps an epoch, two epochs
    assert (ran.view.progress.step, ran.view.progress.total) == (8, 8)
    assert {"loss", "reward", "kl", "completion_length"} <= ran.view.series.keys()
    assert (ran.checkout / "output_dir" / "final_checkpoint").is_dir()
    assert "step 8/8  100 %" in ran.lines
    # each rank has its own log, and the console has both
    assert "rank 1 of 2 trains" in ran.rank(1)
    assert "rank 0 of 2 trains" in ran.rank(0)
    assert len(re.findall(r"rank \d of 2 trains", ran.said)) == 2


def test_minionerec_rl_by_the_checkouts_own_config_is_refused_where_the_trainer_would(box, accelerate):
    here = box("minionerec")
    amazon(here.checkout, "Industrial_and_Scientific")
    refused = here.launch("minionerec-rl/eight-gpu", train_batch_size=8, num_generations=3)
    assert refused.returncode == 1
    assert "8 × 2 = 16 is not a multiple of 3 generations." in refused.stderr


# --- smoke tests: two steps of each, whatever its program has to end it ---------------------------------------------


def test_vlm_is_stopped_once_its_bar_shows_the_steps(box):
    here = box("vlm")
    data = rows(here.checkout / "data.parquet", 20000)
    told, ran = here.smoke("vlm-pretrain/two-gpu", 3, train_data=data, config_source="generate", batch_size=2)
    assert told.returncode == 0, told.stderr + ran.said
    assert "vlm-pretrain has no setting that ends it after 3 steps" in told.stderr
    assert "✓ smoke test passed: 3 steps seen; no evaluation seen, and none can be forced; " in told.stdout
    assert "; a checkpoint saved; then stopped" in told.stdout
    assert 3 <= ran.view.progress.step < 2000
    assert ran.view.rows >= 3
    assert "Step: 1, Loss" in ran.said, "each step is logged by the YAML that the launch wrote"
    full = here.prl("launch", ran.run.name, "--promote", "--dry-run")
    assert "train_vlm.yaml" in full.stdout, full.stderr


def test_vlm_by_the_persons_yaml_is_stopped_too_and_an_error_that_it_swallows_fails_it(box):
    here = box("vlm")
    data = rows(here.checkout / "data.parquet", 20000)
    told, ran = here.smoke("vlm-sft/two-gpu", 2, train_data=data, batch_size=2)
    assert told.returncode == 0, told.stderr + ran.said
    assert "With config_source=generate more of it can be set." in told.stderr
    program = here.checkout / "train_vlm.py"
    text = program.read_text("utf-8")
    program.write_text(
        text.replace(
            "    for step in range(steps):", '    print("训练步骤 0 出现错误: shape")\n    for step in range(steps):'
        )
    )
    told, _ = here.smoke("vlm-sft/two-gpu", 2, train_data=data, batch_size=2)
    assert told.returncode == 1
    assert "✗ smoke test failed: 训练步骤 0 出现错误: shape" in told.stdout
    ran = here.run("vlm-sft/two-gpu", train_data=rows(here.checkout / "few.parquet", 24), batch_size=2)
    assert ran.code == 0, ran.said
    assert "! finished after " in ran.lines
    assert "of a failure that the exit code hides: 训练步骤 0 出现错误: shape" in ran.lines


def test_a_reward_model_is_trained_evaluated_and_saved_on_its_first_rows(box):
    here = box("mmdpo")
    pairs(here.checkout, 900)
    told, ran = here.smoke("reward-model/harmless-8gpu", 2, config_source="generate", batch_size=2)
    assert told.returncode == 0, told.stderr + ran.said
    assert "✓ smoke test passed" in told.stdout
    made = yaml.safe_load((ran.run / "files" / "rm_config.yaml").read_text("utf-8"))
    assert made["num_epochs"] == 1
    assert len(Path(made["train_harmless_path"]).read_text().splitlines()) == 2 * 2 * 2
    full = here.prl("launch", ran.run.name, "--promote", "--no-probe", "--json")
    folder = Path(json.loads(full.stdout)["folder"])
    here.prl("watch", folder.name, "--plain")
    made = yaml.safe_load((folder / "files" / "rm_config.yaml").read_text("utf-8"))
    assert (made["num_epochs"], made["train_harmless_path"]) == (4, "data/train/harmless_pairs.jsonl")


def test_a_reward_model_by_the_persons_yaml_is_stopped_after_so_many_of_its_lines(box):
    here = box("mmdpo")
    pairs(here.checkout, 9)
    program = here.checkout / "src/training/train_rm.py"
    text = program.read_text("utf-8").replace("for epoch in range", "import time\nfor epoch in range", 1)
    program.write_text(text.replace("    loss = mean", "    time.sleep(0.4)\n    loss = mean", 1))
    config = here.checkout / "configs/rm_config.yaml"
    config.write_text(re.sub(r"num_epochs: \d+", "num_epochs: 500", config.read_text("utf-8")))
    told, ran = here.smoke("reward-model/helpful-8gpu", 1)
    assert told.returncode == 0, told.stderr + ran.said
    assert "smoke test passed: 1 step seen; evaluated; a checkpoint saved; then stopped" in told.stdout
    assert ran.view.last_row.step < 100


def test_safe_mm_dpo_is_run_through_on_as_many_rows_as_show_a_line(box):
    here = box("mmdpo")
    pairs(here.checkout, 900)
    told, ran = here.smoke(
        "safe-mm-dpo/eight-gpu", 2, config_source="generate", batch_size=2, gradient_accumulation_steps=2
    )
    assert told.returncode == 0, told.stderr + ran.said
    # a line at the 10th micro-batch, four rows each
    assert (ran.view.last_row.step, ran.view.progress.total) == (10, 10)
    assert "nothing to evaluate on; a checkpoint saved; exit code 0" in told.stdout


@pytest.mark.parametrize("recipe", ["minionerec-sft", "minionerec-rl"])
def test_minionerec_takes_the_share_of_an_epoch_that_the_steps_are(box, recipe):
    if recipe == "minionerec-rl":
        pytest.importorskip("accelerate", reason="needs accelerate")
    here = box("minionerec")
    amazon(here.checkout)
    more = {"batch_size": 8, "micro_batch_size": 2} if recipe == "minionerec-sft" else {
        "distributed_type": "MULTI_GPU", "train_batch_size": 8, "eval_batch_size": 8, "num_generations": 4,
        "gradient_accumulation_steps": 2}  # fmt: skip
    told, ran = here.smoke(recipe, 2, category="Office_Products", **more)
    assert told.returncode == 0, told.stderr + ran.said
    assert "✓ smoke test passed: 2 steps logged; evaluated; a checkpoint saved; exit code 0" in told.stdout
    assert (ran.view.progress.step, ran.view.progress.total) == (2, 2)
    assert (ran.checkout / "output_dir").exists()
