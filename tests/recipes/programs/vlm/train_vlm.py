"""Stand-in for AnyLLM-to-VLM's train_vlm.py: same flags, batch rule and lines; rows are the lines of the data file."""

import argparse
import math
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist


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
    if args.train_data and not Path(args.train_data).exists():
        print(f"警告: 训练数据文件不存在: {args.train_data}")
        return
    batch, epochs, lr = (args.batch_size or 32) // world, args.epochs or 1, args.lr or 1e-3
    print("警告: CUDA不可用，将使用CPU训练（速度会很慢）")
    if batch < 1:
        raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch}")
    rows = len(Path(args.train_data).read_text().splitlines())
    print(f"创建模型...\n训练数据集创建成功，大小: {rows}")
    steps = math.ceil(math.ceil(rows / world) / batch)
    say(f"训练器初始化完成\n每个epoch步数: {steps}\n总训练步数: {rows // batch * epochs}")
    for epoch in range(1, epochs + 1):
        train(say, rank, world, epoch, epochs, steps, lr)
        say(f"\nEpoch {epoch} 完成:\n  训练损失: 2.1234\n  验证损失: {2.2 - epoch / 10:.4f}")
        if rank == 0:
            save(Path(args.save_dir or "checkpoints"), f"checkpoint_epoch{epoch}.pt")
    say(f"训练完成!\n最佳验证损失: 2.1000\n模型保存在: {args.save_dir}")
    if world > 1:
        dist.barrier()
        dist.destroy_process_group()


def train(say, rank, world, epoch, epochs, steps, lr):
    for step in range(steps):
        loss = torch.tensor(3.0 / (1 + epoch * steps + step))
        if world > 1:
            dist.all_reduce(loss)
        if rank == 0:
            done = step + 1
            bar = f"\rEpoch {epoch}/{epochs}: {100 * done // steps:3}%|█   | {done}/{steps} [00:00<00:01, 9.50it/s, loss={loss:.4f}]"
            sys.stderr.write(bar)
            sys.stderr.flush()
        if step % 2 == 0:
            say(f"Epoch: {epoch}/{epochs}, Step: {step}, Loss: {loss:.4f}, LR: {lr:.2e}")
        time.sleep(0.02)
    if rank == 0:
        sys.stderr.write("\n")


def save(folder, name):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(b"weights")
    print(f"检查点保存到: {folder / name}")


if __name__ == "__main__":
    main()
