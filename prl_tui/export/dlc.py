"""The start command of an Alibaba PAI-DLC job: its WORLD_SIZE counts nodes, its RANK is the node, its port is the job's own.

It is plain POSIX sh, whatever shell the platform's form starts. Source of the variables: PAI's help, "Built-in environment
variables" of 2026-04.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from prl_tui.core.plan import LaunchPlan
from prl_tui.export import losses, nodes
from prl_tui.export.model import Export, Format
from prl_tui.i18n import t

_ENDED = ("WORLD_SIZE", "RANK", "MASTER_ADDR", "MASTER_PORT")


def _platform() -> nodes.Platform:
    return nodes.Platform(
        "PAI-DLC",
        gives={
            "nnodes": "$WORLD_SIZE",
            "node_rank": "$RANK",
            "master_addr": "$MASTER_ADDR",
            "master_port": "$MASTER_PORT",
        },
        needs=_ENDED,
        gpus="NPROC_PER_NODE",
        taken=(*_ENDED, "NPROC_PER_NODE"),
        in_a_form=True,
        hint=t("Choose PyTorch as the job's framework."),
    )


def export(plan: LaunchPlan) -> Export:
    """The start command of a plan."""
    lines = ["#!/bin/sh", *nodes.commented(plan)]
    lines.append(
        "# " + t("The start command of a PyTorch job: paste all of it, or run this file from mounted storage.")
    )
    lines.append(nodes.word(nodes.script(plan, _platform())))
    text = "\n".join(lines) + "\n"
    return Export(text, tuple(_losses(plan, text)), executable=True)


def refusal(plan: LaunchPlan) -> str:
    """Why DLC cannot run a plan, or ""."""
    return nodes.refusal(plan, "PAI-DLC") or nodes.too_long(nodes.word(nodes.script(plan, _platform())))


def _losses(plan: LaunchPlan, text: str) -> Iterator[str]:
    count = plan.config.number("nnodes") or 1
    if cards := nodes.gpus(plan):
        yield t("Nodes, instance type, image and mounted storage are set in the job's form: nodes {nodes}, GPUs on each {gpus}.",
                nodes=count, gpus=cards)  # fmt: skip
        yield t("DLC gives a node all GPUs of its instance type: choose one with as many as the config has.")
    elif processes := nodes.may_take_gpus(plan):
        yield t("Nodes, instance type, image and mounted storage are set in the job's form: nodes {nodes}, as many GPUs on each as"
                " processes: {processes}.", nodes=count, processes=processes)  # fmt: skip
    else:
        yield t("Nodes, instance type, image and mounted storage are set in the job's form: nodes {nodes}, a type without GPUs.",
                nodes=count)  # fmt: skip
    if re.search(r"[\x01-\x08\x0b-\x1f\x7f-\x9f]", text):
        yield t("A value has control characters, which a form may change: run this file from mounted storage.")
    yield from nodes.lost(plan, _platform())
    for name in losses.inherited(plan):
        yield t("Set {name} as an environment variable in the job's form.", name=name)


FORMAT = Format("dlc", ".dlc.sh", export, refusal)
