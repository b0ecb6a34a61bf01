"""Stand-in for AnyLLM-to-VLM's train_vlm.py: same flags, batch rule and lines; rows are the lines of the data file."""

import argparse
import math
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
import yaml

MODEL = {
    "vision_model_type", "vision_model_path", "freeze_vision_encoder", "vision_layers_to_unfreeze", "language_model_type",
    "language_model_path", "freeze_language_model", "language_layers_to_unfreeze", "projection_type", "projection_hidden_dim",
    "projection_activation", "projection_dropout", "projection_layernorm", "image_special_token", "image_token_ids",
    "vision_processor_type", "use_bfloat16", "max_seq_length",
    "use_lora", "lora_r", "lora_alpha", "lora_dropout", "lora_target_modules",
}  # fmt: skip
TRAINING = {
    "stage": "pretrain", "batch_size": 32, "num_epochs": 10, "learning_rate": 1e-4, "warmup_steps": 1000, "weight_decay": 0.01,
    "grad_clip": 1.0, "data_path": "../dataset/pretrain_data.parquet", "max_seq_length": 512, "accumulation_steps": 1,
    "use_mixed_precision": True, "mixed_precision_dtype": "bfloat16", "save_dir": "./checkpoints", "save_every_n_steps": 1000,
    "log_every_n_steps": 100, "eval_every_n_steps": None, "use_ddp": False, "local_rank": 0, "world_size": 1, "num_workers": 4,
}  # fmt: skip


def settings(path):
    """The YAML over the defaults; an unknown key is a TypeError, and its `stage: sft` sets learning rate and length."""
    data = yaml.safe_load(Path(path).read_text("utf-8")) if Path(path).exists() else {}
    for name, known in (("model", MODEL), ("training", TRAINING)):
        for key in data.get(name, {}):
            if key not in known:
                raise TypeError(f"__init__() got an unexpected keyword argument '{key}'")
    found = {**TRAINING, **data.get("training", {})}
    if found["stage"] == "sft":
        found["learning_rate"], found["max_seq_length"] = 1e-5, 2048
    return found


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="configs/vlm_pretrain.yaml")
    parser.add_argument("--stage", choices=["pretrain", "sft"])
    for name in (
        "train_data",
        "val_data",
        "vision_model",
        "language_model",
        "image_special_token",
        "save_dir",
        "resume",
    ):
        parser.add_argument(f"--{name}")
    for name in ("batch_size", "epochs", "max_seq_len"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--lr", type=float)
    parser.add_argument("--use_wandb", action="store_true")
    parser.add_argument("--wandb_project", default="VLM-Training")
    return parser.parse_args()


def main():
    args = arguments()
    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    if world > 1:
        dist.init_process_group("gloo")
        print(f"分布式训练初始化: rank={rank}, world_size={world}, local_rank={rank}")
    say = print if rank == 0 else lambda *_: None
    say(f"命令行参数: {args}")
    if not Path(args.config).exists():
        print(f"配置文件不存在: {args.config}\n使用默认配置...")
    found = settings(args.config)
    data, save_dir = args.train_data or found["data_path"], args.save_dir or found["save_dir"]
    if args.train_data and not Path(data).exists():
        print(f"警告: 训练数据文件不存在: {data}")
        return
    batch, epochs = (args.batch_size or int(found["batch_size"])) // world, args.epochs or int(found["num_epochs"])
    lr = args.lr or float(found["learning_rate"])
    say(f"  学习率: {lr}\n  累积步数: {found['accumulation_steps']}")
    print("警告: CUDA不可用，将使用CPU训练（速度会很慢）")
    if batch < 1:
        raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch}")
    rows = len(Path(data).read_text().splitlines())
    print(f"创建模型...\n训练数据集创建成功，大小: {rows}")
    steps = math.ceil(math.ceil(rows / world) / batch)
    say(f"训练器初始化完成\n每个epoch步数: {steps}\n总训练步数: {rows // batch * epochs}")
    for epoch in range(1, epochs + 1):
        train(say, rank, world, epoch, epochs, steps, lr, found, Path(save_dir))
        say(f"\nEpoch {epoch} 完成:\n  训练损失: 2.1234\n  验证损失: {2.2 - epoch / 10:.4f}")
        if rank == 0:
            save(Path(save_dir), f"checkpoint_epoch{epoch}.pt")
    say(f"训练完成!\n最佳验证损失: 2.1000\n模型保存在: {save_dir}")
    if world > 1:
        dist.barrier()
        dist.destroy_process_group()


def train(say, rank, world, epoch, epochs, steps, lr, found, save_dir):
    for step in range(steps):
        loss = torch.tensor(3.0 / (1 + epoch * steps + step))
        if world > 1:
            dist.all_reduce(loss)
        if rank == 0:
            done = step + 1
            bar = f"\rEpoch {epoch}/{epochs}: {100 * done // steps:3}%|█   | {done}/{steps} [00:00<00:01, 9.50it/s, loss={loss:.4f}]"
            sys.stderr.write(bar)
            sys.stderr.flush()
        total = (epoch - 1) * steps + step  # the very first step is logged and saved, whatever the intervals
        if total % found["log_every_n_steps"] == 0:
            say(f"Epoch: {epoch}/{epochs}, Step: {step}, Loss: {loss:.4f}, LR: {lr:.2e}")
        if total % found["save_every_n_steps"] == 0 and rank == 0:
            save(save_dir, f"checkpoint_epoch{epoch}.pt")
        time.sleep(0.02)
    if rank == 0:
        sys.stderr.write("\n")


def save(folder, name):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(b"weights")
    print(f"检查点保存到: {folder / name}")


if __name__ == "__main__":
    main()
