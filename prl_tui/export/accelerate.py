"""The config files of accelerate and of DeepSpeed alone, for a platform that takes them: a plan's own, or its counts."""

from __future__ import annotations

from collections.abc import Iterator

from prl_tui.core import wordlist
from prl_tui.core.files import Written
from prl_tui.core.plan import PORT, LaunchPlan
from prl_tui.core.values import show
from prl_tui.export import losses, yaml_text
from prl_tui.export.model import Export, Format, header, one_line
from prl_tui.i18n import t
from prl_tui.lists import listed

HERE = "."
"""Where the files expect each other: in the directory in which accelerate starts."""


def _file(plan: LaunchPlan, kind: str) -> Written | None:
    names = {template.name for template in plan.config.recipe.data.write if template.kind == kind}
    return next((file for file in plan.files if file.name in names), None)


def _refusal(plan: LaunchPlan, kind: str) -> str:
    if _file(plan, kind) is not None or (kind == "accelerate" and _is_plain(plan)):
        return ""
    names = {"accelerate": "accelerate", "deepspeed": "DeepSpeed"}
    if kind == "accelerate" and plan.launcher != "accelerate":
        return t("{launcher} reads no config of accelerate.", launcher=plan.launcher)
    own = next((one for one in plan.config.recipe.data.write if one.kind == kind), None)
    if own is not None:  # its recipe writes one, when its fields say so
        recipe = plan.config.recipe
        named = listed(f"{key}={show(recipe.by_key[key], value)}" for key, value in own.when.items())
        return t("This plan writes no {program} config; with {setting} it does.", program=names[kind], setting=named)
    return t("This plan writes no {program} config; those of {recipe} do.", program=names[kind], recipe="minionerec-rl")


def _is_plain(plan: LaunchPlan) -> bool:
    """The command starts accelerate and gives it the counts itself: they make a config too."""
    return plan.launcher == "accelerate" and not plan.config.recipe.data.write


def _counts(plan: LaunchPlan) -> str:
    """What the command says of machines and processes. Source: the keys of accelerate 1.15's ClusterConfig."""
    config = plan.config
    nodes, each = config.number("nnodes") or 1, config.number("nproc_per_node") or 1
    lines = ["compute_environment: LOCAL_MACHINE", "debug: false",
             "distributed_type: " + ("MULTI_GPU" if each * nodes > 1 else '"NO"'), "gpu_ids: all",
             f"machine_rank: {config.number('node_rank') or 0}"]  # fmt: skip
    if nodes > 1 and (address := config.text("master_addr")):
        lines.append(f"main_process_ip: {yaml_text.text(address)}")
    if port := config.number(PORT):
        lines.append(f"main_process_port: {port}")
    lines += ["main_training_function: main", 'mixed_precision: "no"', f"num_machines: {nodes}",
              f"num_processes: {each * nodes}", "rdzv_backend: static", "same_network: true", "use_cpu: false"]  # fmt: skip
    return "\n".join(lines) + "\n"


def _text(plan: LaunchPlan, kind: str) -> str:
    file = _file(plan, kind)
    if file is not None:
        return file.text(HERE)
    return _counts(plan) if kind == "accelerate" and _is_plain(plan) else ""


def _beside(plan: LaunchPlan, kind: str) -> Iterator[str]:
    """The other file, where this one names it."""
    other = _file(plan, "deepspeed" if kind == "accelerate" else "accelerate")
    if kind == "accelerate" and other is not None and f"{HERE}/{other.name}" in _text(plan, kind):
        yield t(
            "It names {file}: export that as deepspeed, and start where that file lies.", file=f"{HERE}/{other.name}"
        )


def _several(plan: LaunchPlan, kind: str) -> Iterator[str]:
    """One file is one machine's."""
    if kind == "accelerate" and _is_plain(plan) and (plan.config.number("nnodes") or 1) > 1:
        yield t("machine_rank is this machine's: each of the others needs its own, or --machine_rank on its command.")


def _own_options(plan: LaunchPlan, kind: str) -> Iterator[str]:
    """Options of accelerate's own that the command has: a config file has other names for them, and none for some."""
    key = "launcher_arguments"
    words = plan.config.value(key) if key in plan.config.settings else None
    left = tuple(word for word in words or () if word != "--multi_gpu")  # its counts say that one
    if kind == "accelerate" and _is_plain(plan) and left:
        yield t("Not in it: {words}. Give them to accelerate launch beside this file.", words=wordlist.join(left))


def _losses(plan: LaunchPlan, kind: str) -> tuple[str, ...]:
    return (
        t("The command is not in it: it is only a config file."),
        *_beside(plan, kind),
        *_several(plan, kind),
        *_own_options(plan, kind),
        *losses.surroundings(plan),
        losses.fixed(),
    )


def accelerate(plan: LaunchPlan) -> Export:
    """The config of accelerate as YAML, under a head of comments."""
    head = "".join(one_line(f"# {line}".rstrip()) + "\n" for line in header(plan))
    return Export(head + _text(plan, "accelerate"), _losses(plan, "accelerate"))


def deepspeed(plan: LaunchPlan) -> Export:
    """DeepSpeed's settings as JSON, which has no comments."""
    return Export(_text(plan, "deepspeed"), _losses(plan, "deepspeed"))


ACCELERATE = Format(
    "accelerate", ".accelerate.yaml", accelerate, lambda plan: _refusal(plan, "accelerate"), whole=False
)
DEEPSPEED = Format("deepspeed", ".deepspeed.json", deepspeed, lambda plan: _refusal(plan, "deepspeed"), whole=False)
