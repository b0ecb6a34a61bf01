"""What both stand-ins of mmdpo-alignment share: the YAML, the rows of a data file, and the ranks."""

import os
from pathlib import Path

import torch
import torch.distributed as dist
import yaml


def config(path):
    """The YAML file, UTF-8."""
    return yaml.safe_load(Path(path).read_text("utf-8"))


def rows(path):
    """How many records a JSONL file has."""
    return sum(bool(line.strip()) for line in Path(path).read_text("utf-8").splitlines())


def ranks():
    """Rank and world size; gloo where the real program has nccl."""
    if "RANK" not in os.environ:
        print("Single GPU training on device: cpu")
        return 0, 1
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    if rank == 0:
        print(f"Distributed training initialized: world_size={world}")
        print("GPU memory allocated: 14.50 GB")
    return rank, world


def mean(value, world):
    """The mean over all ranks."""
    total = torch.tensor(float(value))
    if world > 1:
        dist.all_reduce(total)
    return total.item() / world


def end(world):
    """Let go of the others, once all are through."""
    if world > 1:
        dist.barrier()
        dist.destroy_process_group()
