"""A launch plan as a job of this box: its environment activated, a free port unless somebody fixed one."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from prl_tui.core import engine, recipe, recipe_tables, wordlist
from prl_tui.core.advice import VISIBLE
from prl_tui.core.config import RunConfig, Source
from prl_tui.core.findings import GpuUse
from prl_tui.core.plan import PORT, Activation, LaunchPlan, with_port
from prl_tui.core.recipe import Outputs
from prl_tui.core.value import plain
from prl_tui.i18n import t
from prl_tui.machine import conda, paths
from prl_tui.runs import claims, records, smoke
from prl_tui.runs.launcher import Inside, Job, LaunchError, OwnFile
from prl_tui.runs.records import Broken

RANKED = {"torchrun", "swift"}
"""Launchers that write one log a rank when asked through the environment."""
ACCELERATE_RANKS = ("--log_dir", Inside(records.RANKS), "--tee", "3")
"""What asks accelerate for the same: its options have defaults that beat PET_LOG_DIR and PET_TEE (accelerate 1.15)."""


def job(
    plan: LaunchPlan,
    here: Path,
    environment: Mapping[str, str] | None = None,
    total: int | None = None,
    more: Mapping[str, object] | None = None,
    gpus: Iterable[GpuUse] = (),
    share: bool = False,
) -> Job:
    """The job that launches a plan on this box; `here` is where relative paths start. LaunchError with a sentence.

    `total` is the last step that the program will count to, for one whose log does not say; `more` goes into the run's
    record too. `gpus` are those of this box, as far as they are known: the run reserves those that it takes, which is
    an error where another one has, unless it shall `share` them.
    """
    inherited = os.environ if environment is None else environment
    if not plan.port_fixed:
        reserved = {claim.port for claim in claims.held(paths.runs_dir()) if claim.port is not None}
        plan, port = _on_free_port(plan, reserved)
    else:
        port = plan.config.number("master_port")
    _inherits(plan, inherited)
    taken = engine.takes(plan.config, gpus, inherited.get(VISIBLE))
    prefix, added, cwd = place(plan, here, environment)
    return Job(
        argv=(*prefix, *_argv(plan, cwd)),
        env=(*added, *plan.env),
        cwd=cwd,
        per_rank_logs=plan.launcher in RANKED,
        files=tuple(OwnFile(file.name, file.text) for file in plan.files),
        stop_after=_stop_after(more),
        gpus={uuid: gpu.index for gpu in taken for uuid in gpu.uuids},
        port=port,
        share=share,
        recorded=True,
        info={**_info(plan), "total": total, **(more or {})},
    )


def _on_free_port(plan: LaunchPlan, reserved: Collection[int]) -> tuple[LaunchPlan, int | None]:
    """The plan on a port that is free and that no starting run has; None for a program that meets at none."""
    if PORT not in plan.config.settings:
        return plan, None
    from prl_tui.machine.ports import free_port  # sockets are for those who meet at a port

    port = free_port(reserved)
    return with_port(plan, port), port


def _stop_after(more: Mapping[str, object] | None) -> int:
    """The steps of a smoke test that must be stopped from outside."""
    wanted = smoke.kept(more or {})
    return wanted.steps if wanted is not None and wanted.watched else 0


def place(
    plan: LaunchPlan, here: Path, environment: Mapping[str, str] | None = None
) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...], Path]:
    """Words before a command, variables and the folder that make it run in the plan's place. LaunchError if there is none."""
    inherited = os.environ if environment is None else environment
    cwd = (here / paths.expanded(plan.workdir)) if plan.workdir else here
    if not paths.is_dir(cwd):
        raise LaunchError(t("The working directory {path} is missing", path=cwd))
    return *_activated(plan.activation, inherited), cwd


def _argv(plan: LaunchPlan, cwd: Path) -> tuple[str | Inside, ...]:
    """The command with the patterns of glob fields resolved in its working directory, and its own files in place."""
    fields = plan.config.recipe.by_key
    words: list[str | Inside] = []
    for n, argument in enumerate(plan.arguments):
        if n == 1 and plan.launcher == "accelerate" and not _own_logs(plan):
            words += ACCELERATE_RANKS
        if argument.file:
            words += [argument.flag, Inside(f"{records.FILES}/{argument.file}")]
        elif argument.words and argument.key and fields[argument.key].glob:
            words += [argument.words[0], _one_file(argument.key, argument.words[1], cwd)]
        else:
            words += argument.words
    return tuple(words)


def _inherits(plan: LaunchPlan, inherited: Mapping[str, str]) -> None:
    """Variables that the config only names must be there."""
    for field in plan.config.recipe.fields:
        for name in wordlist.named(plan.config.value(field.key) or ()) if field.type == "variables" else ():
            if not inherited.get(name):
                raise LaunchError(t("{key}: {name} is not set in this environment", key=field.key, name=name))


def _own_logs(plan: LaunchPlan) -> bool:
    """The person chose accelerate's logs already."""
    asked = {word.partition("=")[0].replace("-", "_") for word in plan.argv if word.startswith("-")}
    return bool(asked & {"__log_dir", "__tee", "_t"})


def _one_file(key: str, pattern: str, cwd: Path) -> str:
    import glob

    found = glob.glob(pattern, root_dir=cwd)  # noqa: PTH207  (absolute patterns too)
    if len(found) != 1:
        told = t(
            "{key}: {pattern} matches {n} files in {path}, and one is needed",
            key=key,
            pattern=pattern,
            n=len(found),
            path=cwd,
        )
        raise LaunchError(told)
    return found[0]


def _activated(
    activation: Activation, inherited: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Words before the command and variables that put the training environment first."""
    path = inherited.get("PATH", os.defpath)
    if activation.kind == "this":
        return (), (("PATH", f"{Path(sys.executable).parent}:{path}"),)
    if activation.kind == "venv":
        folder = paths.expanded(activation.name).absolute()
        if not paths.exists(folder / "bin" / "python"):
            raise LaunchError(t("There is no virtual environment in {path}", path=folder))
        return (), (("PATH", f"{folder / 'bin'}:{path}"), ("VIRTUAL_ENV", str(folder)))
    if activation.kind == "python":
        python = paths.expanded(activation.name).absolute()
        if not paths.exists(python):
            raise LaunchError(t("There is no interpreter {path}", path=python))
        return (), (("PATH", f"{python.parent}:{path}"),)
    if activation.kind == "conda":
        return _conda(activation, inherited)
    return (), ()


def _conda(activation: Activation, inherited: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Conda's own activation where its hook is found, since packages hang scripts on it; else its folder first."""
    hook = conda.hook_of(inherited, activation.hook)
    folder = conda.find(activation.name, activation.hook, inherited)
    if hook is not None and paths.is_file(hook):
        # The values are arguments of the script, never part of its text. conda.sh is not written for `set -u`.
        script = 'source "$1" && conda activate "$2" && shift 2 && exec "$@"'
        return ("bash", "-c", script, "conda", str(hook), str(folder or activation.name)), ()
    if folder is not None:
        path = f"{folder / 'bin'}:{inherited.get('PATH', os.defpath)}"
        return (), (("PATH", path), ("CONDA_PREFIX", str(folder)), ("CONDA_DEFAULT_ENV", activation.name))
    raise LaunchError(t("conda is not found here; set conda_hook to the path of its etc/profile.d/conda.sh"))


def _info(plan: LaunchPlan) -> dict[str, Any]:
    """What a run's record keeps, so that the run can be read back as a config."""
    config = plan.config
    return {
        "recipe": config.recipe.name,
        "preset": config.preset or None,
        "values": {key: config.text(key) for key, s in config.settings.items() if s.value is not None},
        "unset": [key for key in config.changed() if config.settings[key].value is None],
        "sources": {key: s.source.word for key, s in config.settings.items() if s.value is not None},
        "origins": {key: s.origin for key, s in config.settings.items() if s.origin and s.value is not None},
        "changed": list(config.changed()),
        "launcher": plan.launcher,
        "nproc": config.number("nproc_per_node"),
        "outputs": plain(config.recipe.data.outputs),
        "activation": plain(plan.activation),
    }


def outputs_of(info: dict[str, object] | Broken | None) -> Outputs:
    """The output shapes that a run's record keeps; the usual ones where it has none."""
    kept = info.get("outputs") if isinstance(info, dict) else None
    if not isinstance(kept, dict):
        return Outputs()
    from prl_tui.core import shape

    try:
        shape.check(kept, Outputs)
        outputs = recipe_tables.outputs_of(kept)
        recipe.readable(outputs)
    except ValueError:  # a shape or a pattern of another time: the run is read as any other
        return Outputs()
    return outputs


def config_of(info: dict[str, object], config: RunConfig) -> RunConfig:
    """A run's values laid over its recipe's preset; keys that the recipe no longer has are left out."""
    values = info.get("values")
    sources = info.get("sources")
    if not isinstance(values, dict) or not isinstance(sources, dict):
        return config
    changed = {
        key: value
        for key, value in values.items()
        if key in config.recipe.by_key and sources.get(key) not in ("default", "preset")
    }
    unset = info.get("unset")
    emptied = [key for key in unset if isinstance(key, str)] if isinstance(unset, list) else []
    changed.update(dict.fromkeys(key for key in emptied if key in config.recipe.by_key))
    return config.with_values(changed, Source.RUN, dict.fromkeys(changed, str(info.get("id", ""))))
