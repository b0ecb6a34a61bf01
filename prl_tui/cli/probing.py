"""The probe before a launch, waited for: each step is told as it begins."""

from __future__ import annotations

import sys

from prl_tui.core import plan as plans
from prl_tui.core import trial as trials
from prl_tui.core.findings import Report
from prl_tui.i18n import t
from prl_tui.machine import paths
from prl_tui.runs import trial


def probed(report: Report) -> Report:
    """The verdict with what the probe found; without one where an error stands against the launch already."""
    if not report.ok:
        return report

    def tell(step: str) -> None:
        print(t("probing the training environment: {step}", step=trials.step_words(step)), file=sys.stderr, flush=True)

    made = trial.run(plans.build(report.config), paths.here(), on_step=tell)
    found = trials.findings(report.config, made, report.stack)
    if not any(finding.severity == "error" for finding in found):
        print(t("the probe took {seconds} s", seconds=f"{made.seconds:.1f}"), file=sys.stderr)
    return trials.joined(report, found)
