"""A run on the CPU as a way out where there is no GPU to be had: for recipes that have a field for that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from prl_tui.core import fixes, needs, repairs
from prl_tui.core.assess import DEVICES, Case, assess
from prl_tui.core.config import RunConfig
from prl_tui.core.devices import read
from prl_tui.core.findings import Finding, Fix
from prl_tui.core.value import replace

NO_GPU = "node-without-gpu"
ENGINES = ("use_vllm", "use_lmdeploy")
SERVER = "vllm_server_"
HIDDEN = ("devices-none", "processes-exceed-gpus")
"""What a list that hides every GPU breaks where processes need some."""


def told(
    config: RunConfig, findings: Iterable[Finding], judge: Callable[[RunConfig], tuple[Case, Mapping[str, Any]]]
) -> list[Finding]:
    """The findings; those that a run on the CPU does away with have it as their first way out.

    They say that no GPU is there, or that all are hidden by what people set for a run on the CPU.
    """
    findings = list(findings)
    hides = any(finding.code in HIDDEN for finding in findings) and assess(judge(config)[0]).devices.hides
    places = [at for at, finding in enumerate(findings) if finding.code == NO_GPU or (hides and finding.code in HIDDEN)]
    fix = _way_out(config, judge) if places and config.recipe.data.cpu else None
    if fix is not None:
        for at in places:
            findings[at] = replace(findings[at], fixes=(fix, *findings[at].fixes)[: fixes.MOST])
    return findings


def _way_out(config: RunConfig, judge: Callable[[RunConfig], tuple[Case, Mapping[str, Any]]]) -> Fix | None:
    """The field for the CPU, and with it whatever else it takes until no rule is broken; None where nothing does."""
    changes = _settled(config, {config.recipe.data.cpu: True, **_without_list(config), **_without_engines(config)})
    changed = repairs.applied(config, changes)
    case, asked = judge(changed)
    if asked or assess(case).errors or any(setting.problem for setting in changed.settings.values()):
        more = fixes.search(changed, judge)
        if not more:
            return None
        changes = _settled(config, {**changes, **more[0].changes})
    return fixes.as_fix(config, changes)


def _settled(config: RunConfig, changes: dict[str, Any]) -> dict[str, Any]:
    """The changes, and those that the recipe's needs ask for once these are made; none of these is taken back."""
    counts = {config.recipe.part("nproc_per_node"), "nnodes"}
    wanted = [need for need in config.recipe.data.needs if need.severity == "error"]
    for _ in wanted:
        unmet = needs.findings(repairs.applied(config, changes), wanted)
        ways = [fix.changes for found in unmet for fix in found.fixes]
        ways.sort(key=lambda way: not counts.isdisjoint(way))  # fewer processes are another batch
        more = next((way for way in ways if changes.keys().isdisjoint(way)), None)
        if more is None:
            break
        changes = {**changes, **more}
    return changes


def _without_list(config: RunConfig) -> dict[str, Any]:
    """No list of GPUs that are not there; one that hides all of them says the same as the field."""
    key = config.recipe.part(DEVICES)
    given = config.value(key) if key in config.settings else None
    return {} if given is None or read(given).hides else {key: None}


def _without_engines(config: RunConfig) -> dict[str, Any]:
    """No engine generates: this job's own needs its GPUs, and a server gets the weights from one by NCCL.

    Source: `VLLMClient.init_communicator` of ms-swift 3.5 to 4.6, vLLM's PyNcclCommunicator.
    """
    if not any(key in config.settings and config.value(key) for key in ENGINES):
        return {}
    changes: dict[str, Any] = {key: False for key in ENGINES if key in config.settings and config.value(key)}
    server = [key for key in config.settings if key.startswith(SERVER) and config.value(key) is not None]
    return {**changes, **dict.fromkeys(server)}
