"""The platforms of the exported files, emulated: what each gives its nodes, and what it does to a command before it runs.

`started` gives the argv that a node's container starts for an exported file; `given` the variables that the node finds.
"""

from __future__ import annotations

from prl_tui.core import plan
from prl_tui.core.config import RunConfig
from prl_tui.export.formats import FORMATS

NAMES = ("dlc",)
ADDRESS, PORT = "job-master-0", "23456"


def text_of(name: str, config: RunConfig) -> str:
    return FORMATS[name](plan.build(config)).text


def given(
    name: str, nodes: int = 1, rank: int = 0, processes: int = 2, cards: int = 2, address: str = ADDRESS
) -> dict[str, str]:
    """A node's variables, as the platform's documentation or source has them."""
    if name == "dlc":  # PAI help, "Built-in environment variables", 2026-04
        return {"MASTER_ADDR": address, "MASTER_PORT": PORT, "WORLD_SIZE": str(nodes), "RANK": str(rank),
                "NPROC_PER_NODE": str(cards)}  # fmt: skip
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


def started(name: str, text: str, env: dict[str, str], shell: str = "sh") -> list[str]:
    """The argv of a node for an exported file."""
    if name == "dlc":
        return [shell, "-c", text]
    raise KeyError(name)
