"""Where one rank stands among the others, and the arithmetic that follows: no torch, values in, values out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Place:
    """One rank of the job, as the launcher's environment says."""

    rank: int
    """Over all nodes, from 0."""
    local_rank: int
    """On this node, from 0."""
    world_size: int
    """Ranks over all nodes."""
    local_world_size: int
    """Ranks on this node."""
    launched: bool
    """Started by torchrun or its like; otherwise this is the only process."""

    @property
    def first(self) -> bool:
        """Rank 0: it writes the files and the main console."""
        return self.rank == 0

    def __str__(self) -> str:
        # ms-swift 4.5.2 says -1 for both ranks where there is no launcher.
        rank, local = (self.rank, self.local_rank) if self.launched else (-1, -1)
        return (
            f"rank: {rank}, local_rank: {local}, world_size: {self.world_size},"
            f" local_world_size: {self.local_world_size}"
        )


def place_in(environment: Mapping[str, str]) -> Place:
    """The place that torchrun's variables give; without them, the only process."""
    if "RANK" not in environment or "WORLD_SIZE" not in environment:
        return Place(0, 0, 1, 1, launched=False)
    world = int(environment["WORLD_SIZE"])
    rank = int(environment["RANK"])
    return Place(
        rank=rank,
        local_rank=int(environment.get("LOCAL_RANK", rank)),
        world_size=world,
        local_world_size=int(environment.get("LOCAL_WORLD_SIZE", world)),
        launched=True,
    )


def accumulation(global_batch: int, per_device: int, world_size: int) -> int:
    """Micro batches per optimizer step; ValueError if all ranks together cannot fill the global batch in whole ones."""
    at_once = per_device * world_size
    if global_batch % at_once:
        raise ValueError(
            f"global_batch_size ({global_batch}) must be divisible by"
            f" per_device_train_batch_size ({per_device}) x world_size ({world_size})"
        )
    return global_batch // at_once


def choose_device(wanted: str, gpus: int, place: Place) -> str:
    """`cuda` or `cpu`; ValueError if GPUs are demanded and this node has fewer than ranks."""
    enough = gpus >= place.local_world_size
    if wanted == "cuda" and not enough:
        raise ValueError(
            f"--device cuda needs a GPU for each rank: {gpus} usable for {place.local_world_size} ranks on this node"
        )
    return "cuda" if wanted != "cpu" and enough else "cpu"
