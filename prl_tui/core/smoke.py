"""A smoke test: the same config for a few steps that log, evaluate and save, and what it says about the full run.

The recipe names the fields that shorten a run (`[smoke]`); nothing else is changed, so that what passes is what runs. A
program that nothing can shorten runs as it is, and is stopped once its log shows that many steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from prl_tui.core import assess, files
from prl_tui.core.config import RunConfig, Source
from prl_tui.core.findings import Report
from prl_tui.core.value import Value
from prl_tui.i18n import nt, t


class Sizes(Value):
    """What of a checked config tells how much data some steps take."""

    per_epoch: int | None = None
    """Optimizer steps of one pass over the data, or fewer than that."""
    micro_rows: int | None = None
    """Rows that all processes together take at a time."""
    accumulation: int = 1


class Wanted(Value):
    """What a smoke test must have done, kept in its run's record."""

    steps: int
    evaluates: bool
    """The config has something to evaluate on, and is made to."""
    before: Mapping[str, str | None]
    """Field → its text before; None where it was not set."""
    sources: Mapping[str, str]
    """Field → where its value came from before."""
    saves: bool = True
    """A checkpoint is forced."""
    watched: bool = False
    """Nothing ends the program after so many steps: it is stopped once its log shows them."""
    evaluated: str = ""
    """The metric of a training row that tells of an evaluation (`Smoke.evaluated`)."""
    failures: tuple[str, ...] = ()
    """Patterns of lines that tell of a failed step (`Outputs.failures`)."""
    saves_in: str = ""
    """The folder of `checkpoint-N` (`Smoke.saves_in`)."""
    anew: str = ""
    """The checkpoint that the full run goes on from, and this one does not."""
    count: int = 0
    """What the log counts to in so many steps; 0: to their number."""


NOTHING_KNOWN = Sizes()


class Result(Value):
    """How a smoke test went."""

    passed: bool
    reasons: tuple[str, ...]
    """Sentences: what is missing, or what was seen."""

    def words(self) -> str:
        """One line."""
        head = t("smoke test passed") if self.passed else t("smoke test failed")
        return t("{place}: {words}", place=head, words=t("; ").join(self.reasons))


def sizes(report: Report) -> Sizes:
    """The sizes of a checked config."""
    batch = report.batch
    rows = batch.per_device * batch.world if batch.per_device and batch.world else None
    return Sizes(report.steps.per_epoch if report.steps is not None else None, rows, batch.accumulation or 1)


def cuts(config: RunConfig, steps: int, known: Sizes) -> dict[str, int]:
    """Field → the records that its data file is cut to, so that one pass is so many steps; {} where that is no way."""
    smoke = config.recipe.data.smoke
    if not smoke.cut or not known.micro_rows or files.idle(config).intersection(smoke.cut):
        return {}
    logged = math.lcm(smoke.log_every, known.accumulation)
    micro = math.ceil(steps * known.accumulation / logged) * logged
    share = math.ceil(micro * known.micro_rows / (len(config.recipe.data.batch.rows) or 1))
    return {key: share for key in smoke.cut if config.value(key) is not None}


def watched(config: RunConfig, known: Sizes, data: Mapping[str, str] | None = None) -> bool:
    """Whether nothing can end the program after so many steps, so that it must be stopped from outside.

    `data`: field → the cut file that stands in its place.
    """
    smoke = config.recipe.data.smoke
    said = bool(smoke.words and config.value(smoke.words))
    return not (smoke.steps or (smoke.epochs and known.per_epoch) or data or said)


def changes(
    config: RunConfig, steps: int, known: Sizes = NOTHING_KNOWN, data: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The fields that make it short: so many steps, each of them logged, the last one evaluated and saved."""
    smoke = config.recipe.data.smoke
    made: dict[str, Any] = {smoke.steps: steps, smoke.log: 1, smoke.save: steps, **smoke.values, **(data or {})}
    if smoke.epochs and known.per_epoch:
        # the HF Trainer rounds epochs × steps of an epoch up: half a step less is safe from the decimals
        made[smoke.epochs] = f"{(steps - 0.5) / known.per_epoch:.6g}"
    if smoke.evaluate and evaluates(config):
        made |= {smoke.evaluate: steps, **smoke.evaluating}
    words = config.value(smoke.words) if smoke.words else None
    if words:
        before = config.value(smoke.arguments) or ()
        made[smoke.arguments] = [*before, *(word.replace("{steps}", str(steps)) for word in words)]
    if resumes(config):
        made[smoke.resume] = None
    idle = files.idle(config)
    return {key: value for key, value in made.items() if key in config.recipe.by_key and key not in idle}


def resumes(config: RunConfig) -> str:
    """The checkpoint that a run of this config goes on from; "" for none.

    Steps count on from it: max_steps and a share of an epoch are reached at once, and a log shows its step from the first line.
    """
    key = config.recipe.data.smoke.resume
    return config.text(key) if key and config.value(key) is not None and key not in files.idle(config) else ""


def shrink(
    config: RunConfig, steps: int, known: Sizes = NOTHING_KNOWN, data: Mapping[str, str] | None = None
) -> RunConfig:
    """The config of the smoke test."""
    return config.with_values(changes(config, steps, known, data), Source.SET)


def wanted(
    config: RunConfig, steps: int, known: Sizes = NOTHING_KNOWN, data: Mapping[str, str] | None = None
) -> Wanted:
    """What a smoke test of this config must do, and what it changes."""
    smoke = config.recipe.data.smoke
    settings = {key: config.settings[key] for key in changes(config, steps, known, data)}
    before = {key: config.text(key) if one.value is not None else None for key, one in settings.items()}
    stopped = watched(config, known, data)
    forced = not stopped and not smoke.words
    return Wanted(
        steps, forced and evaluates(config), before, {key: one.source.word for key, one in settings.items()},
        forced, stopped, smoke.evaluated, config.recipe.data.outputs.failures,
        config.text(smoke.saves_in) if smoke.saves_in and config.value(smoke.saves_in) else "",
        resumes(config),
        1 if smoke.by_epoch and data else 0,
    )  # fmt: skip


def evaluates(config: RunConfig) -> bool:
    """Whether the trainer will evaluate: it has data for it, and nobody switched it off."""
    if config.recipe.data.smoke.always_evaluates:
        return True
    if not config.recipe.data.smoke.evaluate:
        return False
    stack = assess.stack_of(config)
    return assess.numbers(assess.case(config, stack, None)).eval_on


def restored(config: RunConfig, kept: Wanted) -> RunConfig:
    """The config of a smoke test's run as it was before: the full run, with nothing else changed."""
    words = {source.word: source for source in Source}
    settings = dict(config.settings)
    base = config.baseline()
    for key, text in kept.before.items():
        if key not in config.recipe.by_key:
            continue
        source = words.get(kept.sources.get(key, ""), Source.SET)
        if source <= Source.PRESET:
            settings[key] = base.settings[key]
        else:
            settings[key] = config.with_values({key: text}, source).settings[key]
    return RunConfig(config.recipe, config.preset, settings)


class Seen(Value):
    """What a smoke test's run did, from its records, `logging.jsonl` and the log."""

    exit_code: int | None
    logged: int
    """Training rows."""
    step: int | None
    """The last one that was seen."""
    evaluated: bool
    saved: bool
    stopped: bool = False
    """It was ended because it had shown its steps."""
    failure: str = ""
    """A line that tells of a failed step."""
    no_number: str = ""
    """A loss that was NaN or infinite at every step, as `loss nan`."""


def judge(kept: Wanted, seen: Seen) -> Result:
    """Pass or fail, with what is missing or what was seen."""
    missing = _missing(kept, seen)
    if missing:
        return Result(False, tuple(missing))
    seen_words = nt("{n} step seen", "{n} steps seen", kept.steps)
    told = [seen_words if kept.watched else nt("{n} step logged", "{n} steps logged", kept.steps)]
    if kept.anew:
        told.append(t("begun anew, not from {checkpoint}", checkpoint=kept.anew))
    if kept.watched or not kept.saves:
        told.append(t("evaluated") if seen.evaluated else t("no evaluation seen, and none can be forced"))
        told.append(t("a checkpoint saved") if seen.saved else t("no checkpoint seen, and none can be forced"))
    else:
        told.append(t("evaluated") if kept.evaluates else t("nothing to evaluate on"))
        told.append(t("a checkpoint saved"))
    told.append(t("then stopped") if seen.stopped else t("exit code {code}", code=0))
    return Result(True, tuple(told))


def _missing(kept: Wanted, seen: Seen) -> list[str]:
    missing = []
    if seen.failure:
        missing.append(seen.failure)
    if seen.exit_code != 0 and not (kept.watched and seen.stopped):
        missing.append(t("exit code {code}", code="–" if seen.exit_code is None else seen.exit_code))
    if not seen.logged and not (kept.watched and seen.step):
        missing.append(t("no step was logged"))
    elif (seen.step or 0) < (kept.count or kept.steps):
        missing.append(t("{step} of {steps} {steps:step|steps}", step=seen.step or 0, steps=kept.count or kept.steps))
    if seen.no_number:
        missing.append(t("{loss} at every step", loss=seen.no_number))
    if kept.evaluates and not seen.evaluated:
        missing.append(t("nothing was evaluated"))
    if kept.saves and not seen.saved:
        missing.append(t("no checkpoint was saved"))
    return missing
