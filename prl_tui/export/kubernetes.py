"""What the files for Kubernetes share: a command that the kubelet leaves as it is, secrets by name, GPUs.

A kubelet reads `$(NAME)` in a container's command and arguments as a variable, and `$$` as `$`; everything else stays.
Source: the API's own words on `command` and `env`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from prl_tui.core.plan import LaunchPlan
from prl_tui.export import losses, nodes, yaml_text
from prl_tui.i18n import t


def kept(text: str) -> str:
    """A container's argument that is the text after the kubelet has expanded it."""
    return re.sub(r"\$(?=[$(])", "$$", text)


def command(plan: LaunchPlan, platform: nodes.Platform, indent: int) -> list[str]:
    """`command` and `args` of a container; both, so that neither comes from elsewhere."""
    room = " " * indent
    return [
        f'{room}command: ["bash", "-c"]',
        f"{room}args:",
        *yaml_text.block(f"{room}  -", kept(nodes.script(plan, platform)), indent + 4),
        f'{room}  - "prl-node"',
    ]


def secrets(plan: LaunchPlan, indent: int) -> list[str]:
    """`env` of a container: what the launch must bring along, from a secret of the job's name."""
    names, room = losses.inherited(plan), " " * indent
    lines = [f"{room}env:"] if names else []
    for name in names:
        lines += [
            f"{room}  - name: {yaml_text.text(name)}",
            f"{room}    valueFrom:",
            f"{room}      secretKeyRef:",
            f"{room}        name: {yaml_text.text(secret(plan))}",
            f"{room}        key: {yaml_text.text(name)}",
        ]
    return lines


def secret(plan: LaunchPlan) -> str:
    """The name of the secret that the job reads."""
    return f"{nodes.job_name(plan)}-secrets"


def gpus(plan: LaunchPlan, key: str, indent: int) -> list[str]:
    """A container's GPUs, as request and as limit: Kubeflow's trainer reads both, and Kubernetes wants them equal."""
    count, room = nodes.gpus(plan), " " * indent
    if not count:
        return []
    return [
        f"{room}{key}:",
        *(
            line
            for part in ("requests", "limits")
            for line in (f"{room}  {part}:", f'{room}    nvidia.com/gpu: "{count}"')
        ),
    ]


def lost(plan: LaunchPlan, platform: nodes.Platform) -> Iterator[str]:
    """What is said of every job on Kubernetes."""
    yield t(
        "Namespace, queue, node selector, CPUs, memory and volumes are no part of a run config: add them to the file."
    )
    if names := losses.inherited(plan):
        words = " ".join(f'--from-file={name}=<(printf %s "${name}")' for name in names)
        yield t("Create the secret first, in the job's namespace, from a bash that has the values: {command}",
                command=f"kubectl create secret generic {secret(plan)} {words}")  # fmt: skip
    yield from nodes.lost(plan, platform)
