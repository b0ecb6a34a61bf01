"""The command as a person reads it: one argument a line, after the files that it needs."""

from __future__ import annotations

from prl_tui.core.plan import LaunchPlan
from prl_tui.export import bash_files, losses
from prl_tui.export.model import Export, Format
from prl_tui.export.shell import literal
from prl_tui.i18n import t


def export(plan: LaunchPlan) -> Export:
    """The command for a POSIX shell."""
    files = "".join(f"{line}\n" for line in bash_files.here_docs(plan))
    lost = [*losses.surroundings(plan), *losses.fixed_values(plan)]
    lost += [t("{name} must be in the environment already.", name=name) for name in losses.inherited(plan)]
    return Export(files + " \\\n".join(plan.command_lines(literal)) + "\n", tuple(lost))


FORMAT = Format("command", ".txt", export, whole=False)
