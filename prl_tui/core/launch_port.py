"""What a launch here changes of a plan: where nobody fixed the port of its ranks, it takes a free one."""

from __future__ import annotations

from prl_tui.core.plan import LaunchPlan, with_port
from prl_tui.i18n import t

_STANDS_IN = 65535
"""A port in the words that are compared, in place of the one that a launch finds."""


def words(plan: LaunchPlan) -> str:
    """One sentence without its stop; "" where a launch runs the plan as it is."""
    if plan.port_fixed:
        return ""
    before, after = _words(plan), _words(with_port(plan, _STANDS_IN))
    new = " ".join(word for word in after if word not in before).replace(str(_STANDS_IN), "PORT")
    old = " ".join(word for word in before if word not in after)
    if not new:
        return ""
    if not old:
        return t("Launched here it gets a free port: {new}", new=new)
    return t("Launched here: {new}, a free one, not {old}", new=new, old=old.removeprefix(new.removesuffix("PORT")))


def _words(plan: LaunchPlan) -> list[str]:
    return [*(f"{name}={value}" for name, value in plan.env), *plan.argv]
