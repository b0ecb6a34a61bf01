"""A fixed amount of DDP work; rank 0 writes its seconds to a file.

    torchrun --standalone --nproc_per_node 2 fixed_work.py OUT STEPS

NCCL and bfloat16 where there are GPUs, else gloo. Every rank prints a line a step, as a chatty trainer does.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist


def main(out, steps):
    gpu = torch.cuda.is_available()
    dist.init_process_group("nccl" if gpu else "gloo")
    rank = dist.get_rank()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if gpu else torch.device("cpu")
    if gpu:
        torch.cuda.set_device(device)
    width, depth, rows = (4096, 12, 4096) if gpu else (256, 4, 64)
    torch.manual_seed(0)
    layers = [torch.nn.Linear(width, width) for _ in range(depth)]
    model = torch.nn.Sequential(*layers).to(device, torch.bfloat16 if gpu else torch.float32)
    model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[device.index] if gpu else None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    batch = torch.randn(rows, width, device=device, dtype=next(model.parameters()).dtype)
    begun = 0.0
    warm = max(steps // 5, 1)
    for step in range(-warm, steps):
        if step == 0:
            wait_for_all(gpu)
            begun = time.perf_counter()
        loss = model(batch).float().pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print({"loss": round(loss.item(), 6), "step": step, "rank": rank}, flush=True)
    wait_for_all(gpu)
    if rank == 0:
        Path(out).write_text(str(time.perf_counter() - begun))
    dist.destroy_process_group()


def wait_for_all(gpu):
    if gpu:
        torch.cuda.synchronize()
    dist.barrier()


main(sys.argv[1], int(sys.argv[2]))
