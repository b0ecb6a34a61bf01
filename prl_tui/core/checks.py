"""Run config and facts in, verdict out."""

from __future__ import annotations

from prl_tui.core import advice, assess, engine, flags
from prl_tui.core import steps as lengths
from prl_tui.core.assess import Assessment
from prl_tui.core.batch import Batch, Violation
from prl_tui.core.config import RunConfig
from prl_tui.core.findings import ORDER, Facts, Finding, Fix, Report
from prl_tui.core.recipe import Field
from prl_tui.core.stacks import Stack
from prl_tui.core.steps import Schedule
from prl_tui.i18n import nt, t

_NOTHING = Facts()


def check(config: RunConfig, facts: Facts = _NOTHING, stack_name: str = "") -> Report:
    """The verdict on a config: the figures and every finding, worst first."""
    stack = assess.stack_of(config, stack_name, facts.stack)
    case = assess.case(config, stack, facts.node_gpus, _val_rows(config, stack, facts))
    found = assess.assess(case)
    schedule = _schedule(config)
    length = lengths.estimate(
        case.rule, stack, found.numbers, found.batch, schedule, _train_rows(config, stack, facts.rows)
    )
    named = {config.recipe.part(violation.part) for violation in found.violations}
    findings = [_bad_value(config, field) for field in config.recipe.fields if _is_bad(config, field, named)]
    findings += _broken_rules(config, stack, case, found)
    findings += engine.dialect(config, stack, facts)
    findings += flags.findings(config, facts)
    findings += advice.too_few_rows(stack, found, _train_rows(config, stack, facts.rows))
    findings += advice.length(schedule, length, facts)
    findings += advice.evaluator(config, found.batch)
    if config.preset:
        findings += advice.learning_rate(config, found.batch, figures(config.baseline(), stack.name))
    findings += advice.environment(config, facts)
    findings += _machine(config, facts)
    findings.sort(key=lambda finding: ORDER[finding.severity])
    return Report(config, stack, found.devices, found.batch, length, tuple(findings), facts.environment)


def _is_bad(config: RunConfig, field: Field, named: set[str]) -> bool:
    """A wrong value that no broken rule speaks of already."""
    setting = config.settings[field.key]
    return bool(setting.problem) and not (setting.value is not None and field.key in named)


def _bad_value(config: RunConfig, field: Field) -> Finding:
    from prl_tui.core import values

    setting = config.settings[field.key]
    base = config.baseline().settings[field.key]
    fix: tuple[Fix, ...] = ()
    if not base.problem and base.value is not None:
        old = setting.text if setting.text else "–"
        label = t("{label} {old} → {new}", label=field.label, old=values.quote(old), new=base.text)
        fix = (Fix({field.key: base.value}, label),)
    code = "out-of-range" if setting.value is not None else "bad-value" if setting.text else "missing-value"
    return Finding(code, "error", field.key, setting.problem, str(field.help), fix)


def _broken_rules(config: RunConfig, stack: Stack, case: assess.Case, found: Assessment) -> list[Finding]:
    if not found.violations:
        return []
    from prl_tui.core import fixes  # a sound config never pays for the search

    ways_out = fixes.search(config, case, found)
    return [_finding(config, stack, violation, ways_out) for violation in found.violations]


def _finding(config: RunConfig, stack: Stack, violation: Violation, ways_out: tuple[Fix, ...]) -> Finding:
    from prl_tui.core import explain

    return Finding(
        violation.code,
        "error" if violation.severity == "error" else "warning",
        config.recipe.part(violation.part),
        explain.what(violation),
        explain.why(violation, stack),
        ways_out if violation.severity == "error" else (),
    )


def _schedule(config: RunConfig) -> Schedule:
    def number(key: str) -> int | None:
        return config.number(key) if key in config.recipe.by_key else None

    epochs = next(
        (config.value(key) for key in ("num_train_epochs", "num_epochs", "epochs") if key in config.recipe.by_key),
        None,
    )
    if config.recipe.data.batch.rule == "grpo" and epochs is None:
        epochs = 3  # transformers' own default
    iterations = number("num_iterations") or 1
    return Schedule(epochs, number("max_steps"), iterations, number("save_steps"), number("eval_steps"))


def _train_rows(config: RunConfig, stack: Stack, rows: int | None) -> int | None:
    """The rows that are left to train on when a share of them is split off for evaluation."""
    ratio = config.value("split_dataset_ratio") if "split_dataset_ratio" in config.settings else None
    strategy = config.value("eval_strategy") if "eval_strategy" in config.settings else None
    if ratio is None and stack.default_split and strategy != "no":
        ratio = 0.01
    if rows is None or not ratio or ("val_dataset" in config.settings and config.value("val_dataset")):
        return rows
    return rows - int(rows * ratio)


def _val_rows(config: RunConfig, stack: Stack, facts: Facts) -> int | None:
    """The rows of the validation data: its own, or those that are split off the training data."""
    train = _train_rows(config, stack, facts.rows)
    if facts.val_rows is not None or facts.rows is None or train == facts.rows:
        return facts.val_rows
    return facts.rows - (train or 0)


def _machine(config: RunConfig, facts: Facts) -> list[Finding]:
    found = []
    if facts.port_owner is not None:
        found.append(
            Finding(
                "port-taken", "error", "master_port",
                t("Port {port} is taken by {owner}.", port=config.text("master_port"), owner=facts.port_owner),
                t("Two jobs cannot meet at one port."),
                (Fix({"master_port": None}, t("use a free port")),),
            )
        )  # fmt: skip
    found += engine.place(config, facts)
    for path in facts.missing_files:
        found.append(Finding("file-missing", "error", "", t("{path} does not exist.", path=path)))
    if facts.gpus is not None:
        found += _busy(config, facts)
        found += engine.vllm_share(config, facts)
    return found


def _busy(config: RunConfig, facts: Facts) -> list[Finding]:
    """GPUs of this box that somebody uses already."""
    spec = config.value("cuda_visible_devices")
    busy = [gpu for gpu in engine.chosen(facts.gpus or (), spec) if gpu.busy_with]
    if not busy:
        return []
    names = ", ".join(f"{gpu.index} ({gpu.busy_with})" for gpu in busy)
    free = [str(gpu.index) for gpu in facts.gpus or () if not gpu.busy_with]
    need = config.number("nproc_per_node") or 1
    fix: tuple[Fix, ...] = ()
    if len(free) >= need:
        new = ",".join(free[:need])
        fix = (Fix({"cuda_visible_devices": new}, t("use GPU {gpus}", gpus=new)),)
    message = nt("GPU {names} is in use.", "GPUs {names} are in use.", len(busy), names=names)
    return [Finding("gpu-busy", "warning", "cuda_visible_devices", message, "", fix)]


def figures(config: RunConfig, stack_name: str = "") -> Batch:
    """The batch of a config alone, without looking for fixes."""
    stack = assess.stack_of(config, stack_name)
    return assess.assess(assess.case(config, stack, None)).batch
