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
            lines.append(t("{formula} completions in a generation batch", formula=batch.formula))
        if batch.global_batch is not None and batch.prompts_per_step:
            lines.append(
                nt(
                    "{batch} completions from {prompts} prompt in an optimizer step",
                    "{batch} completions from {prompts} prompts in an optimizer step",
                    1 if batch.prompts_per_step == 1 else 2,
                    batch=f"{batch.global_batch:,}",
                    prompts=_plain(batch.prompts_per_step),
                )
            )
    elif batch.formula:
        if batch.rule == "global" and batch.accumulation is None:
            return [t("{formula} passes before each update: no whole number", formula=batch.formula)]
        lines.append(t("{formula} samples in an optimizer step", formula=batch.formula))
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


def ways_out(finding: Finding) -> str:
    """The fixes in one line, each with the words that make it on a command line, or ""."""
    if not finding.fixes:
        return ""
    first, *rest = (f"{fix.label} ({_typed(fix)})" for fix in finding.fixes)
    return t("{first}, or {rest}", first=first, rest=t(", or ").join(rest)) if rest else first


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
