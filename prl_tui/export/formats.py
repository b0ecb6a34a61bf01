"""The formats by name."""

from __future__ import annotations

from collections.abc import Callable

from prl_tui.core.config_file import dump
from prl_tui.core.plan import LaunchPlan
from prl_tui.export import bash, bash_files
from prl_tui.export.model import Export, header


def command(plan: LaunchPlan) -> Export:
    """The command for a POSIX shell, one argument a line, after the files that it needs."""
    files = "".join(f"{line}\n" for line in bash_files.here_docs(plan))
    return Export(files + " \\\n".join(plan.command_lines()) + "\n")


def toml(plan: LaunchPlan) -> Export:
    """The run config itself."""
    return Export(dump(plan.config, "\n".join(header(plan))))


FORMATS: dict[str, Callable[[LaunchPlan], Export]] = {
    "command": command,
    "bash": bash.export,
    "toml": toml,
}

SUFFIX = {"command": ".txt", "bash": ".sh", "toml": ".toml"}
