"""The form's words for groups of settings and for where a value came from."""

from __future__ import annotations

from prl_tui.core.config import Source
from prl_tui.core.recipe import Group
from prl_tui.i18n import t


def group_word(group: Group) -> str:
    """A group's heading."""
    return {
        "batch": t("Batch"),
        "generation": t("Generation"),
        "model": t("Model"),
        "data": t("Data"),
        "schedule": t("Schedule"),
        "faults": t("Faults on purpose"),
        "launch": t("Launch"),
        "environment": t("Environment"),
    }[group]


def source_word(source: Source, origin: str) -> str:
    """Where a value came from, as the form shows it."""
    if source is Source.ENVIRONMENT:
        return origin
    return {
        Source.FILE: t("file"),
        Source.SET: t("--set"),
        Source.FORM: "",
        Source.FIX: t("fix"),
    }.get(source, "")
