"""Findings beyond the rules: how long a run is, what it costs, what another batch asks of the learning rate."""

from __future__ import annotations

import math
from collections.abc import Iterator

from prl_tui.core import values
from prl_tui.core.batch import Batch, Numbers
from prl_tui.core.config import RunConfig, Source, find_key, nearest_override
from prl_tui.core.findings import Facts, Finding, Fix
from prl_tui.core.stacks import Stack
from prl_tui.core.steps import EPOCHS, Schedule, Steps
from prl_tui.core.templates import PLACE
from prl_tui.core.values import number
from prl_tui.i18n import mark, nt, t
from prl_tui.lists import listed

WEEK = 7 * 86400
SHORT = 300
"""Seconds below which nobody asks how long a run takes."""
VISIBLE = "CUDA_VISIBLE_DEVICES"


def length(config: RunConfig, schedule: Schedule, steps: Steps | None, facts: Facts) -> Iterator[Finding]:
    """What the length of the run means: time, and what it leaves behind if it dies."""
    yield from _unsaved(schedule, steps)
    total = steps.total if steps else None
    if total is None:
        return
    if schedule.saving == "steps" and schedule.save_steps and schedule.save_steps > total:
        message = nt(
            "The run ends after {total} step, with no save on the way: they come every {every}.",
            "The run ends after {total} steps, with no save on the way: they come every {every}.",
            total,
            total=f"{total:,}",
            every=schedule.save_steps,
        )
        why = t("A run that dies leaves nothing to resume from.")
        yield Finding("no-save-before-end", "warning", "save_steps", message, why)
    if facts.seconds_per_step is not None:
        yield from _time(config, total, facts.seconds_per_step, facts)


def _time(config: RunConfig, total: int, each: float, facts: Facts) -> Iterator[Finding]:
    """How long so many steps take at the pace of an earlier run; what differs there is named, for it may be another's pace."""
    seconds, other = total * each, _differs(config, facts.pace_differs)
    figures = {"total": f"{total:,}", "pace": f"{each:.3g}", "run": facts.pace_source, "settings": other}
    if seconds > WEEK:
        message = t(
            "About {weeks} weeks: {total} {total:step|steps} at {pace} s each.",
            weeks=f"{seconds / WEEK:.1f}",
            **figures,
        )
        why = (
            t("That is the pace of run {run}, which differs in {settings}. Fewer epochs, max_steps or more GPUs make it "
              "shorter.", **figures)
            if other
            else t("That is the pace of run {run}. Fewer epochs, max_steps or more GPUs make it shorter.", **figures)
        )  # fmt: skip
        yield Finding("takes-weeks", "warning", "max_steps", message, why)
    elif seconds >= SHORT:
        figures["time"] = span(seconds)
        message = (
            t("About {time} at the pace of run {run}, which differs in {settings}: {total} {total:step|steps} at {pace} s "
              "each.", **figures)
            if other
            else t("About {time}: {total} {total:step|steps} at {pace} s each, the pace of run {run}.", **figures)
        )  # fmt: skip
        yield Finding("takes-time", "note", "max_steps", message)


NAMED = 3
"""Settings that are named; the rest are counted."""


def _differs(config: RunConfig, keys: tuple[str, ...]) -> str:
    """The fields by their labels; "" for none."""
    names = [str(config.recipe.by_key[key].label) for key in keys if key in config.recipe.by_key]
    more = len(names) - NAMED
    if more > 0:
        names = [*names[:NAMED], nt("{n} more", "{n} more", more)]
    return listed(names)


def _unsaved(schedule: Schedule, steps: Steps | None) -> Iterator[Finding]:
    """Strategies that save nothing before the end, or nothing at all (transformers saves at the end by the strategy too)."""
    total, per_epoch = (steps.total, steps.per_epoch) if steps else (None, None)
    if schedule.saving == "no":
        message = t("save_strategy no: nothing is saved, at the end of the run neither.")
        yield Finding("saves-nothing", "warning", "save_strategy", message, t("The trained weights are lost."))
    elif schedule.saving == "epoch" and total is not None and per_epoch and total <= per_epoch:
        message = nt(
            "The run ends after {total} step, with no save on the way: they come with the end of an epoch.",
            "The run ends after {total} steps, with no save on the way: they come with the end of an epoch.",
            total,
            total=f"{total:,}",
        )
        why = t("A run that dies leaves nothing to resume from.")
        yield Finding("no-save-before-end", "warning", "save_strategy", message, why)


FAULTS = {"fail_step": "fail_rank", "hang_step": "hang_rank"}
"""A step at which something is played on purpose → the field that says for which rank."""
FIRST = 1
"""The step at which the demo plays it where nobody says when."""
_PLAYED = {
    "fail_step": mark("Rank {rank} raises an error at step {step}, on purpose: the run fails there."),
    "hang_step": mark("Rank {rank} stops answering at step {step}, on purpose: the others wait for it."),
}


def late(config: RunConfig, steps: Steps | None, world: int | None) -> Iterator[Finding]:
    """Steps at which something happens on purpose, and those that the run never comes to. `world`: all processes."""
    total = steps.total if steps else None
    for key, rank in FAULTS.items():
        if key not in config.settings or rank not in config.settings or config.wrong(key) or config.wrong(rank):
            continue
        step, played = config.number(key), config.number(rank)
        if step is None and played is None:
            continue
        if played is not None and (step is None or total is None or step <= total):
            if world is None or played < world:
                yield Finding("played", "note", rank, t(_PLAYED[key], rank=played, step=step or FIRST))
        elif config.value(rank) is None:
            message = t("{key} {step} does nothing while {rank} is not set.", key=key, step=step, rank=rank)
            yield Finding("step-without-rank", "warning", key, message)
        elif step is not None and total is not None and step > total:
            yield _never(config, key, step, total)
    warmup = config.number("warmup_steps") if "warmup_steps" in config.changed() else None
    warmup = None if config.wrong("warmup_steps") else warmup
    if total is not None and warmup is not None and total > 1 and warmup >= total:
        message = t(
            "The learning rate rises for {warmup} {warmup:step|steps}, and the run has {total}: it never reaches its peak.",
            warmup=f"{warmup:,}",
            total=f"{total:,}",
        )
        yield Finding("warmup-beyond-end", "warning", "warmup_steps", message)


def rows(config: RunConfig, numbers: Numbers, batch: Batch, steps: Steps | None, facts: Facts) -> Iterator[Finding]:
    """Why the rows of the data do not tell how long the run is, where they do not."""
    recipe = config.recipe
    if facts.rows is None or (steps is not None and steps.total is not None):
        return
    if steps is not None:
        key = next((key for key in EPOCHS if key in recipe.by_key), "")
        message = (
            t("How long the run will be cannot be said: {key} is not known.", key=key) if key
            else t("How long the run will be cannot be said: {recipe} has none of the fields {names}.",
                   recipe=recipe.name, names=listed((*EPOCHS, "max_steps")))
        )  # fmt: skip
        yield Finding("rows-without-epochs", "note", key, message)
        return
    parts = {"per_device_train_batch_size": batch.per_device, "nproc_per_node": batch.world}
    if batch.rule == "grpo":
        parts["num_generations"] = numbers.generations
    missing = [recipe.part(part) for part, value in parts.items() if value is None]
    if not missing:
        return
    message = t(
        "The {rows} {rows:row does|rows do} not tell the number of steps: {keys} is not known.",
        rows=f"{facts.rows:,}",
        keys=t(" and ").join(missing),
    )
    yield Finding("rows-without-batch", "note", next((key for key in missing if key in recipe.by_key), ""), message)


def _never(config: RunConfig, key: str, step: int, total: int) -> Finding:
    message = t("{key} {step} never comes: the run ends after step {total}.", key=key, step=step, total=total)
    label = config.recipe.by_key[key].label
    fix = Fix({key: total}, t("{label} {old} → {new}", label=label, old=step, new=total))
    return Finding("step-beyond-end", "warning", key, message, "", (fix,))


def span(seconds: float) -> str:
    """A length of time in words: `3.2 hours`."""
    if seconds < 5400:
        minutes = max(1, round(seconds / 60))
        return nt("{n} minute", "{n} minutes", minutes)
    if seconds < 2 * 86400:
        return t("{n} hours", n=f"{seconds / 3600:.1f}")
    return t("{n} days", n=f"{seconds / 86400:.1f}")


def evaluator(config: RunConfig, batch: Batch) -> Iterator[Finding]:
    """What scoring by a second model costs in each step."""
    key = config.recipe.data.batch.evaluator
    each = config.number(key) if key and not config.wrong(key) else None
    if each is None or batch.global_batch is None or min(each, batch.global_batch) < 1:
        return
    message = t(
        "Each step asks the evaluator for {batch} × {each} = {calls} {calls:answer|answers}.",
        batch=batch.global_batch,
        each=each,
        calls=f"{batch.global_batch * each:,}",
    )
    yield Finding("evaluator-cost", "note", key, message)


def left_out(config: RunConfig, stack: Stack) -> Iterator[Finding]:
    """Numbers of the batch that nobody gives: the verdict is for what the program takes then."""
    for field in config.recipe.fields:
        if field.key == "num_infer_workers" and not stack.infer_workers:
            continue  # later programs have no such number
        if field.unset is not None and config.value(field.key) is None and not config.wrong(field.key):
            message = t("{key} is not set: the program takes {value}.", key=field.key, value=field.unset)
            yield Finding("left-out", "note", field.key, message)


def every_gpu(config: RunConfig, facts: Facts) -> Iterator[Finding]:
    """An empty list of GPUs that a person gave: it sets no variable, where torch would read an empty one as no GPU."""
    key = "cuda_visible_devices"
    setting = config.settings.get(key)
    if setting is None or setting.source <= Source.PRESET or setting.value is not None or setting.problem:
        return
    around = facts.inherited.get(VISIBLE)
    message = (
        t("{key} is not set: the job sees all GPUs of its node.", key=key) if around is None
        else t("{key} is not set: the job keeps {name}={given}, which is set here.", key=key, name=VISIBLE, given=around)
    )  # fmt: skip
    why = t("Empty means not set, and exports no variable; -1 hides every GPU.")
    yield Finding("every-gpu", "note", key, message, why)


def beyond_known(config: RunConfig) -> Iterator[Finding]:
    """Values above what is known to work."""
    for field in config.recipe.fields:
        value = config.value(field.key) if field.worked is not None and not config.wrong(field.key) else None
        if field.worked is not None and isinstance(value, (int, float)) and value > field.worked:
            most = number(field.worked)
            message = t("{key}: {value} is more than is known to work, {most}.",
                        key=field.key, value=values.show(field, value), most=most)  # fmt: skip
            label = t("{label} {old} → {new}", label=field.label, old=config.text(field.key), new=most)
            fix = Fix({field.key: int(field.worked) if field.type == "int" else field.worked}, label)
            yield Finding("beyond-known", "warning", field.key, message, str(field.help), (fix,))


def learning_rate(config: RunConfig, now: Batch, before: Batch) -> Iterator[Finding]:
    """Linear and square-root scaling for a global batch that is not the preset's. Applied only when asked."""
    if (
        "learning_rate" not in config.settings
        or config.wrong("learning_rate")
        or min(now.global_batch or 0, before.global_batch or 0) < 1
    ):
        return
    base, rate = config.baseline().value("learning_rate"), config.value("learning_rate")
    if now.global_batch == before.global_batch or not base or base < 0 or rate != base:
        return
    ratio = (now.global_batch or 1) / (before.global_batch or 1)
    linear, root = float(f"{base * ratio:.3g}"), float(f"{base * math.sqrt(ratio):.3g}")
    message = t(
        "The global batch is {now} instead of {before}: linear scaling would give a learning rate of {linear}, square-root {root}.",
        now=now.global_batch,
        before=before.global_batch,
        linear=_rate(linear),
        root=_rate(root),
    )
    fixes = tuple(
        Fix(
            {"learning_rate": value},
            t("learning rate {old} → {new}", old=config.text("learning_rate"), new=_rate(value)),
        )
        for value in (linear, root)
        if not values.parse(config.recipe.by_key["learning_rate"], value)[1]
    )
    yield Finding("learning-rate-scaling", "note", "learning_rate", message, "", fixes)


def _rate(value: float) -> str:
    return number(value).replace("e-0", "e-")


def environment(config: RunConfig, facts: Facts) -> Iterator[Finding]:
    """Variables around the launch that do something else than they seem to."""
    yield from _unread(config, facts)
    for name, value in facts.inherited.items():
        if name != VISIBLE and _nearly_visible(name):
            message = t(
                "{name}={value} is set, and nothing reads it: {right} is the name.",
                name=name,
                value=value,
                right=VISIBLE,
            )
            yield Finding("environment-near-miss", "warning", "cuda_visible_devices", message)
    yield from _replaced(config, facts)


def _replaced(config: RunConfig, facts: Facts) -> Iterator[Finding]:
    """A list of GPUs around the launch that the config's own takes the place of."""
    given, ours = facts.inherited.get(VISIBLE), config.value("cuda_visible_devices")
    if given is None or ours is None or given == ours:
        return
    from prl_tui.core import engine

    bad = any(gpu.fault or gpu.claimed_by or gpu.busy_with for gpu in engine.chosen(facts.gpus or (), given))
    back = () if bad else (Fix({"cuda_visible_devices": given}, t("use GPU {gpus}", gpus=given)),)
    if "SLURM_JOB_ID" in facts.inherited:
        message = t("The scheduler gave this job the GPUs {given}, and the config sets {ours}.", given=given, ours=ours)
        why = t("Another job may have the GPUs that are set here.")
        yield Finding("scheduler-gpus", "warning", "cuda_visible_devices", message, why, back)
        return
    message = t("{name}={given} is set here, and the config sets {ours} instead.", name=VISIBLE, given=given, ours=ours)
    why = t("{variable} overrides the config's list.", variable=config.recipe.by_key["cuda_visible_devices"].override)
    yield Finding("shell-gpus", "warning", "cuda_visible_devices", message, why, back if given else ())


def _unread(config: RunConfig, facts: Facts) -> Iterator[Finding]:
    """Overriding variables that no field of the recipe has."""
    known = [field.override for field in config.recipe.fields]
    for name in sorted(facts.inherited):
        if name.startswith("PRL_") and name not in known:
            near = nearest_override(config.recipe, name)
            told = t("{name} is set, and no field of {recipe} reads it.", name=name, recipe=config.recipe.name)
            why = t("{near} is the nearest name.", near=near) if near else ""
            yield Finding("environment-unread", "warning", find_key(config.recipe, near or "") or "", told, why)


def _nearly_visible(name: str) -> bool:
    """One letter more, fewer or other than the real name, or another case."""
    upper = name.upper()
    if upper == VISIBLE or upper.replace("-", "_") == VISIBLE:
        return True
    if abs(len(upper) - len(VISIBLE)) > 1:
        return False
    shared = len(_common(upper, VISIBLE)) + len(_common(upper[::-1], VISIBLE[::-1]))
    return shared >= max(len(upper), len(VISIBLE)) - 1


def _common(one: str, other: str) -> str:
    end = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:end]


def program(config: RunConfig) -> Iterator[Finding]:
    """Where fields say what is started: one of them must."""
    script, places = started(config)
    given = [key for key in places if config.value(key) is not None]
    if any(map(config.wrong, places)):
        return
    if places and not given:
        message = t("Nothing is started: {keys} would say what; train.py would work.", keys=t(" or ").join(places))
        yield Finding("no-program", "error", places[0], message)
    elif len(given) > 1:
        message = t("{keys} are both set; the module is started.", keys=t(" and ").join(places))
        fixes = tuple(Fix({key: None}, t("leave out {label}", label=config.recipe.by_key[key].label)) for key in places)
        yield Finding("two-programs", "warning", places[0], message, "", fixes)
    yield from _alone(config)
    if script in given and (name := config.text(script)).startswith("-"):
        yield _dashed(config, script, name)


def _alone(config: RunConfig) -> Iterator[Finding]:
    """Processes that plain python does not start: the arithmetic would count them all the same."""
    count = config.number("nproc_per_node")
    if _chosen_launcher(config) == "python" and count is not None and count > 1 and not config.wrong("nproc_per_node"):
        message = t("python starts one process, not {n}.", n=count)
        label = t("{label} {old} → {new}", label=config.recipe.by_key["nproc_per_node"].label, old=count, new=1)
        yield Finding("python-alone", "warning", "nproc_per_node", message, "", (Fix({"nproc_per_node": 1}, label),))


def _chosen_launcher(config: RunConfig) -> object:
    """The launcher that a field says; None where the recipe has no such field."""
    return config.value("launcher") if "launcher" in config.settings else None


def started(config: RunConfig) -> tuple[str, list[str]]:
    """The field that names the script, "" where none does, and all fields that say what is started."""
    chosen, data = _chosen_launcher(config), config.recipe.data
    program = data.program[chosen if chosen in data.program else data.launcher]
    script, module = (found[1] if (found := PLACE.fullmatch(text)) else "" for text in (program.script, program.module))
    return script, [key for key in (script, module) if key]


def _dashed(config: RunConfig, key: str, name: str) -> Finding:
    """Judged by torchrun 2.13 ("the following arguments are required: training_script") and CPython ("Unknown option")."""
    better = f"./{name}"
    message = t("{name} would be read as an option; {better} would work.", name=name, better=better)
    label = t("{label} {old} → {new}", label=config.recipe.by_key[key].label, old=name, new=better)
    return Finding("dashed-script", "error", key, message, "", (Fix({key: better}, label),))
