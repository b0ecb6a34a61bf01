"""What the probe before a launch (the program tried in its own environment) found, as findings. It runs in runs/trial.py."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from prl_tui.core import assess, devices, engine, flags
from prl_tui.core.config import RunConfig
from prl_tui.core.findings import ORDER, Finding, Fix, Report
from prl_tui.core.plan import build
from prl_tui.core.signal_names import signal_name
from prl_tui.core.stacks import Stack
from prl_tui.core.value import Value, replace
from prl_tui.i18n import t

End = Literal["done", "late", "crashed", "killed", "silent", "unstartable", "cancelled"]


HINDERS = frozenset({"box-unseen", "folder-missing", "environment-missing", "environment-silent"})
"""Codes of a box's findings without whose cure nothing can be tried; GPUs and ports are no matter of a trial."""


class Step(Value):
    """One thing that was tried."""

    name: str
    """`versions`, `source`, `import`, `arguments` or `gpus`."""
    ok: bool = True
    kind: str = ""
    """The exception's class."""
    text: str = ""
    at: str = ""
    """File and line where it was raised."""
    found: Mapping[str, Any] = {}


class Trial(Value):
    """How the trial went."""

    end: End
    steps: tuple[Step, ...] = ()
    under_way: str = ""
    """The step that was being tried when it ended early."""
    code: int = 0
    """Exit code of a crash, number of the signal that killed it."""
    seconds: float = 0
    words: tuple[str, ...] = ()
    """The last lines that it printed."""


def step_words(name: str) -> str:
    """What a step is, for a person who waits for it."""
    return {
        "": t("starting Python"),
        "versions": t("comparing versions"),
        "source": t("reading the program"),
        "import": t("importing the trainer"),
        "arguments": t("reading the command with the engine's own parser"),
        "gpus": t("asking torch for its GPUs"),
    }.get(name, name)


def findings(config: RunConfig, trial: Trial, stack: Stack | None = None) -> tuple[Finding, ...]:
    """The trial's findings, in the order in which they were met; `stack` where the verdict was by another than the config's."""
    stack = stack or assess.stack_of(config)
    found: list[Finding] = []
    for step in trial.steps:
        if not step.ok:
            found += _failed(config, step, trial)
        elif step.name == "versions":
            found += _mismatches(config, step)
        elif step.name == "source":
            found += _source(config, step)
        elif step.name == "arguments":
            found += _left_over(config, step.found.get("rest", ()))
        elif step.name == "gpus":
            found += _gpus(config, stack, step)
    return (*found, *_ended_early(trial))


def joined(report: Report, found: tuple[Finding, ...]) -> Report:
    """The verdict with the probe's findings; of two that say the same the worse one stays, the verdict's own where they are alike."""
    kept = [one for one in report.findings if not any(_worse(other, one) for other in found)]
    known = {(finding.code, finding.field) for finding in kept}
    new = [finding for finding in found if (finding.code, finding.field) not in known]
    return replace(report, findings=tuple(sorted((*kept, *new), key=lambda one: ORDER[one.severity])))


def _worse(one: Finding, other: Finding) -> bool:
    """They say the same, the first with more weight."""
    same = (one.code, one.field) == (other.code, other.field)
    return same and ORDER[one.severity] < ORDER[other.severity]


def _ended_early(trial: Trial) -> Iterator[Finding]:
    """A trial that hung, crashed or was killed. Late is a warning: a slow disk is no reason not to run."""
    figures = {"step": step_words(trial.under_way), "seconds": f"{trial.seconds:.0f}"}
    last = trial.words[-1] if trial.words else ""
    why = t("It last printed: {line}", line=last) if last else t("It printed nothing.")
    if trial.end == "late":
        message = t("The probe in the training environment did not end within {seconds} s: {step}.", **figures)
        yield Finding("probe-late", "warning", "training_env", message, why)
    elif trial.end == "crashed":
        message = t("The probe ended with exit code {code}: {step}.", code=trial.code, **figures)
        yield Finding("probe-crashed", "error", "training_env", message, why)
    elif trial.end == "killed":
        message = t("The probe was killed by {name}: {step}.", name=signal_name(trial.code), **figures)
        yield Finding("probe-killed", "error", "training_env", message, why)
    elif trial.end == "silent":
        message = t("The probe ended and said nothing of what it found.")
        yield Finding("probe-silent", "warning", "training_env", message, why)
    elif trial.end == "unstartable":
        message = t("The probe could not be started: {reason}.", reason=last or "–")
        yield Finding("probe-unstartable", "error", "training_env", message)


def _failed(config: RunConfig, step: Step, trial: Trial) -> Iterator[Finding]:
    line = next((one.strip() for one in step.text.splitlines() if one.strip()), step.kind)[:300]
    if step.name == "import":
        message = t("The trainer cannot be imported: {reason}", reason=f"{step.kind}: {line}")
        yield Finding("probe-import", "error", "training_env", message, _import_advice(step.text) or step.at)
    elif step.name == "arguments":
        yield from _refused(config, step, line, trial)
    elif step.name == "gpus":
        message = t("torch cannot be asked for its GPUs: {reason}", reason=f"{step.kind}: {line}")
        yield Finding("probe-gpus", "error", "training_env", message, step.at)


def _source(config: RunConfig, step: Step) -> Iterator[Finding]:
    """A person's own script or module that is not there, or cannot be read as Python by the environment's interpreter."""
    by_module = "module" in config.settings and config.value("module") is not None
    field = "module" if by_module else "script" if "script" in config.settings else ""
    missing, reason = step.found.get("missing"), step.found.get("reason")
    if missing and by_module:
        message = t("There is no module {name} to start: neither here nor in the training environment.", name=missing)
        why = t("A package needs a __main__.py; a path is a script, and has no -m.")
        yield Finding("probe-module", "error", field, message, why)
    elif missing:
        yield Finding("probe-script", "error", field, t("There is no script {path}.", path=missing))
    elif reason:
        place = {"path": step.found.get("file", ""), "n": step.found.get("line", 0), "reason": reason}
        why = str(step.found.get("text", ""))
        yield Finding("probe-syntax", "error", field, t("{path}, line {n}: {reason}.", **place), why)


def _import_advice(text: str) -> str:
    if "from 'trl" in text or "trl." in text:
        return t("This TRL is not the one that this ms-swift was made for: install the version that it asks for.")
    if "No module named" in text:
        return t("Install it in the training environment, or choose the environment that has it.")
    return ""


def _refused(config: RunConfig, step: Step, line: str, trial: Trial) -> Iterator[Finding]:
    """The parser's own refusal, at the field that it names."""
    left = re.search(r"remaining_argv: \[(.*)\]", step.text, re.DOTALL)
    if left:
        yield from _left_over(config, re.findall(r"'(--[^']*)'", left[1]))
        return
    if step.kind == "SystemExit":  # argparse's words are on stderr
        line = next((one for one in reversed(trial.words) if "error:" in one), line)
    message = t("The engine's own parser refuses the command: {reason}", reason=line)
    yield Finding("probe-arguments", "error", _named_field(config, line), message, step.at)


def _named_field(config: RunConfig, text: str) -> str:
    """The first field that a text names, one that is set before others, or whose value it quotes; "" for none."""
    named = [word for word in re.findall(r"\w+", text) if word in config.recipe.by_key]
    given = [key for key in named if config.value(key) is not None]
    quoted = set(re.findall(r"'([^']{3,})'", text[:200]))
    valued = [key for key, one in config.settings.items() if isinstance(one.value, str) and one.value in quoted]
    return next(iter([*given, *named, *valued]), "")


def _left_over(config: RunConfig, words: Any) -> Iterator[Finding]:
    """Flags that the engine's parser did not take."""
    by_flag = {argument.flag: argument.key for argument in build(config).arguments if argument.flag}
    for word in words:
        flag = str(word).partition("=")[0]
        message = t("The engine does not know {flag}.", flag=flag)
        yield Finding("flag-unknown", "error", by_flag.get(flag, ""), message, flags.successor(flag))


def _mismatches(config: RunConfig, step: Step) -> Iterator[Finding]:
    """Versions that stop a run minutes after its start. Source: runs that died of them (PRL's logs, February 2026)."""
    found = set(step.found.get("mismatches", ()))
    workers = config.number("dataloader_num_workers") if "dataloader_num_workers" in config.settings else None
    if "seed-worker" in found and (workers is None or workers > 0):
        message = t("transformers' seed_worker takes three arguments, and this trainer passes one.")
        why = t("Loader processes die at the first batch; without them it is never called.")
        fix: tuple[Fix, ...] = ()
        if workers is not None:
            label = t("{label} {old} → {new}", label=config.recipe.by_key["dataloader_num_workers"].label,
                      old=workers, new=0)  # fmt: skip
            fix = (Fix({"dataloader_num_workers": 0}, label),)
        yield Finding("seed-worker", "error", "dataloader_num_workers", message, why, fix)
    if "vllm-device" in found and "use_vllm" in config.settings and config.value("use_vllm"):
        message = t("This vLLM has no EngineArgs.device, and this ms-swift passes it.")
        yield Finding("vllm-device", "error", "use_vllm", message, t("Install vLLM below 0.10, or a later ms-swift."))
    if "print-rich-table" in found:
        message = t("This TRL has no trl.trainer.utils.print_rich_table, and this ms-swift imports it.")
        why = t("Install the TRL that this ms-swift was made for; PRL's fork ran with 0.17.")
        yield Finding("print-rich-table", "error", "training_env", message, why)
    if "shuffle-dataset" in found and config.recipe.data.batch.rule == "grpo":
        message = t("This TRL reads shuffle_dataset of its trainer, and this ms-swift never sets it.")
        why = t("The run dies when the training data is first asked for. Install TRL 0.16, or a later ms-swift.")
        yield Finding("shuffle-dataset", "error", "training_env", message, why)


def _gpus(config: RunConfig, stack: Stack, step: Step) -> Iterator[Finding]:
    if not step.found.get("cuda"):
        build_ = step.found.get("build")
        message = t("torch in the training environment sees no GPU.")
        why = (
            t("It is built for CUDA {version}: the driver may be too old for that, or there is none.", version=build_)
            if build_
            else t("It is a build for the CPU.")
        )
        yield Finding("probe-no-cuda", "error", "training_env", message, why)
        return
    memory = list(step.found.get("memory", ()))
    nproc = config.number("nproc_per_node") or 1
    if len(memory) < nproc:
        message = t(
            "torch sees {gpus} {gpus:GPU|GPUs}, and {nproc} {nproc:process needs|processes need} {nproc:one|one each}.",
            gpus=len(memory),
            nproc=nproc,
        )
        yield Finding("probe-few-gpus", "error", "nproc_per_node", message)
    yield from _share(config, stack, memory, step.found.get("visible"))


def _share(config: RunConfig, stack: Stack, memory: list[Any], visible: str | None) -> Iterator[Finding]:
    """VLLM takes its share of the whole card and stops where that much is not free; the model takes more before."""
    own = config.value("cuda_visible_devices")
    listed = devices.read(own if own is not None else visible).entries
    units = [
        engine.Memory(str(listed[index] if index < len(listed) else index), free, total)
        for index, (free, total) in enumerate(memory)
    ]
    yield from engine.too_little(config, engine.generating(config, stack, units), "error")
