"""A PyTorchJob of Kubeflow's Training Operator v1: a master and its workers, each node with the checked script.

Source of the variables: the operator's envvar.go. RANK is the node; WORLD_SIZE counts nodes before 1.7 and processes since,
where PET_NNODES counts nodes.
"""

from __future__ import annotations

from collections.abc import Iterator

from prl_tui.core.plan import LaunchPlan
from prl_tui.export import kubernetes, nodes, yaml_text
from prl_tui.export.model import Export, Format
from prl_tui.i18n import t

PLACEHOLDER = "registry.example/your-image:tag"
_NEEDS = ("WORLD_SIZE", "RANK", "MASTER_ADDR", "MASTER_PORT")
_PET = ("PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT")


def _platform() -> nodes.Platform:
    return nodes.Platform(
        "PyTorchJob",
        gives={
            "nnodes": "${PET_NNODES:-$WORLD_SIZE}",
            "nproc_per_node": "${PET_NPROC_PER_NODE-}",
            "node_rank": "$RANK",
            "master_addr": "$MASTER_ADDR",
            "master_port": "$MASTER_PORT",
        },
        needs=_NEEDS,
        taken=(*_NEEDS, *_PET),
    )


def export(plan: LaunchPlan, image: str = "") -> Export:
    """The PyTorchJob of a plan."""
    count = plan.config.number("nnodes") or 1
    lines = [
        *nodes.comments(plan),
        "apiVersion: kubeflow.org/v1",
        "kind: PyTorchJob",
        "metadata:",
        f"  name: {yaml_text.text(nodes.job_name(plan))}",
        "spec:",
        "  runPolicy:",
        "    cleanPodPolicy: Running",
        "    backoffLimit: 0",
        f'  nprocPerNode: "{plan.config.number("nproc_per_node") or 1}"',
        "  pytorchReplicaSpecs:",
        "    Master:",
        "      replicas: 1",
        "      restartPolicy: Never",
        "      template: &node",
        *_pod(plan, image),
    ]
    if count > 1:
        lines += [
            "    Worker:",
            f"      replicas: {count - 1}",
            "      restartPolicy: Never",
            "      template: *node",
        ]
    return Export("\n".join(lines) + "\n", tuple(_losses(plan, image)))


def _pod(plan: LaunchPlan, image: str) -> Iterator[str]:
    yield "        spec:"
    yield "          containers:"
    yield "            - name: pytorch"
    yield f"              image: {yaml_text.text(image or PLACEHOLDER)}"
    yield from kubernetes.gpus(plan, "resources", 14)
    yield from kubernetes.secrets(plan, 14)
    yield "              volumeMounts:"
    yield "                - name: shm"
    yield "                  mountPath: /dev/shm"
    yield from kubernetes.command(plan, _platform(), 14)
    yield "          volumes:"
    yield "            - name: shm"
    yield "              emptyDir:"
    yield "                medium: Memory"


def refusal(plan: LaunchPlan) -> str:
    """Why a PyTorchJob cannot run a plan, or ""."""
    return nodes.refusal(plan, "PyTorchJob") or nodes.too_long(kubernetes.kept(nodes.script(plan, _platform())))


def _losses(plan: LaunchPlan, image: str) -> Iterator[str]:
    if not image:
        yield t("No image is given: put yours in the place of {placeholder}, or export with --image.",
                placeholder=PLACEHOLDER)  # fmt: skip
    yield t("Shared memory, /dev/shm, is memory of the pod, and counts into its limit where you set one.")
    yield from kubernetes.lost(plan, _platform())


FORMAT = Format("pytorchjob", ".pytorchjob.yaml", export, refusal, ("image",))
