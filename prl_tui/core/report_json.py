"""A verdict as plain data: the contract of `check --json`."""

from __future__ import annotations

from typing import Any

from prl_tui.core.findings import Finding, Report


def as_data(report: Report) -> dict[str, Any]:
    """The verdict in the shape that scripts rely on."""
    numbers = report.batch
    config = report.config
    devices = report.devices
    nnodes = config.number("nnodes") if "nnodes" in config.settings else 1
    per_step = numbers.prompts_per_step
    return {
        "ok": report.ok,
        "recipe": config.recipe.name,
        "preset": config.preset or None,
        "stack": report.stack.name,
        "devices": {
            "spec": devices.spec,
            "listed": "all" if devices.listed is None else devices.listed,
            "usable": devices.usable,
        },
        "batch": {
            "rule": numbers.rule,
            "nproc_per_node": config.number("nproc_per_node"),
            "nnodes": nnodes or 1,
            "per_device": numbers.per_device,
            "accumulation": numbers.accumulation,
            "global_batch": numbers.global_batch,
            "generation_batch": numbers.generation_batch,
            "prompts_per_step": int(per_step) if per_step is not None and per_step == int(per_step) else per_step,
            "valid_num_generations": list(numbers.valid_generations) if numbers.rule == "grpo" else None,
            "formula": numbers.formula,
        },
        "steps": _steps(report),
        "findings": [_finding(finding) for finding in report.findings],
    }


def _steps(report: Report) -> dict[str, Any] | None:
    steps = report.steps
    if steps is None:
        return None
    return {
        "rows": steps.rows,
        "per_epoch": steps.per_epoch,
        "total": steps.total,
        "saves": steps.saves,
        "evaluations": steps.evaluations,
        "generations_per_step": steps.generations_per_step,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": finding.severity,
        "field": finding.field,
        "message": finding.message,
        "why": finding.why,
        "fixes": [{"set": dict(fix.changes), "label": fix.label} for fix in finding.fixes],
    }
