"""The platforms of the exported files, emulated: what each gives its nodes, and what it does to a command before it runs.

`started` gives the argv that a node's container starts for an exported file; `given` the variables that the node finds.
"""

from __future__ import annotations

from typing import Any

import yaml

from prl_tui.core import plan
from prl_tui.core.config import RunConfig
from prl_tui.export.formats import FORMATS

NAMES = ("dlc", "trainjob", "pytorchjob", "skypilot", "dstack")
ADDRESS, PORT = "job-master-0", "23456"


def text_of(name: str, config: RunConfig) -> str:
    return FORMATS[name](plan.build(config)).text


def given(name: str, nodes: int = 1, rank: int = 0, processes: int = 2, cards: int = 2, address: str = ADDRESS,
          port: str = PORT) -> dict[str, str]:  # fmt: skip
    """A node's variables, as the platform's documentation or source has them."""
    if name == "dlc":  # PAI help, "Built-in environment variables", 2026-04
        return {"MASTER_ADDR": address, "MASTER_PORT": port, "WORLD_SIZE": str(nodes), "RANK": str(rank),
                "NPROC_PER_NODE": str(cards)}  # fmt: skip
    if name == "trainjob":  # Kubeflow Trainer's plugin torch.go
        return {"PET_NNODES": str(nodes), "PET_NPROC_PER_NODE": str(processes), "PET_NODE_RANK": str(rank),
                "PET_MASTER_ADDR": address, "PET_MASTER_PORT": port}  # fmt: skip
    if name == "pytorchjob":  # Training Operator 1.9's envvar.go
        return {"PYTHONUNBUFFERED": "1", "MASTER_ADDR": address, "MASTER_PORT": port, "PET_MASTER_ADDR": address,
                "PET_MASTER_PORT": port, "WORLD_SIZE": str(nodes * processes), "RANK": str(rank), "PET_NODE_RANK": str(rank),
                "PET_NPROC_PER_NODE": str(processes), "PET_NNODES": str(nodes)}  # fmt: skip
    if name == "skypilot":  # SkyPilot 0.14.1's task_codegen.py and constants.py
        others = "".join(f"\n10.0.0.{n}" for n in range(2, nodes + 1))
        return {"SKYPILOT_NUM_NODES": str(nodes), "SKYPILOT_NODE_RANK": str(rank), "SKYPILOT_NODE_IPS": address + others,
                "SKYPILOT_NUM_GPUS_PER_NODE": str(cards), "PYTHONUNBUFFERED": "1"}  # fmt: skip
    if name == "dstack":  # dstack's reference of environment variables, 0.22
        return {"DSTACK_NODES_NUM": str(nodes), "DSTACK_NODE_RANK": str(rank), "DSTACK_MASTER_NODE_IP": address,
                "DSTACK_NODES_IPS": address, "DSTACK_GPUS_PER_NODE": str(cards), "DSTACK_GPUS_NUM": str(cards * nodes)}  # fmt: skip
    raise KeyError(name)


def kubelet(text: str, env: dict[str, str]) -> str:
    """A container's argument as Kubernetes expands it: `$(NAME)` of a known variable, `$$` for `$`.

    Source: k8s.io/kubernetes third_party/forked/golang/expansion.
    """
    out, at = [], 0
    while at < len(text):
        if text[at] == "$" and at + 1 < len(text):
            after = text[at + 1]
            if after == "$":
                out.append("$")
                at += 2
                continue
            end = text.find(")", at) if after == "(" else -1
            if end > 0:
                name = text[at + 2 : end]
                out.append(env.get(name, f"$({name})"))
                at = end + 1
                continue
        out.append(text[at])
        at += 1
    return "".join(out)


SKYPILOT = """f=$(mktemp); trap 'rm -f "$f"' EXIT
printf '%s\\n' '#!/bin/bash' 'set -a' 'true' 'set +a' 'export PYTHONUNBUFFERED=1' "$1" '' >"$f"
/bin/bash -i "$f"
"""
"""What SkyPilot 0.14.1 does with `run` on a node: log_lib.make_task_bash_script and run_bash_command_with_log."""


def dstack_interpolated(text: str) -> str:
    """A command as dstack 0.22.5's client changes it: utils/interpolator.py, of which only the order of its looks matters."""
    out, start = "", 0
    while start < len(text):
        dollar = text.find("$", start)
        if dollar in (-1, len(text) - 1):
            return out + text[start:]
        if text[dollar + 1] == "$":
            out += text[start : dollar + 1]
            start = dollar + 2
            continue
        opening = text.find("${{", start)
        if opening == -1:
            return out + text[start:]
        raise AssertionError(f"dstack would read this as a reference: {text[opening : opening + 30]}")
    return out


def read(text: str) -> dict[str, Any]:
    """A YAML file as PyYAML reads it, and libyaml alike, which Go's readers are made after."""
    found: dict[str, Any] = yaml.safe_load(text)
    if hasattr(yaml, "CSafeLoader"):
        assert yaml.load(text, yaml.CSafeLoader) == found
    return found


def started(name: str, text: str, env: dict[str, str]) -> list[str]:
    """The argv of a node for an exported file."""
    if name == "dlc":
        return ["sh", "-c", text]
    file = read(text)
    if name == "trainjob":
        container = file["spec"]["trainer"]
    elif name == "pytorchjob":
        container = file["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][0]
    elif name == "skypilot":
        return ["bash", "-c", SKYPILOT, "sky", file["run"]]
    elif name == "dstack":
        joined = " && ".join(dstack_interpolated(command).strip() for command in file["commands"])
        return ["/bin/sh" if "image" in file else "/bin/bash", "-i", "-c", joined]
    else:
        raise KeyError(name)
    return [kubelet(word, env) for word in (*container["command"], *container["args"])]
