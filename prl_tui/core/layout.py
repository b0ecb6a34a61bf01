"""Processes, visible GPUs and generation workers: who runs where, and what cannot work."""

from __future__ import annotations

from collections.abc import Mapping

from prl_tui.core.batch import Severity, Violation, broken
from prl_tui.core.devices import Devices, read
from prl_tui.core.stacks import Stack
from prl_tui.core.value import Value, replace


class Layout(Value):
    """The fields that place work on GPUs."""

    nproc: int | None
    devices: Devices
    needs_gpu: bool
    """Each process needs a GPU of its own."""
    on_cpu: bool = False
    """The person said to do without GPUs, where each process would need one."""
    kept: bool = False
    """The list that `devices` read is the one around the launch; the config has none."""
    rollout: bool = False
    """vLLM or LMDeploy generates inside the job."""
    vllm: bool = False
    node_gpus: int | None = None
    """GPUs that the node has; None if unknown."""
    grpo: bool = False
    swift: bool = False
    infer_workers: int | None = None
    nnodes: int = 1
    tensor_parallel: int | None = None
    """vllm_tensor_parallel_size where the ranks share engines; ms-swift divides the processes of all nodes by it."""
    old_tensor_parallel: int | None = None
    """tensor_parallel_size of ms-swift before 3.5."""
    async_generate: bool = False
    sharded: bool = False
    """DeepSpeed, FSDP or liger: none of them works with a model spread over several GPUs."""


def violations(stack: Stack, layout: Layout) -> list[Violation]:
    """What is wrong with the placement; nothing where the GPUs are not known.

    What a node has may add to what is wrong with the fields themselves and says it with its own figures; it hides none
    of it: the same config goes to another node tomorrow.
    """
    if layout.node_gpus is None:
        return _placed(stack, layout)
    spec = None if layout.kept else layout.devices.spec
    own = _placed(stack, replace(layout, node_gpus=None, kept=False, devices=read(spec)))
    if layout.node_gpus == 0 and layout.needs_gpu and layout.nproc:
        return [*own, broken("node-without-gpu", "nproc_per_node", nproc=layout.nproc)]
    here = _placed(stack, layout)
    said = {(violation.code, violation.part) for violation in here}
    return [*(one for one in own if one.severity == "error" and (one.code, one.part) not in said), *here]


def _placed(stack: Stack, layout: Layout) -> list[Violation]:
    """What is wrong with the placement on the GPUs that `layout.devices` counts."""
    found = _reading(layout)
    nproc, visible = layout.nproc, layout.devices.count
    if nproc is None or nproc < 1 or not layout.needs_gpu:
        return found
    if visible is not None and nproc > visible:
        return [
            *found,
            Violation("processes-exceed-gpus", "nproc_per_node", (("nproc", nproc), ("gpus", visible))),
        ]
    if stack.infer_workers and layout.rollout:
        return found + _workers(layout, nproc, visible)
    if visible is not None:
        found += _shares(stack, layout, nproc, visible)
    world = nproc * layout.nnodes
    if layout.tensor_parallel and layout.tensor_parallel > 1 and world % layout.tensor_parallel:
        figures = {"tensor_parallel": layout.tensor_parallel, "world": world}
        found.append(broken("tensor-parallel-divides", "vllm_tensor_parallel_size", **figures))
    return found


NEEDED = frozenset({"devices-none", "devices-hidden", "devices-odd"})
"""What is no fault of a list around a launch that needs no GPU: GPUs that are hidden, and another way to write it."""

ABSENT = frozenset({"devices-beyond-node", "devices-unknown", "devices-ambiguous"})
"""What another node may have."""


def _reading(layout: Layout) -> list[Violation]:
    """What is wrong with the list itself; mild where no process needs a GPU and nobody wants one."""
    found = reading(layout.devices, layout.needs_gpu)
    if layout.needs_gpu or not (layout.kept or layout.on_cpu):
        return found  # who lists GPUs for a program that may do without them wants them
    found = [one for one in found if not (layout.kept and one.code in NEEDED)]
    mild = {one.code for one in found if one.severity == "error" and (layout.kept or one.code in ABSENT)}
    return [one._replace(severity="warning") if one.code in mild else one for one in found]


def reading(devices: Devices, needs_gpu: bool) -> list[Violation]:
    """What torch does not read as the person meant it, and GPUs that are hidden where none is needed."""
    part, spec, entries = "cuda_visible_devices", devices.spec, devices.entries
    if spec is None:
        return []
    if devices.hides and not needs_gpu:
        return [broken("devices-hidden", part, "note", spec=spec)]
    if devices.unreadable:
        return [broken("devices-unreadable", part, spec=spec, item=devices.unreadable)]
    if devices.repeated:
        return [broken("devices-repeated", part, spec=spec)]
    if not entries:
        return [broken("devices-none", part, spec=spec)]
    found = []
    if devices.dropped:
        found.append(broken("devices-cut", part, "warning", spec=spec, item=devices.dropped[0], count=devices.count))
    elif any(str(entry) != item.strip() for entry, item in zip(entries, spec.split(","), strict=False)):
        found.append(broken("devices-odd", part, "warning", spec=spec, read=",".join(map(str, entries))))
    if devices.mig and len(entries) > 1:
        found.append(broken("devices-mig", part, "warning", spec=spec, item=entries[0]))
    if devices.usable is not None and devices.usable < (1 if devices.mig else len(entries)):
        found.append(_not_there(devices, devices.usable))
    return found


def _not_there(devices: Devices, usable: int) -> Violation:
    """The first entry that names no GPU of the node, or several: torch reads no further."""
    severity: Severity = "error" if usable == 0 else "warning"
    part, item = "cuda_visible_devices", devices.entries[usable]
    if isinstance(item, int):
        return broken("devices-beyond-node", part, severity, spec=devices.spec, item=item, count=usable)
    if devices.fits > 1:
        return broken("devices-ambiguous", part, severity, item=item, fits=devices.fits, count=usable)
    return broken("devices-unknown", part, severity, item=item, count=usable)


def _workers(layout: Layout, nproc: int, visible: int | None) -> list[Violation]:
    """Where ms-swift 3.2 to 3.4 puts its generation engines. Source: the fork's grpo_trainer.py."""
    workers, part = layout.infer_workers, "num_infer_workers"
    if workers is None or workers < 1:
        return []
    if workers > nproc:
        return [broken("infer-workers-exceed-processes", part, workers=workers, nproc=nproc)]
    colocated = nproc == workers == visible
    dedicated = visible is not None and nproc + workers <= visible
    found = []
    if layout.async_generate and visible is not None and not dedicated:
        found.append(broken("async-generate-shares", "async_generate", workers=workers, nproc=nproc, gpus=visible))
    if (layout.old_tensor_parallel or 1) > 1 and visible is not None and not (colocated and nproc > 1):
        found.append(broken("tensor-parallel-layout", "tensor_parallel_size", value=layout.old_tensor_parallel))
    if visible is None or visible == 1 or dedicated or colocated:
        return found
    return [*found, broken("infer-workers-overlap", part, "warning", workers=workers, nproc=nproc, gpus=visible)]


def _shares(stack: Stack, layout: Layout, nproc: int, visible: int) -> list[Violation]:
    part = "nproc_per_node"
    if stack.vllm_needs_one_each and layout.grpo and layout.vllm:
        return [broken("vllm-one-gpu-each", part, nproc=nproc, gpus=visible)] if visible != nproc else []
    if not layout.swift or layout.rollout:
        return []
    if visible % nproc:
        return [broken("gpus-divide", part, nproc=nproc, gpus=visible)]
    if visible > nproc and layout.sharded:
        return [broken("sharding-one-gpu-each", part, nproc=nproc, gpus=visible)]
    return []


LOOPBACK = ("127.", "localhost", "ip6-localhost", "::1", "[::1]")
"""How addresses begin that only this machine can reach."""


def nodes(nnodes: int | None, rank: int | None, address: str | None) -> list[Violation]:
    """Where several machines meet: each has a number below their count, and all of them reach node 0."""
    count, found = nnodes or 1, []
    if rank is not None and count >= 1 and rank >= count:
        found.append(broken("node-rank-beyond", "node_rank", rank=rank, nodes=count))
    if count > 1 and (not address or address.strip().lower().startswith(LOOPBACK)):
        found.append(broken("master-addr-loopback", "master_addr", "warning", address=address or "127.0.0.1"))
    return found


def ranks(world: int | None, named: Mapping[str, int | None]) -> list[Violation]:
    """Each process that a field names exists: part → its rank. Source: the demo's faults.py, which refuses others at its start."""
    return [
        broken("rank-beyond", part, name=part, rank=rank, world=world)
        for part, rank in named.items()
        if rank is not None and world is not None and rank >= world >= 1
    ]
