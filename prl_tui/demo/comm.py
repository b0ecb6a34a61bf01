"""The ranks' common channel: gloo on the CPU, NCCL on GPUs, or nothing to do for a single process."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import torch
from torch import distributed

from prl_tui.demo.ranks import choose_device

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prl_tui.demo.ranks import Place


class Comm:
    """Collectives of this job; every rank must call each of them in the same order."""

    def __init__(self, place: Place, wanted_device: str) -> None:
        """Choose the device and join the others; ValueError if the wanted device does not suffice."""
        self.place = place
        kind = choose_device(wanted_device, _usable_gpus(place), place)
        self.device = torch.device(kind, place.local_rank) if kind == "cuda" else torch.device("cpu")
        self.backend = "none"
        if kind == "cuda":
            _make_cuda_deterministic()
            torch.cuda.set_device(self.device)
        if place.launched:
            self.backend = "nccl" if kind == "cuda" else "gloo"
            self._join()

    @property
    def shared(self) -> bool:
        """Whether there is a process group."""
        return self.place.launched

    def sums(self, values: Sequence[float]) -> list[float]:
        """Each value summed over all ranks."""
        if not self.shared:
            return list(values)
        tensor = torch.tensor(list(values), dtype=torch.float64, device=self.device)
        distributed.all_reduce(tensor)
        return [float(value) for value in tensor.tolist()]

    def from_first(self, text: str) -> str:
        """Rank 0's text on every rank."""
        if not self.shared:
            return text
        # Tensors of bytes by hand: torch's own broadcast of objects needs numpy in some versions.
        data = list(text.encode()) if self.place.first else []
        size = torch.tensor([len(data)], device=self.device)
        distributed.broadcast(size, 0)
        tensor = torch.zeros(int(size.item()), dtype=torch.uint8, device=self.device)
        if self.place.first:
            tensor = torch.tensor(data, dtype=torch.uint8, device=self.device)
        distributed.broadcast(tensor, 0)
        return bytes(tensor.tolist()).decode()

    def gathered(self, tensor: torch.Tensor) -> list[torch.Tensor]:
        """Every rank's CPU tensor (all of one shape), in the order of ranks."""
        if not self.shared:
            return [tensor]
        mine = tensor.to(self.device)
        all_of_them = [torch.empty_like(mine) for _ in range(self.place.world_size)]
        distributed.all_gather(all_of_them, mine)
        return [one.cpu() for one in all_of_them]

    def wait_for_all(self) -> None:
        """Return when every rank has come here."""
        if self.shared:
            distributed.barrier()

    def close(self) -> None:
        """Leave together."""
        if self.shared:
            distributed.barrier()
            distributed.destroy_process_group()

    def _join(self) -> None:
        if self.backend == "gloo":
            if self.place.world_size == self.place.local_world_size:
                # One node: no need of a host name that resolves, nor of a network.
                os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
            distributed.init_process_group("gloo")
        else:
            distributed.init_process_group("nccl", device_id=self.device)


def _usable_gpus(place: Place) -> int:
    if not torch.cuda.is_available():
        return 0
    if place.launched and not distributed.is_nccl_available():
        return 0
    return int(torch.cuda.device_count())


def _make_cuda_deterministic() -> None:
    # cuBLAS reads this when CUDA starts; without it its sums may come in any order.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True, warn_only=True)
