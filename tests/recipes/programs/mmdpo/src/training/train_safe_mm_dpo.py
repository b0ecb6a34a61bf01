"""Stand-in for mmdpo-alignment's train_safe_mm_dpo: a line at every tenth micro-step that ends an accumulation."""

import argparse
import math
from pathlib import Path

from src.training.common import config, end, mean, ranks, rows

NUMBERS = (
    "λ_init", "w", "k", "β_ori", "learning_rate", "kl_coeff", "λ_lr",
)  # fmt: skip
parser = argparse.ArgumentParser()
parser.add_argument("--config", type=Path, required=True)
parser.add_argument("--output_dir", type=Path, required=True)
parser.add_argument("--logging_dir", type=Path, default=Path("logs/training/safe_mm_dpo"))
args = parser.parse_args()

rank, world = ranks()
settings = config(args.config)
for name in NUMBERS:
    float(settings[name])  # KeyError where it is missing
for name in ("policy_model_path", "ref_model_path", "val_helpful_path", "val_harmless_path"):
    assert settings[name]
for name in ("helpful_rm_path", "harmless_rm_path"):
    assert Path(settings[name]).is_dir()
total = rows(settings["train_helpful_path"]) + rows(settings["train_harmless_path"])
batch, accumulation, epochs = (int(settings[key]) for key in ("batch_size", "gradient_accumulation_steps", "epochs"))
if rank == 0:
    parts = f"batch_size={batch} x accumulation={accumulation} x {world} GPUs"
    print(f"Effective batch size: {batch * accumulation * world} ({parts})")
seen = 0
for epoch in range(1, epochs + 1):
    for step in range(1, math.ceil(math.ceil(total / world) / batch) + 1):
        seen += 1
        loss = mean(0.7 / seen, world)
        if rank == 0 and step % accumulation == 0 and seen % 10 == 0:
            rest = "lambda=1.0000 J_C=-0.1234 (E[C]=-0.1234) delta_S_mean=0.0100"
            print(f"Epoch {epoch} step {seen} loss_H={loss:.4f} loss_S=0.6931 KL=0.0000 {rest}")
    if rank == 0:
        folder = args.output_dir / f"epoch_{epoch}"
        folder.mkdir(parents=True, exist_ok=True)
        print(f"Saved epoch {epoch} checkpoint to {folder}")
end(world)
