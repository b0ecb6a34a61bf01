"""What a check may know of this box: its GPUs and who uses them, and the owner of the master port."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from prl_tui import reasons
from prl_tui.core import assess, stacks
from prl_tui.core.config import RunConfig, Source, fill, template_keys
from prl_tui.core.findings import NO_PACE, Facts, GpuUse, Pace
from prl_tui.core.plan import build
from prl_tui.core.value import Value, replace
from prl_tui.i18n import t
from prl_tui.lists import listed
from prl_tui.machine import environment, local_paths, paths, rows
from prl_tui.machine.gpus import Gpu, GpuProcess, GpuSnapshot, MigInstance

RunOf = Callable[[int], str]
"""The id of the run that a process belongs to, "" for none."""


class Known(Value):
    """What takes longer to look up than a keystroke: files, earlier runs, the training environment."""

    rows: int | None = None
    val_rows: int | None = None
    missing_files: tuple[str, ...] = ()
    missing_values: Mapping[str, tuple[str, ...]] = {}
    cut_paths: Mapping[str, tuple[str, ...]] = {}
    odd_paths: Mapping[str, tuple[str, ...]] = {}
    given: tuple[Any, ...] = ()
    found: Mapping[str, tuple[str, ...]] = {}
    stack: str = ""
    versions: Mapping[str, str] = {}
    pace: float | None = None
    pace_source: str = ""
    pace_differs: tuple[str, ...] = ()
    unseen: str = ""
    """Why it could not be looked up."""
    no_folder: str = ""
    environment: str = ""
    no_environment: str = ""
    silent_environment: str = ""
    no_launcher: str = ""


def look_up(config: RunConfig, here: Path, pace: Pace = NO_PACE, stale: rows.Stale = rows.never) -> Known:
    """Read the data's rows, look for the files that the recipe needs, ask the training environment.

    Where the system refuses that, only the reason is known. `rows.StaleError` where nobody wants it any more.
    """
    try:
        return _look_up(config, here, pace, stale)
    except OSError as error:
        return Known(unseen=reasons.of_file(error))


def _look_up(config: RunConfig, here: Path, pace: Pace, stale: rows.Stale) -> Known:
    plan = build(config)
    python = environment.interpreter(plan.activation)
    found = environment.probe(plan.activation)
    versions = dict(found.versions) if found is not None else {}
    versions |= environment.beside(config, base_of(config, here))
    place = environment.label(plan.activation)
    words = replace(found, versions=versions).words() if found is not None else ""
    swift = versions.get("ms-swift")
    stack = stacks.for_swift(swift) if swift and config.recipe.data.stack.startswith("swift") else ""
    known, seen = _given(config, here)
    folder = base_of(config, here)
    return Known(
        rows=rows.training(seen, here, stale),
        val_rows=rows.validation(seen, here, stale),
        missing_files=_missing(seen, here),
        missing_values=local_paths.missing(seen, folder),
        cut_paths=local_paths.cut(seen, folder),
        odd_paths=_odd(seen, folder, known),
        given=known,
        found=matches(config, folder),
        stack=stack,
        versions=versions,
        pace=pace.seconds,
        pace_source=pace.run,
        pace_differs=pace.differs,
        no_folder="" if paths.is_dir(folder) else str(folder),
        environment=t("{place}: {words}", place=environment.title(plan.activation), words=words) if words else "",
        no_environment=place if python is None and plan.activation.kind else "",
        silent_environment=place if python is not None and found is None else "",
        no_launcher=environment.lacks(plan, python),
    )


def _given(config: RunConfig, here: Path) -> tuple[tuple[Any, ...], RunConfig]:
    """Config files of the person's own, and the config with what they say."""
    if not config.recipe.data.write:
        return (), config
    from prl_tui.core import given
    from prl_tui.machine import given_files

    known = given_files.look(config, base_of(config, here))
    return known, given.effective(config, Facts(given=known))


def _odd(config: RunConfig, base: Path, given: tuple[Any, ...]) -> dict[str, tuple[str, ...]]:
    """Paths that are pipes or the like, but for config files that were looked at: those say so themselves."""
    own = {template.key for template in config.recipe.data.write} if given else set()
    return {key: told for key, told in local_paths.odd(config, base).items() if key not in own}


def _written(config: RunConfig) -> frozenset[str]:
    if not config.recipe.data.write:
        return frozenset()
    from prl_tui.core import files

    return files.replaced(config)


def _missing(config: RunConfig, here: Path) -> tuple[str, ...]:
    base = base_of(config, here)
    own = _written(config)
    needed = [file for file in config.recipe.data.files if own.isdisjoint(template_keys(file))]
    wanted = [fill(fill(file, config), config) for file in needed]  # `{train_{task}_path}` names a field by another
    return tuple(name for name in dict.fromkeys(wanted) if name and not paths.exists(base / name))


def matches(config: RunConfig, base: Path) -> dict[str, tuple[str, ...]]:
    """The files that the patterns of glob fields match in the working directory."""
    import glob

    found = {}
    for field in config.recipe.fields:
        pattern = config.value(field.key) if field.glob else None
        if pattern:
            found[field.key] = tuple(sorted(glob.glob(str(pattern), root_dir=base)))  # noqa: PTH207  (absolute ones too)
    return found


def base_of(config: RunConfig, here: Path) -> Path:
    """Where the command runs: relative paths start there."""
    workdir = config.value("workdir") if "workdir" in config.settings else None
    return here / paths.expanded(str(workdir or ""))


LAUNCH_VARIABLES = ("SLURM_JOB_ID", "CUDA_VISIBLE_DEVICES", "NPROC_PER_NODE", "NNODES")


OWN_VARIABLES = "PRL_TUI_"
"""How variables begin that prl-tui itself reads."""


def inherited(environment: Mapping[str, str], overrides: bool = False) -> dict[str, str]:
    """The variables around a launch that a check reads: GPUs, the scheduler's job, how many ranks, and near misses.

    With `overrides` also those that are meant to override fields.
    """
    return {
        name: value
        for name, value in environment.items()
        if name in LAUNCH_VARIABLES
        or ("VISIBLE" in name.upper() and "CUDA" in name.upper())
        or (overrides and name.startswith("PRL_") and not name.startswith(OWN_VARIABLES))
    }


def here(
    config: RunConfig,
    snapshot: GpuSnapshot | None = None,
    known: Known | None = None,
    run_of: RunOf | None = None,
    port: str | None = "",
) -> Facts:
    """The facts of this box for a config; without a snapshot the GPUs are looked at now.

    `run_of` says which of our runs a process belongs to; `port`: who has the master port, where that was looked at.
    """
    if snapshot is None:
        from prl_tui.machine.gpu_feed import once

        snapshot = once()
    found = known or Known()
    readable = snapshot.problem is None
    return Facts(
        node_gpus=len(snapshot.gpus) if readable else 0 if assess.needs_gpu(config) else None,
        node_uuids=_uuids(snapshot.gpus) if readable else None,
        gpus=tuple(_use(gpu, run_of) for gpu in snapshot.gpus) if readable else None,
        rows=found.rows,
        val_rows=found.val_rows,
        seconds_per_step=found.pace,
        pace_source=found.pace_source,
        pace_differs=found.pace_differs,
        stack=found.stack,
        versions=found.versions,
        unseen=found.unseen,
        no_folder=found.no_folder,
        environment=found.environment,
        no_environment=found.no_environment,
        silent_environment=found.silent_environment,
        no_launcher=found.no_launcher,
        missing_files=found.missing_files,
        missing_values=found.missing_values,
        cut_paths=found.cut_paths,
        odd_paths=found.odd_paths,
        given=found.given,
        found=found.found,
        inherited=inherited(os.environ),
        port_owner=port_owner(fixed_port(config), run_of) if port == "" else port,
        wandb_key=wandb_key(os.environ),
    )


def _uuids(gpus: Iterable[Gpu]) -> tuple[str, ...] | None:
    """The UUIDs of GPUs and their MIG instances; None where one of them gives none, as torch too gives up then."""
    found: list[str | None] = []
    for gpu in gpus:
        instances = [one.uuid for one in gpu.mig_instances]
        found += [gpu.uuid if gpu.state == "ok" else None, *(instances or ([None] if gpu.mig else []))]
    return tuple(uuid for uuid in found if uuid) if all(found) else None


def wandb_key(environment: Mapping[str, str]) -> bool:
    """Whether wandb has a key here: in the environment, or where `wandb login` keeps it. The key itself is not kept."""
    if environment.get("WANDB_API_KEY"):
        return True
    import netrc

    try:
        place = Path(environment.get("NETRC") or paths.expanded("~/.netrc"))
        return netrc.netrc(str(place)).authenticators("api.wandb.ai") is not None
    except (OSError, netrc.NetrcParseError, UnicodeDecodeError, RuntimeError):
        return False


def _use(gpu: Gpu, run_of: RunOf | None) -> GpuUse:
    slices = tuple(_slice_use(gpu, one, run_of) for one in gpu.mig_instances)
    busy = _users(gpu.processes or (), run_of) if gpu.busy else ""
    return GpuUse(
        gpu.index, gpu.uuid or "", gpu.memory_free, gpu.memory_total, busy, slices=slices, fault=gpu.problem or ""
    )


def _slice_use(gpu: Gpu, one: MigInstance, run_of: RunOf | None) -> GpuUse:
    own = [process for process in gpu.processes or () if process.instance == one.instance]
    known = one.memory_total is not None and one.memory_used is not None
    free = one.memory_total - one.memory_used if known else None  # type: ignore[operator]
    return GpuUse(gpu.index, one.uuid or "", free, one.memory_total, _users(own, run_of) if own else "", slot=one.slot)


def _users(processes: Iterable[GpuProcess], run_of: RunOf | None) -> str:
    users = dict.fromkeys(_user_words(process, run_of) for process in processes)
    return listed(user for user in users if user)[:160] or t("a process that cannot be seen")


def _user_words(process: GpuProcess, run_of: RunOf | None) -> str:
    """`anna python train.py, pid 4711`, or the run that it belongs to; "" where nothing is known of it."""
    if process.pid is None or not process.visible:
        return t("pid {pid}, which cannot be seen from here", pid=process.pid) if process.pid else ""
    run = run_of(process.pid) if run_of is not None else ""
    if run:
        return t("run {id}, pid {pid}", id=run, pid=process.pid)
    who = " ".join(part for part in (process.user, process.command) if part)
    return t("{who}, pid {pid}", who=who, pid=process.pid) if who else t("pid {pid}", pid=process.pid)


def fixed_port(config: RunConfig) -> int | None:
    """The master port that a person fixed; a port of the recipe's own is replaced by a free one."""
    setting = config.settings.get("master_port")
    if setting is None or not isinstance(setting.value, int) or setting.source <= Source.PRESET:
        return None
    return setting.value if 1 <= setting.value <= 65535 else None


def port_owner(port: int | None, run_of: RunOf | None = None) -> str | None:
    """Who listens on a port that a person fixed; None for a free one, or none. It may take seconds."""
    if port is None:
        return None
    from prl_tui.machine import ports

    if ports.port_free(port):
        return None
    owner = ports.port_owner(port)
    if owner is None or owner.pid is None:
        return t("another program") if owner is None or not owner.user else t("a program of {user}", user=owner.user)
    command = owner.command or t("a program")
    run = run_of(owner.pid) if run_of is not None else ""
    if run:
        return t("run {id}: {command}, pid {pid}", id=run, command=command, pid=owner.pid)
    return t("{command}, pid {pid}", command=command, pid=owner.pid)
