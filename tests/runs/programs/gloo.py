"""Two or more ranks that all_reduce for ever: `torchrun --nproc-per-node 2 gloo.py PIDS_DIR`."""

import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
Path(sys.argv[1], f"rank{rank}").write_text(str(os.getpid()))
print(f"rank {rank} on stderr", file=sys.stderr, flush=True)
step = 0
while True:
    total = torch.ones(1)
    dist.all_reduce(total)
    print(f"rank {rank} step {step} total {total.item():.0f}", flush=True)
    step += 1
    time.sleep(0.05)
