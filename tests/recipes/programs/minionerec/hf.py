"""What both stand-ins of MiniOneRec share: flags as python-fire reads them, lines of the HF Trainer 4.57."""

import math
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist


def arguments(words, known):
    """`--name value` pairs; an unknown name ends as fire ends."""
    found = {word.removeprefix("--"): value for word, value in zip(words[::2], words[1::2], strict=True)}
    for name in found:
        if name not in known:
            print(f"ERROR: Could not consume arg: --{name}", file=sys.stderr)
            raise SystemExit(2)
    return found


def steps_of(per_epoch, epochs):
    """The Trainer's last step: epochs may be a share of one (transformers 4.57, num_train_epochs is a float)."""
    return math.ceil(per_epoch * float(epochs))


def train(total, more, every, folder):
    """All steps: a dict and a bar each, from rank 0; `more` gives a step's own figures.

    `every`: the share of the run, or the steps, between two evaluations and checkpoints, as the Trainer reads it.
    """
    evaluate, save = (math.ceil(total * one) if one < 1 else int(one) for one in every)
    rank, world = dist.get_rank(), dist.get_world_size()
    print(f"rank {rank} of {world} trains", flush=True)
    for step in range(1, total + 1):
        share = torch.tensor(step / total)
        dist.all_reduce(share)
        if rank == 0:
            row = {"loss": 0.1 / step, "grad_norm": 1.5, "learning_rate": 1e-05, **more(share.item() / world),
                   "epoch": round(step / total, 2)}  # fmt: skip
            print(row, flush=True)
            bar = f"\r{100 * step // total:3}%|█   | {step}/{total} [00:00<00:01, 9.50it/s]"
            print(bar, end="", file=sys.stderr, flush=True)
            if step % evaluate == 0:
                print(
                    f"\n{ {'eval_loss': 0.2 / step, 'eval_runtime': 0.1, 'epoch': round(step / total, 2)} }", flush=True
                )
            if step % save == 0 or step == total:
                (Path(folder) / f"checkpoint-{step}").mkdir(parents=True, exist_ok=True)
        time.sleep(0.02)
    if rank == 0:
        print(file=sys.stderr)
        print({"train_runtime": 1.5, "train_samples_per_second": 9.0, "train_steps_per_second": 9.0, "train_loss": 0.1})
