"""What both stand-ins of MiniOneRec share: flags as python-fire reads them, lines of the HF Trainer 4.57."""

import sys
import time

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


def train(total, more):
    """All steps: a dict and a bar each, from rank 0; `more` gives a step's own figures."""
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
        time.sleep(0.02)
    if rank == 0:
        print(file=sys.stderr)
        print({"train_runtime": 1.5, "train_samples_per_second": 9.0, "train_steps_per_second": 9.0, "train_loss": 0.1})
