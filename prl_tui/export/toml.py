"""The run config itself, which a SOURCE reads back losslessly."""

from __future__ import annotations

from prl_tui.core.config_file import dump
from prl_tui.core.plan import LaunchPlan
from prl_tui.export.model import Export, Format, header


def export(plan: LaunchPlan) -> Export:
    """The run config as TOML."""
    return Export(dump(plan.config, "\n".join(header(plan))))


FORMAT = Format("toml", ".toml", export)
