"""The variables alone, as an env file: a POSIX shell reads it with `.`, and each variable is exported."""

from __future__ import annotations

from prl_tui.core.plan import LaunchPlan
from prl_tui.export import losses
from prl_tui.export.model import Export, Format, header, one_line
from prl_tui.export.shell import literal
from prl_tui.i18n import t
from prl_tui.lists import listed


def export(plan: LaunchPlan) -> Export:
    """The env file of a plan."""
    lines = [one_line(f"# {line}".rstrip()) for line in header(plan)]
    for name in losses.inherited(plan):
        told = literal(t("error: ") + t("this variable is needed and not set: ") + name)
        lines.append(f"[ -n \"${{{name}-}}\" ] || {{ printf '%s\\n' {told} >&2; return 1; }}")
        lines.append(f"export {name}")
    lines += [f"export {name}={literal(value)}" for name, value in plan.env]
    lost = [
        t("The command is not in it: an env file has variables only."),
        *losses.surroundings(plan),
        *losses.replaced(plan),
    ]
    if plan.files:
        lost.append(t("The program's files are not in it: {names}", names=listed(file.name for file in plan.files)))
    lost.append(t("It is for a POSIX shell; docker's --env-file keeps quotes as a part of the value."))
    return Export("\n".join(lines) + "\n", tuple(lost))


FORMAT = Format("env", ".env", export)
