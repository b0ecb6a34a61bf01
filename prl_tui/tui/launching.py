"""The app's launch: what stands against it, the probe in the training environment, the question about warnings, the start.

The probe runs on a thread of its own; the screen reads `Probe` and shows what it waits for and since when.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prl_tui import reasons
from prl_tui.core.config import RunConfig
from prl_tui.core.findings import Facts, Finding, Report
from prl_tui.core.plan import LaunchPlan, build
from prl_tui.core.stacks import Stack
from prl_tui.core.trial import HINDERS
from prl_tui.i18n import t
from prl_tui.machine import paths

if TYPE_CHECKING:
    from prl_tui.runs.launcher import Job
    from prl_tui.tui.app import PrlApp
    from prl_tui.tui.session import Session


SMOKE_STEPS = 2
"""Steps of a smoke test that the app starts."""


@dataclass
class Probe:
    """One probe of one config. The thread writes `step` and at last `findings`; the screen only reads."""

    config: RunConfig
    began: float = field(default_factory=time.monotonic)
    step: str = ""
    findings: tuple[Finding, ...] | None = None
    """None while it runs."""
    cancelled: threading.Event = field(default_factory=threading.Event)
    gpus: bool = True
    """Whether torch is asked for its GPUs too: not on a box that has none."""

    @property
    def running(self) -> bool:
        """It has not ended, and nobody cancelled it."""
        return self.findings is None and not self.cancelled.is_set()

    @property
    def passed(self) -> bool:
        """All of it was tried, and it ended without an error."""
        return self.gpus and self.findings is not None and not any(one.severity == "error" for one in self.findings)

    def words(self) -> str:
        """What it waits for and since when; "" when it does not run."""
        if not self.running:
            return ""
        from prl_tui.core.trial import step_words

        seconds = int(time.monotonic() - self.began)
        return t("probing the training environment: {step}, {seconds} s", step=step_words(self.step), seconds=seconds)


class Launching:
    """What the launch keys do."""

    def __init__(self, app: PrlApp) -> None:
        self._app = app
        self._starting = False
        """A run is being started: it does not start twice."""

    def launch(self, session: Session, probe: bool = True, smoke: bool = False) -> None:
        """Start what the session holds, if nothing stands against it; `probe`: try the environment first.

        `smoke`: only a few steps of it.
        """
        if not self._may(session):
            return
        tried = session.probe
        if tried is not None and tried.running:
            self._app.tell(tried.words())
        elif probe and not (tried is not None and tried.passed):
            self._probe(session, Probe(session.config), lambda: self._ask(session, smoke))
        else:
            self._ask(session, smoke)

    def probe(self, session: Session) -> None:
        """Only try the program in its environment: as much of it as this box allows."""
        verdict = session.verdict
        if not self._known(session):
            return
        if session.probe is not None and session.probe.running:
            self._app.tell(session.probe.words())
            return
        hinders = [*verdict.report.findings, *(one for one in verdict.on_box if one.code in HINDERS)]
        first = _first_error(hinders)
        if first is not None:
            self._app.tell(t("Not tried: {reason}", reason=first.message), "error")
            return
        without = verdict.facts is not None and verdict.facts.node_gpus == 0
        self._probe(session, Probe(session.config, gpus=not without))

    def _probe(self, session: Session, made: Probe, then: Callable[[], None] | None = None) -> None:
        """Try the program, on a thread; `then` follows if nothing was found against it."""
        plan, stack = session.verdict.plan, session.verdict.report.stack
        session.begin_probe(made)

        def work() -> None:
            found = _run(plan, made, stack)
            if not made.cancelled.is_set():
                self._app.call_later(self._probed, session, made, found, then)

        self._app.beside.do(f"probe {made.began}", work, finishes=True)  # it ends what it has started

    def cancel(self, session: Session) -> bool:
        """End a probe that runs; False when none does."""
        if session.probe is None or not session.probe.running:
            return False
        session.probe.cancelled.set()
        return True

    def _known(self, session: Session) -> bool:
        """Whether the box has been looked at; told where it has not."""
        if session.verdict.facts is None:
            self._app.tell(t("Still looking at this box; try again in a moment."), "warning")
        return session.verdict.facts is not None

    def _may(self, session: Session) -> bool:
        """Nothing but an earlier probe's finding stands against a launch; that one is tried again."""
        verdict = session.verdict
        if not self._known(session):
            return False
        first = _first_error([*verdict.report.findings, *verdict.on_box])
        if first is not None:
            self._app.tell(t("Not launched: {reason}", reason=first.message), "error")
        return first is None

    def _probed(
        self, session: Session, made: Probe, found: tuple[Finding, ...], then: Callable[[], None] | None
    ) -> None:
        made.findings = found
        if session.probe is not made:  # another field was changed meanwhile
            void = t("The config has changed since the probe began; what it found is of the old one.")
            launch = t("The config has changed since the probe began; nothing was launched.")
            self._app.tell(launch if then is not None else void)
            return
        session.probe_ended()
        self._app.refresh_place()
        error = _first_error(found)
        if error is not None:
            self._app.tell(t("The probe found: {reason}", reason=error.message), "error")
        elif then is not None:
            then()
        else:
            self._app.tell(_passed(made, _first_error(session.verdict.on_box)))

    def _ask(self, session: Session, smoke: bool) -> None:
        """A warning is asked about first."""
        from prl_tui.core import words
        from prl_tui.tui.screens.dialogs import Question

        warnings = [finding for finding in session.verdict.here if finding.severity == "warning"]
        if not warnings:
            self._start(session, smoke)
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self._start(session, smoke)

        details = "\n".join(f"{words.GLYPHS[finding.severity]} {finding.message}" for finding in warnings)
        self._app.push_screen(Question(t("Launch all the same?"), t("launch"), t("not now"), details), answered)

    def _start(self, session: Session, smoke: bool) -> None:
        if self._starting:
            self._app.tell(t("A run is being started already."))
            return
        self._starting = True
        plan, steps = session.verdict.plan, session.verdict.report.steps
        total = steps.logged if steps is not None else None
        config, report, facts = session.config, session.verdict.report, session.verdict.facts

        def note(sentence: str) -> None:
            self._app.call_later(self._app.tell, sentence, "warning")

        def work() -> None:
            from prl_tui.runs import launcher, plans

            try:
                gpus = facts.gpus or () if facts is not None else ()
                job = (
                    _short(report, facts, note)
                    if smoke and facts is not None
                    else plans.job(plan, paths.here(), total=total, gpus=gpus)
                )
                folder = launcher.start(paths.runs_dir(), job, note)
            except launcher.LaunchError as error:
                self._app.call_later(self._app.tell, error.sentence, "error")
                return
            except OSError as error:
                told = t("Not launched: {reason}", reason=reasons.of_file(error))
                self._app.call_later(self._app.tell, told, "error")
                return
            finally:
                self._starting = False
            if not smoke:  # its record has the short lengths; only one that passes gives the full ones back
                session.keep(config, folder.path)
            self._app.runs_text = ""  # the new run may not have it, and is looked for in the list
            self._app.call_later(self._app.open_run, folder)

        self._app.beside.do("launch", work, finishes=True)


def _first_error(found: Iterable[Finding]) -> Finding | None:
    return next((finding for finding in found if finding.severity == "error"), None)


def _passed(made: Probe, left: Finding | None) -> str:
    """What a probe without errors says; `left`: what stands against a launch on this box all the same."""
    if left is None:
        return t("The probe found nothing against a launch.")
    if not made.gpus:
        return t(
            "Imports and command are fine as far as they can be tried without a GPU. {reason}", reason=left.message
        )
    return t("Imports and command are fine, and a launch here is not possible yet. {reason}", reason=left.message)


def _short(report: Report, facts: Facts, note: Callable[[str], None]) -> Job:
    """The job of a smoke test; its own log says how long it is. `note` is told where it is not as the full run is."""
    from prl_tui.runs import plans
    from prl_tui.runs import smoke as smokes

    config, wanted = smokes.prepare(report, facts, SMOKE_STEPS, paths.here())
    if wanted.anew:
        note(smokes.anew_words(wanted))
    return plans.job(build(config), paths.here(), more={smokes.KEY: smokes.record(wanted)}, gpus=facts.gpus or ())


def _run(plan: LaunchPlan, made: Probe, stack: Stack) -> tuple[Finding, ...]:
    from prl_tui.core import trial as trials
    from prl_tui.runs import trial

    def tell(step: str) -> None:
        made.step = step

    tried = trial.run(plan, paths.here(), on_step=tell, cancelled=made.cancelled, gpus=made.gpus)
    return trials.findings(made.config, tried, stack)
