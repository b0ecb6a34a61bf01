"""A TrainJob of Kubeflow Trainer v2, on the runtime for torch: every node runs the checked script, which reads PET_*.

Sources: the CRD of trainer.kubeflow.org/v1alpha1 (65,536 characters in an argument, a name that is an RFC 1035 label) and
the trainer's torch plugin, which sets PET_NPROC_PER_NODE to 1 where resources have limits and no requests.
"""

from __future__ import annotations

from collections.abc import Iterator

from prl_tui.core.plan import LaunchPlan
from prl_tui.export import kubernetes, nodes, yaml_text
from prl_tui.export.model import Export, Format
from prl_tui.i18n import t

_MOST = 65_536
"""Characters of one argument."""
_NEEDS = ("PET_NNODES", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT")


def _platform() -> nodes.Platform:
    return nodes.Platform(
        "Kubeflow Trainer",
        gives={
            "nnodes": "$PET_NNODES",
            "nproc_per_node": "${PET_NPROC_PER_NODE-}",
            "node_rank": "$PET_NODE_RANK",
            "master_addr": "$PET_MASTER_ADDR",
            "master_port": "$PET_MASTER_PORT",
        },
        needs=_NEEDS,
        taken=(*_NEEDS, "PET_NPROC_PER_NODE"),
        hint=t("The job's runtime must have torch in its mlPolicy."),
    )


def export(plan: LaunchPlan, image: str = "") -> Export:
    """The TrainJob of a plan; without an image the runtime's own runs it."""
    lines = [
        *nodes.comments(plan),
        "apiVersion: trainer.kubeflow.org/v1alpha1",
        "kind: TrainJob",
        "metadata:",
        f"  name: {yaml_text.text(nodes.job_name(plan))}",
        "spec:",
        "  runtimeRef:",
        "    apiGroup: trainer.kubeflow.org",
        "    kind: ClusterTrainingRuntime",
        "    name: torch-distributed",
        "  trainer:",
        *([f"    image: {yaml_text.text(image)}"] if image else []),
        f"    numNodes: {plan.config.number('nnodes') or 1}",
        f"    numProcPerNode: {plan.config.number('nproc_per_node') or 1}",
        *kubernetes.gpus(plan, "resourcesPerNode", 4),
        *kubernetes.secrets(plan, 4),
        *kubernetes.command(plan, _platform(), 4),
    ]
    return Export("\n".join(lines) + "\n", tuple(_losses(plan, image)))


def refusal(plan: LaunchPlan) -> str:
    """Why a TrainJob cannot run a plan, or ""."""
    told = nodes.refusal(plan, "Kubeflow Trainer")
    if told or len(kubernetes.kept(nodes.script(plan, _platform()))) <= _MOST:
        return told
    return t("The script is longer than the {most} characters that a TrainJob takes.", most=_MOST)


def _losses(plan: LaunchPlan, image: str) -> Iterator[str]:
    yield t("The cluster must have the runtime {name}; another one is named in runtimeRef.", name="torch-distributed")
    if not image:
        yield t(
            "No image is given: the runtime's own image is used, and the program must be in it. --image names another."
        )
    if nodes.gpus(plan):
        yield t(
            "Shared memory, /dev/shm, is as large as the runtime makes it, often 64 MiB: NCCL and data loaders need more."
        )
    else:
        yield t(
            "Shared memory, /dev/shm, is as large as the runtime makes it, often 64 MiB: data loaders can need more."
        )
    yield from kubernetes.lost(plan, _platform())


FORMAT = Format("trainjob", ".trainjob.yaml", export, refusal, ("image",))
