"""Stand-in for MiniOneRec's rl.py: flags as python-fire reads them, the rule of TRL 0.15, lines of the HF Trainer."""

import os
import sys
from pathlib import Path

import torch.distributed as dist
from hf import arguments, steps_of, train

KNOWN = {
    "model_path", "seed", "train_file", "eval_file", "info_file", "category", "wandb_project", "wandb_run_name",
    "output_dir", "train_batch_size", "eval_batch_size", "gradient_accumulation_steps", "temperature", "add_gt",
    "eval_step", "num_generations", "num_train_epochs", "learning_rate", "beta", "beam_search", "test_during_training",
    "dynamic_sampling", "mask_all_zero", "sync_ref_model", "test_beam", "reward_type", "sample_train", "ada_path",
    "cf_path", "sid_index_path", "item_meta_path", "dapo", "gspo",
}  # fmt: skip


def divides(kind, world, each, generations):
    if world * each % generations:
        valid = [n for n in range(2, world * each + 1) if world * each % n == 0]
        raise ValueError(
            f"The global {kind} batch size ({world} x {each}) must be evenly divisible by the number of generations per"
            f" prompt ({generations}). Given the current {kind} batch size, the valid values for the number of"
            f" generations are: {valid}."
        )


def main():
    given = arguments(sys.argv[1:], KNOWN)
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo")
    generations = int(given["num_generations"])
    divides("train", world, int(given["train_batch_size"]), generations)
    divides("eval", world, int(given["eval_batch_size"]), generations)
    rows = len(Path(given["train_file"]).read_text().splitlines()) - 1
    assert Path(given["eval_file"]).is_file()
    assert Path(given["info_file"]).is_file()
    step_size = int(given["train_batch_size"]) * world * int(given["gradient_accumulation_steps"])
    total = steps_of(-(-rows * generations // step_size), given["num_train_epochs"])
    figures = {"completion_length": 12.0, "kl": 0.001}
    train(total, lambda share: {**figures, "reward": share}, (float(given["eval_step"]), 0.1), given["output_dir"])
    if rank == 0:
        (Path(given["output_dir"]) / "final_checkpoint").mkdir(parents=True)
    dist.barrier()
    dist.destroy_process_group()


main()
