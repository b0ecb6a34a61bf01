"""A run on the CPU as a way out where there is no GPU to be had: for recipes that have a field for that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from prl_tui.core import fixes, repairs
from prl_tui.core.assess import Case, assess
from prl_tui.core.config import RunConfig
from prl_tui.core.devices import read
from prl_tui.core.findings import Finding, Fix
from prl_tui.core.space import DEVICES
from prl_tui.core.value import replace

NO_GPU = "node-without-gpu"
HIDDEN = ("devices-none", "processes-exceed-gpus")
"""What a list that hides every GPU breaks where processes need some."""


def told(
    config: RunConfig, findings: Iterable[Finding], judge: Callable[[RunConfig], tuple[Case, Mapping[str, Any]]]
) -> list[Finding]:
    """The findings; those that a run on the CPU does away with have it as their first way out."""
    findings = list(findings)
    places = [at for at, finding in enumerate(findings) if _asks(config, finding)]
    fix = _way_out(config, judge) if places and config.recipe.data.cpu else None
    if fix is not None:
        for at in places:
            findings[at] = replace(findings[at], fixes=(fix, *findings[at].fixes)[: fixes.MOST])
    return findings


def _asks(config: RunConfig, finding: Finding) -> bool:
    """No GPU is there, or all are hidden by what people set for a run on the CPU."""
    key = config.recipe.part(DEVICES)
    hides = key in config.settings and read(config.value(key)).hides
    return finding.code == NO_GPU or (hides and finding.code in HIDDEN)


def _way_out(config: RunConfig, judge: Callable[[RunConfig], tuple[Case, Mapping[str, Any]]]) -> Fix | None:
    """The field for the CPU, and with it whatever else it takes until no rule is broken; None where nothing does."""
    changes = {config.recipe.data.cpu: True, **_without_engines(config)}
    changed = repairs.applied(config, changes)
    case, asked = judge(changed)
    if asked or assess(case).errors or any(setting.problem for setting in changed.settings.values()):
        more = fixes.search(changed, judge)
        if not more:
            return None
        changes |= more[0].changes
    return fixes.as_fix(config, changes)


def _without_engines(config: RunConfig) -> dict[str, Any]:
    """What generates on this job's own GPUs cannot go on without them; a server elsewhere can."""
    if "vllm_mode" in config.settings and config.value("vllm_mode") == "server":
        return {}
    return {key: False for key in ("use_vllm", "use_lmdeploy") if key in config.settings and config.value(key)}
