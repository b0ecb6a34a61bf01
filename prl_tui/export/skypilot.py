"""A SkyPilot task: GPUs by name and count, and on every node the checked script, which reads SKYPILOT_*.

SkyPilot runs the text of `run` by `bash -i` on each node and substitutes nothing in it; but an interactive bash takes `!x`
for a word of its history, even out of a file, unless `set +H` says otherwise. Source: SkyPilot 0.14.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from prl_tui.core.plan import LaunchPlan
from prl_tui.export import losses, nodes, yaml_text
from prl_tui.export.model import Export, Format
from prl_tui.i18n import t

PLACEHOLDER = "YOUR-GPU"

PLATFORM = nodes.Platform(
    "SkyPilot",
    gives={
        "nnodes": "$SKYPILOT_NUM_NODES",
        "node_rank": "$SKYPILOT_NODE_RANK",
        "master_addr": "${SKYPILOT_NODE_IPS%%$'\\n'*}",
    },
    needs=("SKYPILOT_NUM_NODES", "SKYPILOT_NODE_RANK", "SKYPILOT_NODE_IPS"),
    gpus="SKYPILOT_NUM_GPUS_PER_NODE",
)


def export(plan: LaunchPlan, image: str = "", gpu_type: str = "") -> Export:
    """The task of a plan."""
    lines = [
        *nodes.comments(plan),
        f"name: {yaml_text.text(nodes.job_name(plan))}",
        f"num_nodes: {plan.config.number('nnodes') or 1}",
        *_resources(plan, image, gpu_type),
        *(["workdir: ."] if not plan.workdir else []),
    ]
    if names := losses.inherited(plan):
        lines += ["secrets:", *(f"  {yaml_text.text(name)}: null" for name in names)]
    lines += yaml_text.block("run:", f"set +H\n{nodes.word(nodes.script(plan, PLATFORM))}\n", 2)
    return Export("\n".join(lines) + "\n", tuple(_losses(plan, image, gpu_type)))


def _resources(plan: LaunchPlan, image: str, gpu_type: str) -> Iterator[str]:
    count = nodes.gpus(plan)
    if count or image:
        yield "resources:"
    if count:
        yield f"  accelerators: {yaml_text.text(f'{gpu_type or PLACEHOLDER}:{count}')}"
    if image:
        yield f"  image_id: {yaml_text.text(f'docker:{image}')}"


def refusal(plan: LaunchPlan) -> str:
    """Why SkyPilot cannot run a plan, or ""."""
    return nodes.refusal(plan, PLATFORM.title) or nodes.too_long(nodes.script(plan, PLATFORM))


def _losses(plan: LaunchPlan, image: str, gpu_type: str) -> Iterator[str]:
    if nodes.gpus(plan) and not gpu_type:
        yield t("SkyPilot needs the name of a GPU: put it in the place of {placeholder}, or export with --gpu-type.",
                placeholder=PLACEHOLDER)  # fmt: skip
    if not plan.workdir:
        yield t("`workdir: .` uploads the folder in which you call sky: call it in the program's folder.")
    if not image:
        yield t(
            "The machines come with SkyPilot's own image: install the program's packages in `setup`, or name an --image."
        )
    yield t("Cloud, region, prices, disks and storage are no part of a run config: add them to the file.")
    if names := losses.inherited(plan):
        yield t("Give the secrets at the launch: {command}",
                command="sky launch FILE " + " ".join(f"--secret {name}" for name in names))  # fmt: skip
    yield from nodes.lost(plan, PLATFORM)


FORMAT = Format("skypilot", ".sky.yaml", export, refusal, ("image", "gpu_type"))
