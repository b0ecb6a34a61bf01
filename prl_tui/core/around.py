"""A list of GPUs around a launch that the job keeps, since its config names none: what torch makes of it on this node."""

from __future__ import annotations

from collections.abc import Iterable

from prl_tui.core import devices, engine
from prl_tui.core.advice import VISIBLE
from prl_tui.core.assess import DEVICES, Assessment, Case
from prl_tui.core.config import RunConfig
from prl_tui.core.findings import Facts, Finding, Fix, GpuUse
from prl_tui.core.value import replace
from prl_tui.i18n import t

COUNTED = frozenset(
    {
        "processes-exceed-gpus", "vllm-one-gpu-each", "gpus-divide", "sharding-one-gpu-each", "async-generate-shares",
        "tensor-parallel-layout", "infer-workers-overlap",
    }
)  # fmt: skip
"""Rules about how many GPUs the ranks see."""


def on_node(case: Case, config: RunConfig, facts: Facts) -> Case:
    """The case with the list that the job keeps; as it is where there is none, or nothing is known of the node."""
    given, key = facts.inherited.get(VISIBLE), config.recipe.part(DEVICES)
    if given is None or facts.node_gpus is None or key not in config.settings:
        return case
    own = config.value(key) is not None and not is_shared_out(facts)
    order = None if own else _order(given, facts)
    return replace(case, around=given, gpu_order=order)


def _order(given: str, facts: Facts) -> tuple[int, ...]:
    """The node's whole GPUs that work, what another run has reserved last: those of the list first, then the rest, those
    that nobody uses first.

    Of what a scheduler shared out no more than that; of MIG instances none, since a process sees one only.
    """
    if facts.gpus is None:
        seen = devices.read(given, facts.node_gpus, facts.node_uuids)
        first = [one for one in seen.entries[: seen.usable] if isinstance(one, int)]
        rest = range(0 if is_shared_out(facts) else facts.node_gpus or 0)
        return tuple(dict.fromkeys([*first, *rest]))
    whole = [gpu for gpu in facts.gpus if not gpu.fault and not gpu.slices]
    named = {gpu.index for gpu in engine.chosen(whole, given)}
    may = [gpu for gpu in whole if gpu.index in named or not is_shared_out(facts)]
    may.sort(key=lambda gpu: (bool(gpu.claimed_by), gpu.index not in named, bool(gpu.busy_with)))
    return tuple(gpu.index for gpu in may)


def is_shared_out(facts: Facts) -> bool:
    """Whether the list around is what a scheduler gave to this job: the node's other GPUs are other people's."""
    return "SLURM_JOB_ID" in facts.inherited


def nearest(gpus: Iterable[GpuUse], facts: Facts) -> list[GpuUse]:
    """The GPUs that may be taken instead of one: those of the list around first; of what was shared out no others."""
    every, given = list(gpus), facts.inherited.get(VISIBLE)
    if given is None:
        return every
    named = engine.chosen(every, given)
    return named if is_shared_out(facts) else [*named, *(gpu for gpu in every if gpu not in named)]


def told(config: RunConfig, case: Case, found: Assessment, findings: list[Finding]) -> list[Finding]:
    """The findings; those that come from a list around the launch say so, and each has a list as its way out."""
    if not case.keeps(case.values.get(DEVICES)):
        return findings
    key = config.recipe.part(DEVICES)
    because = t(
        "The config sets no list of GPUs, so the job keeps {name}={given}, which is set here.",
        name=VISIBLE,
        given=case.around,
    )
    broken = {one.code for one in found.violations if one.part == DEVICES or one.code in COUNTED}
    return [
        replace(one, why=f"{because} {one.why}".strip(), fixes=one.fixes or _own(key, case, one))
        if one.code in broken
        else one
        for one in findings
    ]


def _own(key: str, case: Case, found: Finding) -> tuple[Fix, ...]:
    """A list of the config's own, of GPUs that are there."""
    count = case.values.get("nproc_per_node") or 1
    if found.severity == "note" or not 0 < count <= len(case.gpu_order or ()):
        return ()
    gpus = ",".join(map(str, sorted((case.gpu_order or ())[:count])))
    return (Fix({key: gpus}, t("use GPU {gpus}", gpus=gpus)),)
