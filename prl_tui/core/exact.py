"""Ways out of warnings: the nearest values of one field with which a batch comes out as it is given, GPUs are not shared, or
a list names only those that a run sees.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from math import prod

from prl_tui.core import assess, fixes, values
from prl_tui.core.assess import Assessment, Case
from prl_tui.core.config import RunConfig
from prl_tui.core.findings import Finding, Fix
from prl_tui.core.value import replace

ROUNDED = {"batch-rounds-down", "total-batch-rounds-down"}
IDLE = "accumulation-without-effect"
SHARED = "infer-workers-overlap"
CUT = {"devices-beyond-node", "devices-unknown", "devices-ambiguous"}
CODES = ROUNDED | CUT | {IDLE, SHARED}


def with_ways_out(config: RunConfig, case: Case, found: Assessment, findings: Iterable[Finding]) -> list[Finding]:
    """The findings; those of `CODES` with the changes after which their rule says nothing more, the nearest first."""
    return [
        replace(one, fixes=_ways_out(config, case, found, one)) if one.code in CODES and not one.fixes else one
        for one in findings
    ]


def _ways_out(config: RunConfig, case: Case, found: Assessment, finding: Finding) -> tuple[Fix, ...]:
    if finding.code == SHARED:
        return _apart(config, case, found)
    if finding.code in CUT:
        return _seen(config, case, found)
    part = case.train_part if finding.code in ROUNDED else "gradient_accumulation_steps"
    now = case.values.get(part)
    field = config.recipe.by_key.get(config.recipe.part(part))
    if field is None or part in case.fixed or not isinstance(now, int):
        return ()
    candidates = [1] if finding.code == IDLE else _around(now, found)
    right = [n for n in candidates if n > 0 and not values.parse(field, n)[1]]
    works = [n for n in right if _works(case, found, part, n, finding.code)]
    return tuple(fixes.as_fix(config, {field.key: n}) for n in works)


def _around(now: int, found: Assessment) -> list[int]:
    """The multiples of what all processes take at a time below and above, the nearer first."""
    each = found.numbers.micro if found.batch.rule == "minionerec-sft" else 1
    step = prod(factor or 1 for factor in (each, found.batch.world))
    below = now // step * step
    return sorted((below, below + step), key=lambda n: abs(n - now))


def _apart(config: RunConfig, case: Case, found: Assessment) -> tuple[Fix, ...]:
    """The nearest count of workers that do not share their GPUs, and of processes that leave them some."""
    nproc = case.values.get("nproc_per_node")
    if not isinstance(nproc, int):
        return ()
    offered = []
    for part, counts in (("num_infer_workers", range(1, nproc + 1)), ("nproc_per_node", range(1, nproc))):
        field, now = config.recipe.by_key.get(config.recipe.part(part)), case.values.get(part)
        if field is None or part in case.fixed or not isinstance(now, int):
            continue
        near = [n for n in sorted(counts, key=partial(_distance, now)) if not values.parse(field, n)[1]]
        best = next((n for n in near if _warns_no_more(case, found, part, n)), None)
        offered += [fixes.as_fix(config, {field.key: best})] if best is not None else []
    return tuple(offered)


def _seen(config: RunConfig, case: Case, found: Assessment) -> tuple[Fix, ...]:
    """The list as far as torch reads it: the same run, said as it is."""
    devices = found.devices
    if found.errors or not devices.usable or "cuda_visible_devices" in case.fixed:
        return ()
    value = ",".join(map(str, devices.entries[: devices.usable]))
    return (fixes.as_fix(config, {config.recipe.part("cuda_visible_devices"): value}),)


def _distance(now: int, count: int) -> int:
    return abs(count - now)


def _warns_no_more(case: Case, found: Assessment, part: str, value: int) -> bool:
    """No worker shares a GPU, and nothing else is wrong that was not."""
    before = {broken.code for broken in found.violations if broken.severity != "note"}
    after = assess.assess(case.with_values({part: value}))
    return {broken.code for broken in after.violations if broken.severity != "note"} <= before - {SHARED}


def _works(case: Case, found: Assessment, part: str, value: int, code: str) -> bool:
    after = assess.assess(case.with_values({part: value}))
    return after.errors <= found.errors and not any(broken.code == code for broken in after.violations)
