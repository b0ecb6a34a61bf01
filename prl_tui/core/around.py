"""A list of GPUs around a launch that the job keeps, since its config names none: what torch makes of it on this node."""

from __future__ import annotations

from collections.abc import Iterator

from prl_tui.core import assess, devices, layout
from prl_tui.core.advice import VISIBLE
from prl_tui.core.batch import Violation, broken
from prl_tui.core.config import RunConfig
from prl_tui.core.findings import Facts, Finding, Fix
from prl_tui.core.stacks import Stack
from prl_tui.i18n import t

KEY = "cuda_visible_devices"
NEEDED = frozenset({"devices-none", "devices-hidden", "devices-odd"})
"""What is no fault where nobody needs a GPU: GPUs that are hidden, and another way to write a list."""


def findings(config: RunConfig, facts: Facts, stack: Stack) -> Iterator[Finding]:
    """What is wrong with the list; an error only where each process needs a GPU."""
    given, on_node = facts.inherited.get(VISIBLE), facts.node_gpus
    if given is None or on_node is None or KEY not in config.settings or config.wrong(KEY):
        return
    if config.value(KEY) is not None or (on_node == 0 and assess.needs_gpu(config)):
        return
    from prl_tui.core import explain

    for found in _violations(config, devices.read(given, on_node, facts.node_uuids), on_node):
        severity = "warning" if found.severity == "error" and not assess.needs_gpu(config) else found.severity
        because = t(
            "The config sets no list of GPUs, so the job keeps {name}={given}, which is set here.",
            name=VISIBLE,
            given=given,
        )
        why = f"{because} {explain.why(found, stack)}".strip()
        yield Finding(
            found.code, severity, config.recipe.part(found.part), explain.what(found), why, _own(config, facts)
        )


def _violations(config: RunConfig, seen: devices.Devices, on_node: int) -> list[Violation]:
    needs_gpu = assess.needs_gpu(config)
    found = [one for one in layout.reading(seen, needs_gpu) if needs_gpu or one.code not in NEEDED]
    nproc, count = config.number("nproc_per_node"), seen.count
    if needs_gpu and nproc is not None and count is not None and 0 < count < nproc <= on_node:
        found.append(broken("processes-exceed-gpus", "nproc_per_node", nproc=nproc, gpus=count))
    return found


def _own(config: RunConfig, facts: Facts) -> tuple[Fix, ...]:
    """A list of the config's own, of GPUs that are there; not where a scheduler shared them out."""
    count = min(config.number("nproc_per_node") or 1, facts.node_gpus or 0)
    if "SLURM_JOB_ID" in facts.inherited or count < 1:
        return ()
    free = _idle(facts)[:count]
    if len(free) < count:
        return ()
    gpus = ",".join(map(str, free))
    return (Fix({KEY: gpus}, t("use GPU {gpus}", gpus=gpus)),)


def _idle(facts: Facts) -> list[int]:
    """The node's whole GPUs that work, those that nobody uses first; of MIG instances a process sees one only."""
    if facts.gpus is None:
        return list(range(facts.node_gpus or 0))
    whole = [gpu for gpu in facts.gpus if not gpu.fault and not gpu.slices]
    whole.sort(key=lambda gpu: bool(gpu.busy_with or gpu.claimed_by))
    return [gpu.index for gpu in whole]


def left_on_node(config: RunConfig, facts: Facts) -> int | None:
    """How many GPUs the node has for a config that asks for more than it has: those that the list around it shows."""
    given, on_node = facts.inherited.get(VISIBLE), facts.node_gpus
    if given is None or not on_node or KEY not in config.settings or config.value(KEY) is not None:
        return on_node
    shown = devices.read(given, on_node, facts.node_uuids).count
    nproc = config.number("nproc_per_node")
    return shown if shown and nproc is not None and nproc > on_node else on_node
