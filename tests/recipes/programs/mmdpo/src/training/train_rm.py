"""Stand-in for mmdpo-alignment's train_rm: one line an epoch, no progress bar."""

import argparse
from pathlib import Path

from src.training.common import config, end, mean, ranks, rows

parser = argparse.ArgumentParser()
parser.add_argument("--config", type=Path, required=True)
parser.add_argument("--task", choices=["helpful", "harmless"], required=True)
parser.add_argument("--output_dir", type=Path, required=True)
args = parser.parse_args()

rank, world = ranks()
settings = config(args.config)
assert rows(settings[f"train_{args.task}_path"])
assert rows(settings[f"val_{args.task}_path"])
assert settings["base_model_path"]
defaults = {"batch_size": 8, "gradient_accumulation_steps": 1, "num_epochs": 1}
batch, accumulation, epochs = (int(settings.get(key, default)) for key, default in defaults.items())
if rank == 0:
    parts = f"local batch_size={batch} x accumulation={accumulation} x {world} GPUs"
    print(f"Effective batch size: {batch * accumulation * world} ({parts})")
for epoch in range(1, epochs + 1):
    loss = mean(0.7 / epoch, world)
    if rank == 0:
        figures = f"train_loss={loss:.4f} val_loss={0.68 / epoch:.4f} val_acc={0.5 + epoch / 20:.4f}"
        print(f"[{args.task}] Epoch {epoch}/{epochs} {figures}")
        print(f"Saving best model to {args.output_dir} (val_loss={0.68 / epoch:.4f})")
        args.output_dir.mkdir(parents=True, exist_ok=True)
        (args.output_dir / "adapter_config.json").write_text("{}")
end(world)
