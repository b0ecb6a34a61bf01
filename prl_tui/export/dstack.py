"""A dstack task: so many GPUs on so many nodes, and on every node the checked script, which reads DSTACK_*.

dstack's client looks for `${{ … }}` and `$$` in a command; its escapes end behind a lone `$`, so the command has neither.
Its shell is sh where an image is named. Source: dstack 0.22.5.
"""

from __future__ import annotations

from collections.abc import Iterator

from prl_tui.core.plan import LaunchPlan
from prl_tui.export import losses, nodes, yaml_text
from prl_tui.export.model import Export, Format
from prl_tui.i18n import t
from prl_tui.lists import listed

SHARED = "16GB"
"""Shared memory for NCCL and data loaders; a container has 64 MB without it."""

PLATFORM = nodes.Platform(
    "dstack",
    gives={
        "nnodes": "$DSTACK_NODES_NUM",
        "node_rank": "$DSTACK_NODE_RANK",
        "master_addr": "${DSTACK_MASTER_NODE_IP-}",
    },
    needs=("DSTACK_NODES_NUM", "DSTACK_NODE_RANK"),
    gpus="DSTACK_GPUS_PER_NODE",
)


def export(plan: LaunchPlan, image: str = "", gpu_type: str = "") -> Export:
    """The task of a plan."""
    lines = [
        *nodes.comments(plan),
        "type: task",
        f"name: {yaml_text.text(nodes.job_name(plan))}",
        f"nodes: {plan.config.number('nnodes') or 1}",
        *([f"image: {yaml_text.text(image)}"] if image else []),
    ]
    if names := losses.inherited(plan):
        lines += ["env:", *(f"  - {yaml_text.text(name)}" for name in names)]
    if count := nodes.gpus(plan):
        wanted = yaml_text.text(f"{gpu_type}:{count}") if gpu_type else str(count)
        lines += ["resources:", f"  gpu: {wanted}", f"  shm_size: {SHARED}"]
    lines += ["commands:", *yaml_text.block("  -", nodes.word(nodes.script(plan, PLATFORM)), 4)]
    return Export("\n".join(lines) + "\n", tuple(_losses(plan, image, gpu_type)))


def refusal(plan: LaunchPlan) -> str:
    """Why dstack cannot run a plan, or ""."""
    return nodes.refusal(plan, PLATFORM.title) or nodes.too_long(nodes.word(nodes.script(plan, PLATFORM)))


def _losses(plan: LaunchPlan, image: str, gpu_type: str) -> Iterator[str]:
    if nodes.gpus(plan):
        yield t(
            "{size} of /dev/shm are asked for, for NCCL and data loaders; shm_size in the file changes it.", size=SHARED
        )
        if not gpu_type:
            yield t("No kind of GPU is named: dstack takes any with enough of them. --gpu-type names one.")
    if not image:
        yield t(
            "No image is given: dstack's own image is used, with Python and nothing else. --image names one that has the program."
        )
    yield t("Nothing is copied to the nodes: name the program's folder under `repos` or `files`.")
    yield t("Fleet, backends, prices and volumes are no part of a run config: add them to the file.")
    if names := losses.inherited(plan):
        yield t("{names} come from the shell that calls `dstack apply`: set them there.", names=listed(names))
    yield from nodes.lost(plan, PLATFORM)


FORMAT = Format("dstack", ".dstack.yml", export, refusal, ("image", "gpu_type"))
