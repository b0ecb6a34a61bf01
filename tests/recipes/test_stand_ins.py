"""Recipes launched for real, against small stand-ins of their programs on two CPU ranks: commands accepted, logs read."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from prl_tui.core import catalog, plan
from prl_tui.core.config import Source, resolve
from prl_tui.runs import launcher, plans
from prl_tui.telemetry.console import ConsoleFormat
from prl_tui.telemetry.milestones import SWIFT_ANCHORS, Anchor
from prl_tui.telemetry.progress import TRAINING_BARS
from prl_tui.telemetry.run_view import RunReader
from tests.runs.helpers import ended, nothing_left

pytestmark = [pytest.mark.slow, pytest.mark.torch]
pytest.importorskip("torch")

PROGRAMS = Path(__file__).with_name("programs")
RECIPES = catalog.load().recipes
SLOW = 120.0
HERE = {"cuda_visible_devices": "", "nproc_per_node": 2, "training_env": "this"}


@pytest.fixture
def run(tmp_path):
    """Launch a preset with changes in a copy of a stand-in's folder; its exit code, what was read, and the folder."""
    root = (tmp_path / "runs").resolve()

    def start(program, recipe, preset, **changes):
        folder = tmp_path / "checkout"
        if not folder.exists():
            shutil.copytree(PROGRAMS / program, folder)
        config = resolve(RECIPES[recipe], preset).with_values(HERE | changes, Source.SET)
        job = plans.job(plan.build(config), folder)
        if job.argv[0] == "accelerate":
            # accelerate 1.15 has --tee and --log_dir of its own, whose defaults beat PET_TEE and PET_LOG_DIR but not
            # PET_REDIRECTS: with all three set the console stays empty.
            job = replace(job, per_rank_logs=False)
        going = launcher.start(root, job)
        code = ended(going, SLOW).exit_code
        outputs = RECIPES[recipe].data.outputs
        anchors = tuple(Anchor(one.key, one.pattern) for one in outputs.anchors) or SWIFT_ANCHORS
        console = ConsoleFormat(outputs.bars or TRAINING_BARS, anchors, outputs.metric_lines)
        reader = RunReader.of_folder(going.path, folder, console)
        while (view := reader.poll(ended=True)).behind:
            pass
        reader.close()
        return code, view, folder, going.output.read_text()

    yield start
    nothing_left(root)


def rows(path: Path, count: int) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(f"row {n}" for n in range(count)) + "\n")
    return str(path)


@pytest.mark.parametrize(("stage", "preset"), [("pretrain", "four-gpu"), ("sft", "two-gpu")])
def test_vlm_runs_and_its_epochs_losses_and_checkpoints_are_read(run, tmp_path, stage, preset):
    data = rows(tmp_path / "data.parquet", 40)
    code, view, folder, said = run(
        "vlm", f"vlm-{stage}", preset, train_data=data, batch_size=8, epochs=2, save_dir="out"
    )
    assert code == 0, said
    assert view.done
    # 40 rows over 2 ranks, 8 // 2 = 4 each: 5 steps an epoch
    assert (view.progress.step, view.progress.total) == (10, 10)
    assert view.facts["world_size"] == "2"
    assert [one.path for one in view.checkpoints] == ["out/checkpoint_epoch1.pt", "out/checkpoint_epoch2.pt"]
    assert (folder / "out" / "checkpoint_epoch2.pt").exists()
    assert {"loss", "learning_rate", "train_loss", "eval_loss"} <= view.series.keys()
    assert view.last_eval.values["eval_loss"] == pytest.approx(2.0)


def test_vlm_with_too_small_a_batch_fails_as_the_check_says(run, tmp_path):
    data = rows(tmp_path / "data.parquet", 40)
    code, view, _, said = run("vlm", "vlm-pretrain", "four-gpu", train_data=data, batch_size=1)
    assert code == 1
    assert not view.done
    assert "got batch_size=0" in said


def test_a_reward_model_is_followed_by_its_line_an_epoch(run):
    code, view, folder, said = run("mmdpo", "reward-model", "harmless-8gpu")
    assert code == 0, said
    assert (view.progress.step, view.progress.total) == (3, 3)
    assert view.facts["effective_batch"] == "16"
    assert view.series.keys() == {"train_loss", "val_loss", "val_acc"}
    assert [one.path for one in view.checkpoints] == ["models/harmless_rm"]
    assert (folder / "models" / "harmless_rm" / "adapter_config.json").exists()


def test_a_single_process_needs_no_torchrun(run):
    code, view, _, said = run("mmdpo", "reward-model", "single-gpu", nproc_per_node=1)
    assert code == 0
    assert "Single GPU training on device: cpu" in said
    assert view.progress.step == 3


def test_safe_mm_dpo_reads_both_losses_the_multiplier_and_its_checkpoints(run):
    code, view, _, said = run("mmdpo", "safe-mm-dpo", "eight-gpu")
    assert code == 0, said
    names = {"loss_H", "loss_S", "KL", "lambda", "J_C", "delta_S_mean"}
    assert view.series.keys() == names
    # 90 rows over 2 ranks in twos: 23 micro-steps an epoch; told at 10 and 20, then where an accumulation ends as well
    assert view.last_row.step == 20
    assert view.last_row.values["J_C"] == pytest.approx(-0.1234)
    assert [one.path for one in view.checkpoints] == ["models/aligned/epoch_1", "models/aligned/epoch_2"]


PATH = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))


@pytest.mark.skipif(shutil.which("accelerate", path=PATH) is None, reason="needs accelerate")
class TestMiniOneRecRl:
    """Real `accelerate launch` (judged with 1.15): one file an option, found by its pattern."""

    @staticmethod
    def data(folder: Path) -> None:
        shutil.copytree(PROGRAMS / "minionerec", folder)
        for kind in ("train", "valid"):
            rows(folder / f"data/Amazon/{kind}/Industrial_and_Scientific_5_2016-10-2018-11.csv", 33)
        rows(folder / "data/Amazon/info/Industrial_and_Scientific_5_2016-10-2018-11.txt", 9)

    def test_it_runs_and_is_read_like_any_trainer(self, run, tmp_path):
        self.data(tmp_path / "checkout")
        sizes = {"train_batch_size": 8, "eval_batch_size": 8, "num_generations": 4, "gradient_accumulation_steps": 2}
        code, view, folder, said = run("minionerec", "minionerec-rl", "eight-gpu", **sizes)
        assert code == 0, said
        # 32 rows × 4 generations ÷ (8 × 2 × 2) = 4 steps an epoch, two epochs
        assert (view.progress.step, view.progress.total) == (8, 8)
        assert {"loss", "reward", "kl", "completion_length"} <= view.series.keys()
        assert (folder / "output_dir" / "final_checkpoint").is_dir()

    def test_it_refuses_what_the_check_refuses(self, run, tmp_path):
        self.data(tmp_path / "checkout")
        code, _, _, said = run("minionerec", "minionerec-rl", "eight-gpu", train_batch_size=8, num_generations=3)
        assert code == 1
        assert "The global train batch size (2 x 8) must be evenly divisible" in said
