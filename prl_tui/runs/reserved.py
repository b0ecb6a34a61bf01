"""The facts of this box, with what runs have reserved of it: who has a GPU or a port, before anything shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from prl_tui.core.config import RunConfig
from prl_tui.core.findings import Facts, GpuUse
from prl_tui.core.value import replace
from prl_tui.machine.facts import fixed_port
from prl_tui.runs import claims
from prl_tui.runs.claims import Claim


def known(facts: Facts, config: RunConfig, held: Sequence[Claim], share: bool = False) -> Facts:
    """The facts with each GPU's claim, and the claim on a port that a person fixed.

    `share`: a GPU that a run has reserved is only in use, which is a warning.
    """
    if not held:
        return facts
    owners: dict[str, str] = {}
    for one in held:  # the oldest first: it is the owner, later ones share
        for uuid in one.gpus:
            owners.setdefault(uuid, one.words())
    gpus = facts.gpus
    if gpus is not None:
        gpus = tuple(_owned(gpu, owners, "busy_with" if share else "claimed_by") for gpu in gpus)
    owner, port = facts.port_owner, fixed_port(config)
    if owner is None and port is not None and (claim := claims.of_port(list(held), port)) is not None:
        owner = claim.words()
    return replace(facts, gpus=gpus, port_owner=owner)


def _owned(gpu: GpuUse, owners: Mapping[str, str], key: str) -> GpuUse:
    """A GPU is its owner's, its instances too; one of which some instance is reserved cannot be had as a whole."""
    slices = tuple(_owned(one, owners, key) for one in gpu.slices)
    owner = next((owners[uuid] for uuid in gpu.uuids if uuid in owners), "")
    return replace(gpu, **{key: owner}, slices=slices) if owner else gpu
