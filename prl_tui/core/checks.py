"""Run config and facts in, verdict out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from typing import Any

from prl_tui.core import advice, assess, engine, flags, hub_paths, missing, needs, splits, strategies, wandb, wordlist
from prl_tui.core import steps as lengths
from prl_tui.core.assess import Assessment
from prl_tui.core.batch import Batch
from prl_tui.core.config import RunConfig, Source
from prl_tui.core.findings import ORDER, Facts, Finding, Fix, GpuUse, Report
from prl_tui.core.stacks import Stack
from prl_tui.core.steps import Schedule
from prl_tui.core.value import replace
from prl_tui.i18n import nt, t
from prl_tui.lists import listed

_NOTHING = Facts()


def check(config: RunConfig, facts: Facts = _NOTHING, stack_name: str = "") -> Report:
    """The verdict on a config: the figures and every finding, worst first."""
    report = _report(config, facts, stack_name, ways_out=True)
    return replace(report, findings=_sound(report, facts, stack_name))


def broken(config: RunConfig) -> frozenset[tuple[str, str]]:
    """Code and field of every error and warning that a config has by itself; nobody looks for ways out."""
    found = _report(config, _NOTHING, "", ways_out=False).findings
    return frozenset((finding.code, finding.field) for finding in found if finding.severity != "note")


def _sound(report: Report, facts: Facts, stack_name: str) -> tuple[Finding, ...]:
    """The findings without the fixes that would make an error that is not there now, whatever they mend."""
    if not any(finding.fixes for finding in report.findings):
        return report.findings
    asked = needs.codes(report.config.recipe)
    now = _errors(report, asked)
    known: list[tuple[Fix, bool]] = []  # several findings share a way out

    def sound(fix: Fix) -> bool:
        for other, verdict in known:
            if other.changes == fix.changes:
                return verdict
        changed = report.config.with_values(fix.changes, Source.FIX)
        made = _errors(_report(changed, facts, stack_name, ways_out=False, advised=False), asked) - now
        if any(map(report.config.wrong, fix.changes)):  # what a value needs is told only once it can be read
            made = {error for error in made if error[0] not in asked}
        verdict = not made
        known.append((fix, verdict))
        return verdict

    return tuple(
        replace(finding, fixes=tuple(fix for fix in finding.fixes if sound(fix))) if finding.fixes else finding
        for finding in report.findings
    )


def _errors(report: Report, asked: Set[str]) -> set[tuple[str, str, str]]:
    """The errors, each once; of those with a code in `asked` several stand at one field, with a sentence each."""
    return {
        (finding.code, finding.field, finding.message if finding.code in asked else "")
        for finding in report.findings
        if finding.severity == "error"
    }


def _report(config: RunConfig, facts: Facts, stack_name: str, *, ways_out: bool, advised: bool = True) -> Report:
    """The verdict; without `ways_out` nobody looks for changes that would mend it, without `advised` for advice."""
    whole = facts
    stack = assess.stack_of(config, stack_name, facts.stack)
    seen, idle, written = _through_files(config, facts)
    nothing = splits.nothing_left(seen, stack, facts.rows)
    if nothing:  # nothing else is to be said of so many rows
        facts = replace(facts, rows=None)
    stack, case = _case(config, facts, stack_name)
    found = assess.told(case)
    heard = _without_problems(config, idle | written)
    findings = [*_bad_values(heard, case), *_broken_rules(config, stack, found), *_pairs(config, stack, facts)]
    if ways_out:
        findings = _with_ways_out(heard, facts, stack_name, findings)
    if nothing:
        findings.append(_with_shares(heard, whole, stack_name, nothing) if ways_out else nothing)
    if ways_out and any(broken.severity == "warning" for broken in found.violations):
        from prl_tui.core import exact

        findings = exact.with_ways_out(config, case, found, findings)
    if case.around is not None:
        from prl_tui.core import around

        findings = around.told(config, case, found, findings)
    findings += engine.versions(config, facts)
    picked = stack_name or (config.value("stack") if "stack" in config.settings else "")
    findings += flags.findings(config, facts, stack if picked else None, by_field=not stack_name)
    findings += needs.findings(config, config.recipe.data.needs)
    findings += wandb.findings(config, facts)
    findings += missing.addresses(config)
    findings += _reported(config)
    length = None
    if advised:
        schedule = _schedule(seen)
        rows = splits.train_rows(seen, stack, facts.rows)
        numbers = found.numbers
        if assess.numbers(case).generations == 1:  # wrong, and an engine that takes it makes steps of it
            numbers = replace(numbers, generations=1)
        length = _length(config, case, lengths.estimate(case.rule, stack, numbers, found.batch, schedule, rows))
        findings += _advice(config, facts, stack, case, found, schedule, length)
    findings += advice.program(config)
    if config.recipe.data.write:
        from prl_tui.core import given

        findings += given.findings(config, facts)
    findings += _machine(config, facts, case)
    findings.sort(key=lambda finding: ORDER[finding.severity])
    return Report(config, stack, found.devices, found.batch, length, tuple(findings), facts.environment)


def _advice(
    config: RunConfig,
    facts: Facts,
    stack: Stack,
    case: assess.Case,
    found: Assessment,
    schedule: Schedule,
    length: lengths.Steps | None,
) -> Iterator[Finding]:
    """What is said beside the rules: warnings and notes, never an error."""
    sound = not any(config.wrong(config.recipe.part(part)) for part in assess.PARTS)
    if sound:
        yield from advice.length(config, schedule, length, facts)
    yield from advice.late(config, length if sound else None, found.batch.world)
    if not found.errors and not case.unread and not case.wrong:
        yield from advice.rows(config, found.numbers, found.batch, length, facts)
    if sound:
        yield from advice.evaluator(config, found.batch)
    if config.preset and sound:
        yield from advice.learning_rate(config, found.batch, figures(config.baseline(), stack.name))
    yield from advice.left_out(config, stack)
    yield from advice.every_gpu(config, facts)
    yield from advice.beyond_known(config)
    yield from advice.environment(config, facts)


def _reported(config: RunConfig) -> Iterator[Finding]:
    if "arguments" in config.recipe.types and any(
        field.type == "arguments" and config.settings[field.key].value for field in config.recipe.fields
    ):
        from prl_tui.core import reporting

        yield from reporting.findings(config)


def _case(config: RunConfig, facts: Facts, stack_name: str) -> tuple[Stack, assess.Case]:
    stack = assess.stack_of(config, stack_name, facts.stack)
    seen, idle, _ = _through_files(config, facts)
    rows, val_rows = splits.train_rows(seen, stack, facts.rows), splits.val_rows(seen, stack, facts)
    case = assess.case(seen, stack, facts.node_gpus, rows, val_rows, idle, facts.node_uuids)
    if advice.VISIBLE in facts.inherited:
        from prl_tui.core import around

        case = around.on_node(case, config, facts)
    return stack, case


_NONE: frozenset[str] = frozenset()


def _through_files(config: RunConfig, facts: Facts) -> tuple[RunConfig, frozenset[str], frozenset[str]]:
    """The config as the program sees it, the fields that have no effect now, and those that name a written file."""
    if not config.recipe.data.write:
        return config, _NONE, _NONE
    from prl_tui.core import files, given

    return given.effective(config, facts), files.idle(config), files.replaced(config)


def _without_problems(config: RunConfig, keys: frozenset[str]) -> RunConfig:
    """The config as if nothing were wrong with fields that have no effect now."""
    wrong = {key: replace(config.settings[key], problem="") for key in keys if config.settings[key].problem}
    return replace(config, settings={**config.settings, **wrong}) if wrong else config


def _bad_values(config: RunConfig, case: assess.Case) -> Iterator[Finding]:
    """Values that are wrong by themselves, unless a rule that they break on any box speaks of the same field already."""
    wrong = [field for field in config.recipe.fields if config.settings[field.key].problem]
    if not wrong:
        return
    broken = assess.told(case.on_any_box()).violations
    named = {config.recipe.part(one.part) for one in broken if one.severity == "error"}
    for field in wrong:
        setting = config.settings[field.key]
        if setting.value is None or field.key not in named:
            code = "out-of-range" if setting.value is not None else "bad-value" if setting.text else "missing-value"
            yield Finding(code, "error", field.key, setting.problem, wordlist.about(field))


def _broken_rules(config: RunConfig, stack: Stack, found: Assessment) -> Iterator[Finding]:
    if found.violations:
        from prl_tui.core import explain
    for broken in found.violations:
        what, why = explain.what(broken), explain.why(broken, stack)
        yield Finding(broken.code, broken.severity, config.recipe.part(broken.part), what, why)


def _pairs(config: RunConfig, stack: Stack, facts: Facts) -> Iterator[Finding]:
    """Errors that know their own way out: flags that need each other, no pass over the data, a port that is taken."""
    yield from engine.dialect(config, stack)
    yield from needs.findings(config, needs.passes(config.recipe))
    port = config.value("master_port") if "master_port" in config.settings else None
    if facts.port_owner is not None and port is not None:
        message = t("Port {port} is taken by {owner}.", port=port, owner=facts.port_owner)
        fix = Fix({"master_port": None}, t("use a free port"))
        yield Finding("port-taken", "error", "master_port", message, t("Two jobs cannot use the same port."), (fix,))


def _with_ways_out(config: RunConfig, facts: Facts, stack_name: str, findings: list[Finding]) -> list[Finding]:
    """The errors with the changes that mend them all at once, and the rest as they are."""
    if not any(finding.severity == "error" for finding in findings):
        return findings
    from prl_tui.core import on_cpu  # a sound config never pays for the search

    without = any(finding.code == on_cpu.NO_GPU for finding in findings)
    # no change of fields gives a node a GPU: what mends the rest is offered all the same
    mended = _mended(config, replace(facts, node_gpus=None) if without else facts, stack_name, findings)
    return on_cpu.told(config, mended, _judge(facts, stack_name))


Judge = Callable[[RunConfig], tuple[assess.Case, dict[str, Any]]]


def _judge(facts: Facts, stack_name: str) -> Judge:
    def judge(changed: RunConfig) -> tuple[assess.Case, dict[str, Any]]:
        stack, case = _case(changed, facts, stack_name)
        asked = [pair.fixes[0].changes for pair in _pairs(changed, stack, facts) if pair.fixes]
        return case, {key: value for changes in asked for key, value in changes.items()}

    return judge


def _mended(config: RunConfig, facts: Facts, stack_name: str, findings: list[Finding]) -> list[Finding]:
    """The errors with changes that mend all of them but the node's want of GPUs."""
    from prl_tui.core import fixes, on_cpu

    errors = [finding for finding in findings if finding.severity == "error" and finding.code != on_cpu.NO_GPU]
    if not errors or (len(errors) == 1 and errors[0].fixes):
        return findings
    judge = _judge(facts, stack_name)
    found = fixes.search(config, judge)
    if any(error.code in splits.CODES for error in errors) and not any(len(fix.changes) == 1 for fix in found):
        stack = assess.stack_of(config, stack_name, facts.stack)
        shares = splits.ways_out(config, stack, lambda changed: not assess.assess(judge(changed)[0]).errors)
        found = (*shares, *found)[: fixes.MOST]
    return [replace(finding, fixes=found) if finding in errors else finding for finding in findings]


def _with_shares(config: RunConfig, facts: Facts, stack_name: str, nothing: Finding) -> Finding:
    """No row is left to train on: shares to split off with which there are some, and that break no other rule."""
    if nothing.field != splits.RATIO:
        return nothing
    stack, now = _case(config, replace(facts, rows=None), stack_name)
    errors = assess.assess(now).errors

    def works(changed: RunConfig) -> bool:
        stack, case = _case(changed, facts, stack_name)
        return splits.nothing_left(changed, stack, facts.rows) is None and assess.assess(case).errors <= errors

    return replace(nothing, fixes=splits.ways_out(config, stack, works))


def _length(config: RunConfig, case: assess.Case, found: lengths.Steps | None) -> lengths.Steps | None:
    """The length of the run as far as the values behind it can be read: a wrong one is not one that nobody set."""
    if (case.unread | case.wrong) & (assess.COUNTS | assess.TOTALS) or any(
        map(config.wrong, (*lengths.EPOCHS, "max_steps", "num_iterations"))
    ):
        return None
    unclear = (case.unread | case.wrong) & assess.EVALUATION or config.wrong("eval_steps")
    return replace(found, evaluations=None) if found is not None and unclear else found


def _schedule(config: RunConfig) -> Schedule:
    def number(key: str) -> int | None:
        return config.number(key) if key in config.recipe.by_key and not config.wrong(key) else None

    epochs = next(
        (config.value(key) for key in lengths.EPOCHS if key in config.recipe.by_key),
        None,
    )
    if config.recipe.data.batch.rule == "grpo" and epochs is None:
        epochs = 3  # transformers' own default
    iterations = number("num_iterations") or 1
    always = config.recipe.data.smoke.always_evaluates
    told = strategies.told(config)
    saved, evaluated = number("save_steps"), number("eval_steps")
    if strategies.SAVING in config.recipe.by_key:  # ms-swift evaluates as often as it saves
        evaluated = evaluated or saved
    by, at = strategies.saving(told), strategies.evaluating(told) or strategies.STEPS
    return Schedule(epochs, number("max_steps"), iterations, saved, evaluated, always, by, at)


def _machine(config: RunConfig, facts: Facts, case: assess.Case) -> list[Finding]:
    found = [*engine.place(config, facts), *missing.findings(config, facts), *_patterns(config, facts)]
    if facts.gpus is not None:
        found += _busy(config, facts, case)
        found += engine.vllm_share(config, facts, case.stack)
    return found


def _patterns(config: RunConfig, facts: Facts) -> Iterator[Finding]:
    """Which file a pattern stands for; the program needs exactly one."""
    for key, names in facts.found.items():
        pattern = config.text(key)
        if hub_paths.is_address(pattern):
            yield missing.no_file(key, pattern)
            continue
        if len(names) == 1:
            if names[0] != pattern:
                yield Finding(
                    "file-found", "note", key, t("{key}: {pattern} is {file}", key=key, pattern=pattern, file=names[0])
                )
            continue
        message = nt(
            "{key}: {pattern} matches {n} file, and one is needed.",
            "{key}: {pattern} matches {n} files, and one is needed.",
            len(names),
            key=key,
            pattern=pattern,
        )
        fixes = tuple(Fix({key: name}, t("take {file}", file=name)) for name in names[:4])
        yield Finding("file-pattern", "error", key, message, listed(names[:4]), fixes)


def _free(gpus: Iterable[GpuUse], *, slices: bool) -> list[str]:
    """What can be had instead, by its address: one MIG instance for an instance, else GPUs that are not cut into any."""
    gpus = [gpu for gpu in gpus if not gpu.fault]
    whole = [gpu for gpu in gpus if not gpu.slices]
    cut = [one for gpu in gpus for one in gpu.slices if not one.busy_with and not one.claimed_by] if slices else []
    return [one.address for one in cut[:1] or whole if not one.busy_with and not one.claimed_by]


def _busy(config: RunConfig, facts: Facts, case: assess.Case) -> list[Finding]:
    """GPUs of this box that do not work, that another run has reserved, or that somebody uses already."""
    if config.recipe.data.needs_gpu and not assess.needs_gpu(config):
        return []  # a run on the CPU takes none
    visible = facts.inherited.get(advice.VISIBLE)
    taken = engine.chosen(facts.gpus or (), engine.in_force(config, visible))
    wanted = engine.takes(config, facts.gpus or (), visible)
    unusable = [gpu for gpu in wanted if gpu.fault]
    claimed = [gpu for gpu in wanted if gpu.claimed_by]
    busy = [gpu for gpu in taken if gpu.busy_with and gpu not in claimed]
    if not busy and not claimed and not unusable:
        return []
    gpus = list(facts.gpus or ())
    if visible is not None:
        from prl_tui.core import around

        gpus = around.nearest(gpus, facts)
    free = _free(gpus, slices=bool(taken) and taken[0].slot is not None)
    errors = assess.assess(case).errors
    fix: tuple[Fix, ...] = ()
    for count in dict.fromkeys((config.number("nproc_per_node") or 1, len(taken))):
        new = ",".join(free[:count])
        if len(free) >= count and assess.assess(case.with_values({"cuda_visible_devices": new})).errors <= errors:
            fix = (Fix({"cuda_visible_devices": new}, t("use GPU {gpus}", gpus=new)),)
            break
    found = [Finding("gpu-unusable", "error", "cuda_visible_devices", f"{gpu.fault}.", "", fix) for gpu in unusable]
    if claimed:
        names = listed(t("{label} ({words})", label=gpu.name, words=gpu.claimed_by) for gpu in claimed)
        message = nt("GPU {names} is reserved.", "GPUs {names} are reserved.", len(claimed), names=names)
        why = t("Its memory may still look free: a run imports and loads for a while before it takes its cards.")
        found.append(Finding("gpu-claimed", "error", "cuda_visible_devices", message, why, fix))
    if busy:
        names = listed(t("{label} ({words})", label=gpu.name, words=gpu.busy_with) for gpu in busy)
        message = nt("GPU {names} is in use.", "GPUs {names} are in use.", len(busy), names=names)
        found.append(Finding("gpu-busy", "warning", "cuda_visible_devices", message, "", fix))
    return found


def figures(config: RunConfig, stack_name: str = "", facts: Facts | None = None) -> Batch:
    """The batch of a config alone, without looking for fixes; `facts` has the config files of the person's that are here."""
    stack = assess.stack_of(config, stack_name)
    return assess.told(assess.case(_through_files(config, facts or _NOTHING)[0], stack, None)).batch
