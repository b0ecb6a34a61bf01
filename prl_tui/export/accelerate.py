"""The config files of accelerate and of DeepSpeed that a plan writes for itself, alone: for a platform that takes them."""

from __future__ import annotations

from collections.abc import Iterator

from prl_tui.core.files import Written
from prl_tui.core.plan import LaunchPlan
from prl_tui.export import losses
from prl_tui.export.model import Export, Format, header, one_line
from prl_tui.i18n import t

HERE = "."
"""Where the files expect each other: in the directory in which accelerate starts."""


def _file(plan: LaunchPlan, kind: str) -> Written | None:
    names = {template.name for template in plan.config.recipe.data.write if template.kind == kind}
    return next((file for file in plan.files if file.name in names), None)


def _refusal(plan: LaunchPlan, kind: str) -> str:
    if _file(plan, kind) is not None:
        return ""
    names = {"accelerate": "accelerate", "deepspeed": "DeepSpeed"}
    return t("This plan writes no {program} config; those of {recipe} do.", program=names[kind], recipe="minionerec-rl")


def _text(plan: LaunchPlan, kind: str) -> str:
    file = _file(plan, kind)
    return "" if file is None else file.text(HERE)


def _beside(plan: LaunchPlan, kind: str) -> Iterator[str]:
    """The other file, where this one names it."""
    other = _file(plan, "deepspeed" if kind == "accelerate" else "accelerate")
    if kind == "accelerate" and other is not None and f"{HERE}/{other.name}" in _text(plan, kind):
        yield t(
            "It names {file}: export that as deepspeed, and start where that file lies.", file=f"{HERE}/{other.name}"
        )


def _losses(plan: LaunchPlan, kind: str) -> tuple[str, ...]:
    return (
        t("The command is not in it: it is a config file alone."),
        *_beside(plan, kind),
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


ACCELERATE = Format("accelerate", ".accelerate.yaml", accelerate, lambda plan: _refusal(plan, "accelerate"))
DEEPSPEED = Format("deepspeed", ".deepspeed.json", deepspeed, lambda plan: _refusal(plan, "deepspeed"))
