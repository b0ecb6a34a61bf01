"""What a check gives: findings with fixes, and the facts that a check may know about machine and data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from prl_tui.core.batch import Batch, Severity
from prl_tui.core.config import RunConfig
from prl_tui.core.devices import Devices
from prl_tui.core.stacks import Stack
from prl_tui.core.steps import Steps
from prl_tui.core.value import Value

ORDER: dict[str, int] = {"error": 0, "warning": 1, "note": 2}


class Fix(Value):
    """Field changes that are known to satisfy every rule."""

    changes: Mapping[str, Any]
    label: str
    """In words: `generations 3 → 2`."""


class Finding(Value):
    """One result of a check."""

    code: str
    severity: Severity
    field: str
    """The field's key; "" where no single field is meant."""
    message: str
    """What is wrong, in one sentence."""
    why: str = ""
    fixes: tuple[Fix, ...] = ()


class GpuUse(Value):
    """One GPU of this box, or one MIG instance of it, as far as a check cares."""

    index: int
    """Of the physical GPU."""
    uuid: str
    free_bytes: int | None
    total_bytes: int | None = None
    busy_with: str = ""
    """Who uses it, in words; "" for nobody."""
    claimed_by: str = ""
    """The live run that has reserved it, in words; its card may still look idle."""
    slot: int | None = None
    """Which of its GPU's MIG instances it is; None for a GPU."""
    slices: tuple[GpuUse, ...] = ()
    """Its MIG instances."""
    fault: str = ""
    """Why nobody can use it, in a sentence without its full stop; "" for one that works."""

    @property
    def name(self) -> str:
        """`0`, or `0 MIG 1` for an instance."""
        return str(self.index) if self.slot is None else f"{self.index} MIG {self.slot}"

    @property
    def address(self) -> str:
        """What CUDA_VISIBLE_DEVICES calls it."""
        return str(self.index) if self.slot is None else self.uuid

    @property
    def uuids(self) -> tuple[str, ...]:
        """Its own UUID and those of its instances."""
        return tuple(uuid for uuid in (self.uuid, *(one.uuid for one in self.slices)) if uuid)


class Pace(NamedTuple):
    """What an earlier run tells of a new one's steps."""

    seconds: float | None = None
    """Per step; None without such a run."""
    run: str = ""
    differs: tuple[str, ...] = ()
    """Fields that change the time of a step and had another value there."""


NO_PACE = Pace()


class Facts(Value):
    """What is known beside the config. Everything may be unknown."""

    node_gpus: int | None = None
    """GPUs on the node that the job is bound for."""
    gpus: tuple[GpuUse, ...] | None = None
    """The GPUs of this box, when the job is to run here."""
    node_uuids: tuple[str, ...] | None = None
    """The UUIDs of the node's GPUs, in NVML's order, and of their MIG instances; they count only beside `node_gpus`."""
    rows: int | None = None
    """Rows of the training data."""
    rows_source: str = ""
    port_owner: str | None = None
    """Who holds the master port on this box; None when it is free or not looked at."""
    val_rows: int | None = None
    """Rows of the validation data."""
    stack: str = ""
    """The stack of the training environment, where that could be probed."""
    versions: Mapping[str, str] = {}
    """Package → version in the training environment; empty where it was not probed."""
    unseen: str = ""
    """Why this box could not be looked at: the rest is not known."""
    no_folder: str = ""
    """The working directory of a launch here, where there is none."""
    environment: str = ""
    """The training environment in words, as `environment torch-2.8: torch 2.8.0`; "" where it is not known."""
    no_environment: str = ""
    """The training environment that is named and not there."""
    silent_environment: str = ""
    """The training environment whose Python gives no answer."""
    no_launcher: str = ""
    """The program that starts the ranks, where the training environment has none."""
    seconds_per_step: float | None = None
    """From the nearest earlier run of the same recipe on as many processes."""
    pace_source: str = ""
    """Which run that was."""
    pace_differs: tuple[str, ...] = ()
    """Fields that change the time of a step and had another value there."""
    missing_files: tuple[str, ...] = ()
    missing_values: Mapping[str, tuple[str, ...]] = {}
    """Field → what it names that is plainly a path, and is not there."""
    cut_paths: Mapping[str, tuple[str, ...]] = {}
    """Field → its items, once those are joined again that a blank cut out of one path."""
    odd_paths: Mapping[str, tuple[str, ...]] = {}
    """Field → a sentence for each of its paths that is a pipe, a socket or a device."""
    found: Mapping[str, tuple[str, ...]] = {}
    """Field → the files that its pattern matches, where that was looked at."""
    wandb_key: bool = False
    """wandb has a key here: in the environment, or kept by `wandb login`."""
    given: tuple[Any, ...] = ()
    """Config files of the person's own that could be looked at (`given.Given`)."""
    inherited: Mapping[str, str] = {}
    """Variables of the surrounding environment that a launch would take over."""


class Report(Value):
    """The verdict on a run config."""

    config: RunConfig
    stack: Stack
    devices: Devices
    batch: Batch
    steps: Steps | None
    findings: tuple[Finding, ...]
    environment: str = ""
    """The training environment in words, where it was looked at."""

    @property
    def ok(self) -> bool:
        """No error finding."""
        return not any(finding.severity == "error" for finding in self.findings)

    def count(self, severity: Severity) -> int:
        """How many findings are of that severity."""
        return sum(finding.severity == severity for finding in self.findings)

    @property
    def first_fix(self) -> Fix | None:
        """The first fix of the worst finding that has one."""
        asked = (finding for finding in self.findings if finding.severity != "note")
        return next((finding.fixes[0] for finding in asked if finding.fixes), None)
