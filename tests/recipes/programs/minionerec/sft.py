"""Stand-in for MiniOneRec's sft.py: flags as python-fire reads them, two floors to the accumulation, lines of the HF Trainer."""

import math
import os
import sys
from pathlib import Path

import torch.distributed as dist
from hf import arguments, steps_of, train

KNOWN = {
    "base_model", "train_file", "eval_file", "output_dir", "sample", "seed", "batch_size", "micro_batch_size", "num_epochs",
    "learning_rate", "cutoff_len", "group_by_length", "freeze_LLM", "wandb_project", "wandb_run_name", "resume_from_checkpoint",
    "category", "train_from_scratch", "sid_index_path", "item_meta_path",
}  # fmt: skip
CATEGORIES = {"Industrial_and_Scientific", "Office_Products", "Toys_and_Games", "Sports", "Books"}


def main():
    given = arguments(sys.argv[1:], KNOWN)
    assert given["base_model"], "Please specify --base_model"
    if given["category"] not in CATEGORIES:
        raise KeyError(given["category"])
    world = int(os.environ.get("WORLD_SIZE", "1"))
    micro = int(given["micro_batch_size"])
    accumulation = int(given["batch_size"]) // micro
    if world != 1:
        accumulation //= world
    dist.init_process_group("gloo")
    rows = len(Path(given["train_file"]).read_text().splitlines()) - 1
    assert Path(given["eval_file"]).is_file()
    # the Trainer: batches of a process, then steps; an accumulation of 0 is a ZeroDivisionError there
    steps = steps_of(math.ceil(math.ceil(rows / (micro * world)) / accumulation), given["num_epochs"])
    train(steps, lambda share: {}, (0.05, 0.05), given["output_dir"])
    if dist.get_rank() == 0:
        (Path(given["output_dir"]) / "final_checkpoint").mkdir(parents=True)
    dist.barrier()
    dist.destroy_process_group()


main()
