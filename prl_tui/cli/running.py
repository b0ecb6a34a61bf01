"""launch, runs, stop: the life of a run from the command line."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from prl_tui import reasons
from prl_tui.cli import box, sources
from prl_tui.cli.exits import CommandError, Exit
from prl_tui.cli.streams import OutputLostError, drop_stdout, print_json, write_exact
from prl_tui.core import checks
from prl_tui.core import plan as launch_plans
from prl_tui.core.findings import GpuUse, Report
from prl_tui.i18n import column, cut, nt, t, visible
from prl_tui.lists import sentence
from prl_tui.machine import paths
from prl_tui.runs import adrift, launcher, plans, store
from prl_tui.runs import stop as stopping
from prl_tui.runs.folder import RunFolder

if TYPE_CHECKING:
    from prl_tui.machine.sampler_child import SamplerChild
    from prl_tui.runs.ahead import Ahead
    from prl_tui.runs.overview import Overview


def launch(args: argparse.Namespace, asked: SamplerChild | None = None, ahead: Ahead | None = None) -> int:
    """`prl-tui launch SOURCE`: check for this box, then start.

    `asked`: who is looking at the GPUs already; `ahead`: a supervisor that waits for its run.
    """
    if args.promote:
        from prl_tui.cli import smoking

        smoking.may_promote(args)
    config, stack = sources.load(args), sources.stack(args)
    more: dict[str, object] = {}
    if args.promote or args.smoke is not None:
        from prl_tui.cli import smoking

        config, more = smoking.prepare(args, config)
    facts = box.facts_here(config, use_env=args.use_env, share=args.share_gpus, asked=asked, paced=False)
    report = checks.check(config, facts, stack)
    if report.steps is not None and report.steps.total is not None:  # else nobody asks for the time that they take
        facts = box.with_pace(facts, config)
        report = checks.check(config, facts, stack)
    checked = report
    if report.ok and not (args.share_gpus or args.dry_run) and _is_busy(report):
        _tell(report)
        print(t("Not launched. --share-gpus launches beside what runs there."), file=sys.stderr)
        return Exit.FINDINGS
    if not (args.no_probe or args.dry_run):
        from prl_tui.cli import probing

        report = probing.probed(report)
    if not report.ok:
        _tell(report)
        if checked.ok:
            print(t("Not launched. --no-probe launches without asking the training environment."), file=sys.stderr)
        return Exit.FINDINGS
    for finding in report.findings:
        print(f"{'!' if finding.severity == 'warning' else '·'} {visible(finding.message)}", file=sys.stderr)
    if args.dry_run:
        return _dry_run(report)
    job = job_of(report, more, facts.gpus or (), args.share_gpus)
    if args.foreground:
        return foreground(job, args.json, ahead)
    folder = begin(job, ahead)
    if args.json:
        print_json({"id": folder.id, "folder": str(folder.path)}, None)
        return Exit.OK
    if args.detach:
        print(folder.id)
        print(t("watch it with: prl-tui watch {id}", id=folder.id), file=sys.stderr)
        return Exit.OK
    from prl_tui.cli import watching

    return watching.follow(folder, plain=not sys.stdout.isatty())


def _tell(report: Report) -> None:
    from prl_tui.cli import settings

    print("\n".join(settings.lines(report)), file=sys.stderr)


def _is_busy(report: Report) -> bool:
    """Somebody uses a GPU that the launch would take: it would fail there, or make theirs fail."""
    return any(finding.code == "gpu-busy" for finding in report.findings)


def job_of(
    report: Report, more: dict[str, object] | None = None, gpus: Iterable[GpuUse] = (), share: bool = False
) -> launcher.Job:
    """The job of a checked config, or CommandError with the reason that it cannot start here; `more` for its record.

    `gpus` are this box's, of which it reserves its own, unless it shall `share` them.
    """
    try:
        total = report.steps.logged if report.steps is not None else None
        return plans.job(
            launch_plans.build(report.config), paths.here(), total=total, more=more, gpus=gpus, share=share
        )
    except launcher.LaunchError as error:
        raise CommandError(error.sentence, Exit.IMPOSSIBLE) from None


def _note(told: str) -> None:
    print(f"! {told}", file=sys.stderr)


def begin(job: launcher.Job, ahead: Ahead | None = None) -> RunFolder:
    """Start a job; CommandError with the reason when that is impossible."""
    try:
        return launcher.start(paths.runs_dir(), job, _note, ahead)
    except launcher.LaunchError as error:
        raise CommandError(error.sentence, Exit.IMPOSSIBLE) from None


def foreground(job: launcher.Job, as_json: bool = False, ahead: Ahead | None = None) -> int:
    """Start a job and stay: its output on stdout, its exit code as ours; 128 + n where signal n to us stopped it.

    `as_json`: stdout gets how it ended instead, as in `runs --json`, and stderr its output.
    """
    lost: list[str] = []

    def show(data: bytes) -> None:
        if lost:
            return
        try:
            write_exact(data, 2 if as_json else 1)
        except (BrokenPipeError, OutputLostError) as error:  # the run goes on, and its code is still ours
            lost.append(str(error))
            if not as_json:
                drop_stdout()
            if isinstance(error, OutputLostError):
                print(t("the output cannot be written: {reason}.", reason=error), file=sys.stderr)

    def told(folder: RunFolder) -> None:
        print(t("run {id} in {path}", id=folder.id, path=folder.path), file=sys.stderr)
        from prl_tui.cli import failing, watching  # noqa: F401  (what its end needs is imported while it starts)
        from prl_tui.core import shape  # noqa: F401

    stopped: list[int] = []

    def interrupted(folder: RunFolder) -> launcher.Answer:
        return _ask_on_interrupt(folder) if sys.stdin.isatty() else "stop"

    try:
        folder, code = launcher.run_foreground(
            paths.runs_dir(),
            job,
            on_start=told,
            on_output=show,
            on_interrupt=interrupted,
            on_stop=stopped.append,
            on_note=_note,
            ahead=ahead,
        )
    except launcher.LaunchError as error:
        raise CommandError(error.sentence, Exit.IMPOSSIBLE) from None
    from prl_tui.cli import failing, watching
    from prl_tui.runs import overview

    if code is None:
        watching.tell_alive(folder)
        if as_json:
            print_json({"id": folder.id, "folder": str(folder.path)}, None)
        return Exit.OK
    one = overview.overview(folder)
    if stopped and one.status.stopped_by_person:  # whatever code the engine gives then: torchrun's is 1
        code = 128 + stopped[0]
    elif one.smoke is not None:
        code = Exit.OK if one.smoke.passed else code or Exit.FINDINGS
    watching.tell_end(one)
    if as_json:
        print_json({**overview.as_data(one), "code": int(code), "cause": failing.as_data(one)}, None)
    return code


def _ask_on_interrupt(folder: RunFolder) -> launcher.Answer:
    try:
        print(t("\nrun {id}: [g]o on, [d]etach or [s]top? ", id=folder.id), end="", file=sys.stderr, flush=True)
        answer = sys.stdin.readline().strip().lower()
    except KeyboardInterrupt:
        return "stop"
    return {"s": "stop", "d": "detach"}.get(answer[:1], "go-on")  # type: ignore[return-value]


def _dry_run(report: Report) -> int:
    from prl_tui.core import launch_port
    from prl_tui.export.formats import FORMATS

    plan = launch_plans.build(report.config)
    print(FORMATS["command"](plan).text, end="")
    if said := launch_port.words(plan):
        print(sentence(said), file=sys.stderr)
    return Exit.OK


def runs(args: argparse.Namespace) -> int:
    """`prl-tui runs`: newest first."""
    from prl_tui.runs import overview

    found = overview.overviews(paths.runs_dir(), args.n)
    if args.json:
        print_json([overview.as_data(one) for one in found])
        return Exit.OK
    if not found:
        print(t("There are no runs yet"), file=sys.stderr)
    columns = [
        column([cut(visible(word(one)), LONGEST) for one in found])
        for word in (overview.status_word, _began, overview.took, lambda one: one.what)
    ]
    for one, *words in zip(found, *columns, strict=True):
        told = " · ".join(
            visible(part) for part in (overview.progress_words(one), overview.reason_or_code(one)) if part
        )
        print("  ".join((one.id, *words, told)).rstrip())
    return Exit.OK


LONGEST = 40
"""Cells of a column at most: one long name does not move the others off the screen."""


def _began(one: Overview) -> str:
    return time.strftime("%m-%d %H:%M", time.localtime(one.created)) if one.created else "–"


def find(name: str) -> RunFolder:
    """The run of that name, or CommandError with exit code 3."""
    folder = store.find(paths.runs_dir(), name)
    if not isinstance(folder, RunFolder):
        raise CommandError(sentence(folder.sentence), Exit.NO_RUN)
    return folder


def _to_stop(name: str) -> RunFolder:
    """A run by its name, also one that goes on though its folder was deleted."""
    known = store.find(paths.runs_dir(), name)
    if isinstance(known, store.NoRun) and (wanted := name.strip().lower()):
        found = [one for one in adrift.find(paths.runs_dir()) if one.id.lower().startswith(wanted)]
        if len(found) == 1:
            return found[0]
    return find(name)


def unreadable(problem: OSError, name: str) -> str:
    """One sentence for a log or folder that cannot be read; `name`: as it was given."""
    path = visible(str(problem.filename or name))
    if isinstance(problem, PermissionError):
        return t("{path}: no permission to read it.", path=path)
    return t("{path} cannot be read: {reason}.", path=path, reason=reasons.of(problem))


def stop(args: argparse.Namespace) -> int:
    """`prl-tui stop RUN`: done only when nothing of it is left."""
    from prl_tui.runs import errand

    folder = _to_stop(args.run)

    def told() -> None:
        print(t("The stop of run {id} goes on without you.", id=folder.id), file=sys.stderr)

    with errand.handed_over("stop", [folder], told):  # a supervisor would go on by itself
        return _stop(args, folder)


def _stop(args: argparse.Namespace, folder: RunFolder) -> int:
    result = stopping.stop(folder, by="prl-tui stop")
    if result.code != "ended":  # that is said below
        print(result.sentence, file=sys.stderr)
    if result.refused:
        return Exit.IMPOSSIBLE
    grace = stopping.Grace()
    deadline = time.monotonic() + grace.total + 30
    before = -1
    while result.code == "asked" and not stopping.wait(folder, 1.0):
        left = len(stopping.progress(folder))
        if left != before:
            print(nt("{n} process left", "{n} processes left", left), file=sys.stderr)
            before = left
        if (taken := stopping.take_over(folder, by="prl-tui stop")) is not None:
            result = taken
            if result.refused:
                raise CommandError(f"{result.sentence}.", Exit.IMPOSSIBLE)
            continue
        if left == 0 and not adrift.is_gone(folder) and not os.access(folder.path, os.W_OK):
            raise CommandError(
                t(
                    "nothing of run {id} lives any more, but its end cannot be written down in {path}.",
                    id=folder.id,
                    path=folder.path,
                ),
                Exit.IMPOSSIBLE,
            )
        if time.monotonic() > deadline:
            raise CommandError(t("run {id} is still there; see `prl-tui runs`.", id=folder.id), Exit.IMPOSSIBLE)
    if args.json:
        print_json({"id": folder.id, "result": "stopped" if result.code == "asked" else result.code}, None)
    else:
        told = (
            t("run {id} had ended before")
            if result.code == "ended"
            else t("run {id} is stopped; no process of it is left")
        )
        print(told.format(id=folder.id))
    return Exit.OK
