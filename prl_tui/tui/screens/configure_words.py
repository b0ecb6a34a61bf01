"""What the configure screen says of its session: the environment, the preset, the worst finding of each field."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from prl_tui.i18n import t
from prl_tui.tui.cells import safe

if TYPE_CHECKING:
    from prl_tui.core.config import RunConfig
    from prl_tui.machine.gpu_feed import Reading
    from prl_tui.tui.session import Session, Verdict


def worst(verdict: Verdict) -> dict[str, str]:
    """The worst severity among a field's findings, by its key."""
    from prl_tui.core.findings import ORDER

    found: dict[str, str] = {}
    for finding in (*verdict.report.findings, *verdict.here):
        if finding.field and ORDER[finding.severity] < ORDER.get(found.get(finding.field, ""), 9):
            found[finding.field] = finding.severity
    return found


def no_fix(verdict: Verdict) -> str:
    """Why there is nothing that one key could mend."""
    if not verdict.report.findings and not verdict.here:
        return t("There is nothing to fix.")
    return t("Nothing that was found here has a way out that f could apply.")


def about(session: Session) -> str:
    """For the top bar: the recipe, the rules in force, the training environment."""
    place = session.facts.environment if session.facts is not None else ""
    return " · ".join(
        part
        for part in (str(session.config.recipe.data.title), t("rules of {stack}", stack=session.stack.said), place)
        if part
    )


def name(config: RunConfig) -> str:
    """`RECIPE/PRESET`, or the recipe alone."""
    return f"{config.recipe.name}/{config.preset}" if config.preset else config.recipe.name


def preset_line(config: RunConfig, listed: bool) -> Content:
    """Where there is no room for the list: the preset's name, and the key to the list unless that is in sight."""
    key = "" if listed else f"   p {t('presets')}"
    return Content.assemble((f"{t('preset')} ▸ ", "$secondary"), (safe(name(config)), "bold"), (key, "$secondary"))


def wanted_gpus(session: Session) -> set[int] | None:
    """Indices of the box's GPUs that the ranks would see; None where the box's GPUs are not known."""
    from prl_tui.core import engine
    from prl_tui.core.advice import VISIBLE

    facts = session.facts
    if facts is None or facts.gpus is None:
        return None
    spec = engine.in_force(session.config, facts.inherited.get(VISIBLE))
    return {gpu.index for gpu in engine.chosen(facts.gpus, spec)}


def one_stays(session: Session) -> str:
    """Why the last GPU of the list cannot be given up."""
    from prl_tui.core.advice import VISIBLE

    given = session.facts.inherited.get(VISIBLE) if session.facts is not None else None
    if given is None:
        return t("At least one GPU stays chosen; without a list the run would take all of them.")
    return t(
        "At least one GPU stays chosen; without a list the run would keep {name}={given}.", name=VISIBLE, given=given
    )


def gpu_line(reading: Reading | None) -> Content:
    """The GPUs in one line, where there is no room for their table."""
    if reading is None or (reading.snapshot is None and not reading.problem):
        return Content(t("looking at the GPUs …"))
    from prl_tui.tui.widgets.gpu_table import summary

    return Content(safe(reading.problem or summary(reading.snapshot)))
