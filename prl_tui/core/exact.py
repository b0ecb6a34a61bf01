"""Ways out of warnings about a batch that does not come out as it is given: the nearest values that do."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from prl_tui.core import assess, fixes, values
from prl_tui.core.assess import Assessment, Case
from prl_tui.core.config import RunConfig
from prl_tui.core.findings import Finding, Fix
from prl_tui.core.value import replace

ROUNDED = {"batch-rounds-down", "total-batch-rounds-down"}
IDLE = "accumulation-without-effect"
CODES = ROUNDED | {IDLE}


def with_ways_out(config: RunConfig, case: Case, found: Assessment, findings: Iterable[Finding]) -> list[Finding]:
    """The findings; those of `CODES` with the changes after which their rule says nothing more, the nearest first."""
    return [
        replace(one, fixes=_ways_out(config, case, found, one)) if one.code in CODES and not one.fixes else one
        for one in findings
    ]


def _ways_out(config: RunConfig, case: Case, found: Assessment, finding: Finding) -> tuple[Fix, ...]:
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


def _works(case: Case, found: Assessment, part: str, value: int, code: str) -> bool:
    after = assess.assess(case.with_values({part: value}))
    return after.errors <= found.errors and not any(broken.code == code for broken in after.violations)
