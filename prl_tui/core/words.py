"""A verdict in words: the lines that a person reads under the form and in the terminal."""

from __future__ import annotations

from prl_tui.core.findings import Finding, Fix, Report
from prl_tui.core.values import decimal
from prl_tui.i18n import nt, t

GLYPHS = {"error": "✗", "warning": "!", "note": "·"}


def arithmetic(report: Report) -> list[str]:
    """The batch arithmetic in words and numbers."""
    batch = report.batch
    lines = []
    if batch.rule == "grpo":
        if batch.formula:
            lines.append(
                t(
                    "{formula} {n:completion|completions} in a generation batch",
                    formula=batch.formula,
                    n=batch.generation_batch,
                )
            )
        if batch.global_batch is not None and batch.prompts_per_step:
            lines.append(
                t(
                    "{batch} {batch:completion|completions} from {prompts} {prompts:prompt|prompts} in an optimizer step",
                    batch=f"{batch.global_batch:,}",
                    prompts=_plain(batch.prompts_per_step),
                )
            )
    elif batch.formula:
        if batch.rule == "global" and batch.accumulation is None:
            return [t("{formula} passes before each update: no whole number", formula=batch.formula)]
        lines.append(
            t("{formula} {n:sample|samples} in an optimizer step", formula=batch.formula, n=batch.global_batch)
        )
        if batch.rule == "global" and batch.accumulation and batch.accumulation > 1:
            lines.append(t("accumulation {n}: that many passes before each update", n=batch.accumulation))
    return lines


def length(report: Report) -> str:
    """How long the run is, or "" where nothing is known."""
    steps = report.steps
    if steps is None:
        return ""
    if steps.total is None:
        each = steps.per_epoch
        return "" if each is None else nt("{each} step an epoch", "{each} steps an epoch", each, each=f"{each:,}")
    if steps.per_epoch is None:
        return nt("{total} step", "{total} steps", steps.total, total=f"{steps.total:,}")
    figures = {"total": f"{steps.total:,}", "each": f"{steps.per_epoch:,}"}
    return nt("{total} step, {each} an epoch", "{total} steps, {each} an epoch", steps.total, **figures)


def on_the_way(report: Report) -> str:
    """Checkpoints and evaluations before the end, or "" where nothing is known."""
    steps = report.steps
    if steps is None or steps.saves is None:
        return ""
    saves = nt("{count} checkpoint", "{count} checkpoints", steps.saves, count=f"{steps.saves:,}")
    if steps.evaluations is None:
        return t("{saves} on the way", saves=saves)
    tests = nt("{count} evaluation", "{count} evaluations", steps.evaluations, count=f"{steps.evaluations:,}")
    return t("{saves} and {evaluations} on the way", saves=saves, evaluations=tests)


def verdict(report: Report) -> str:
    """`✗ 1 error  ! 1 warning`, or `✓ ready`."""
    parts = []
    errors, warnings = report.count("error"), report.count("warning")
    if errors:
        parts.append("✗ " + nt("{n} error", "{n} errors", errors))
    if warnings:
        parts.append("! " + nt("{n} warning", "{n} warnings", warnings))
    return "  ".join(parts) if parts else "✓ " + t("no errors")


def findings(report: Report) -> list[str]:
    """The findings, each with its own ways out and why, unless one before it has the same reason.

    Ways out that mend several errors at once stand once, at the end.
    """
    shared = _shared(report)
    lines: list[str] = []
    reasons: set[str] = set()
    for finding in report.findings:
        lines.append(f"{GLYPHS[finding.severity]} {finding.message}")
        if finding.why and finding.why not in reasons:
            reasons.add(finding.why)
            lines.append(f"    {finding.why}")
        own = _own(report, finding, shared) if shared and finding.fixes == shared else finding.fixes
        if own:
            lines.append("    " + t("way out: {fixes}", fixes=_alternatives(own)))
    return [*lines, *_shared_lines(report, shared)]


def _shared(report: Report) -> tuple[Fix, ...]:
    """The ways out that several errors have in common: a search that mends all of them finds them."""
    found = [finding.fixes for finding in report.findings if finding.severity == "error" and finding.fixes]
    return next((fixes for fixes in found if found.count(fixes) > 1), ())


def _own(report: Report, finding: Finding, shared: tuple[Fix, ...]) -> tuple[Fix, ...]:
    """What every shared way out does to the error's own field, where it does more besides."""
    from prl_tui.core.fixes import as_fix

    key = finding.field
    values = [fix.changes[key] for fix in shared if key in fix.changes]
    if len(values) < len(shared) or any(value != values[0] for value in values) or len(shared[0].changes) == 1:
        return ()
    return (as_fix(report.config, {key: values[0]}),)


def _shared_lines(report: Report, shared: tuple[Fix, ...]) -> list[str]:
    if not shared:
        return []
    mended = sum(finding.fixes == shared for finding in report.findings)
    if mended == report.count("error"):
        head = t("ways out, each mends all of them:") if len(shared) > 1 else t("way out, which mends all of them:")
    else:
        head = t("ways out, each mends {n} of the errors:", n=mended)
    return [head, *(f"    {_with_words(fix)}" for fix in shared)]


def _alternatives(fixes: tuple[Fix, ...]) -> str:
    """Fixes in one line, each with the words that make it on a command line."""
    first, *rest = map(_with_words, fixes)
    return t("{first}, or {rest}", first=first, rest=t(", or ").join(rest)) if rest else first


def _with_words(fix: Fix) -> str:
    return t("{label} ({words})", label=fix.label, words=_typed(fix))


def _typed(fix: Fix) -> str:
    """`--set num_generations=2`."""
    from shlex import join

    words: list[str] = []
    for key, value in fix.changes.items():
        words += ["--unset", key] if value is None else ["--set", f"{key}={_word(value)}"]
    return join(words)


def _word(value: object) -> str:
    from shlex import join

    if isinstance(value, (list, tuple)):
        return join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return decimal(value) if isinstance(value, float) else str(value)


def _plain(value: float) -> str:
    return f"{int(value):,}" if float(value).is_integer() else f"{value:.2f}"
