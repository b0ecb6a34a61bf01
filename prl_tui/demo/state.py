"""What a checkpoint holds of torch: weights, optimizer, schedule and every rank's random state."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MODEL_FILE = "pytorch_model.bin"
OPTIMIZER_FILE = "optimizer.pt"
SCHEDULER_FILE = "scheduler.pt"


def cosine(step: int, warmup: int, total: int) -> float:
    """The share of the peak learning rate after `step` steps: linear warm-up, then a cosine to 0 at `total`."""
    if step < warmup:
        return (step + 1) / (warmup + 1)
    progress = (step - warmup) / max(1, total - warmup)
    return 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))


class Learner:
    """Model, optimizer and schedule together: what is saved, and what is restored."""

    def __init__(self, model: Any, learning_rate: float, warmup: int, total: int) -> None:
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.95))
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda step: cosine(step, warmup, total))

    @property
    def learning_rate(self) -> float:
        """The rate of the next step."""
        return float(self.scheduler.get_last_lr()[0])

    def update(self) -> float:
        """One optimizer step with the gradients as they are; their norm before clipping."""
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.scheduler.step()
        self.optimizer.zero_grad(set_to_none=True)
        return float(norm.item())

    def save(self, folder: Path) -> None:
        """Write the three files into `folder`, each synced to disk."""
        save_synced(folder / MODEL_FILE, self.model.state_dict())
        save_synced(folder / OPTIMIZER_FILE, self.optimizer.state_dict())
        save_synced(folder / SCHEDULER_FILE, self.scheduler.state_dict())

    def restore(self, folder: Path, device: torch.device) -> None:
        """Read them back; RuntimeError if the model has other sizes."""
        self.model.load_state_dict(_load(folder / MODEL_FILE, device))
        self.optimizer.load_state_dict(_load(folder / OPTIMIZER_FILE, device))
        self.scheduler.load_state_dict(_load(folder / SCHEDULER_FILE, device))


def random_state(device: torch.device) -> torch.Tensor:
    """Random state of this rank as one tensor of bytes: the CPU's, then the GPU's if one is used."""
    states = [torch.get_rng_state()]
    if device.type == "cuda":
        states.append(torch.cuda.get_rng_state(device))
    return torch.cat(states)


def random_file(rank: int, world_size: int) -> str:
    """The file name that transformers gives a rank's random state."""
    return f"rng_state_{rank}.pth" if world_size > 1 else "rng_state.pth"


def save_random_states(folder: Path, states: Sequence[torch.Tensor]) -> None:
    """Write every rank's state, in the order of ranks."""
    for rank, state in enumerate(states):
        save_synced(folder / random_file(rank, len(states)), state)


def restore_random_state(folder: Path, rank: int, world_size: int, device: torch.device) -> bool:
    """Put this rank's state back; False if the checkpoint has none that fits (another number of ranks, or device)."""
    file = folder / random_file(rank, world_size)
    if not file.exists():
        return False
    saved = _load(file, torch.device("cpu"))
    size = len(torch.get_rng_state())
    if len(saved) != len(random_state(device)):
        return False
    torch.set_rng_state(saved[:size])
    if device.type == "cuda":
        torch.cuda.set_rng_state(saved[size:], device)
    return True


def save_synced(path: Path, value: object) -> None:
    """`torch.save` whose bytes are on the disk when it returns."""
    with path.open("wb") as file:
        torch.save(value, file)
        file.flush()
        os.fsync(file.fileno())


def _load(path: Path, device: torch.device) -> Any:
    return torch.load(path, map_location=device, weights_only=True)
