"""CUDA_VISIBLE_DEVICES as torch reads it, so that the count here is the count that the ranks will see.

Judged by torch 2.13.0's `torch.cuda._parse_visible_devices` and, where the node's UUIDs are known,
`torch.cuda._transform_uuid_to_ordinals` (tests/core/test_devices.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from prl_tui.core.value import Value

ALL = 64
"""How many devices torch assumes when the variable is not set."""

MIG = "MIG-"
"""How UUIDs of MIG instances begin; those of GPUs begin otherwise, so a prefix of one fits none of the others."""

HIDES = "-1"
"""The value that hides every GPU."""

_LONGEST = 4300
"""Digits of a number that Python reads, unless it is told otherwise; torch raises for more."""

_LEADING = re.compile(r"[+-]?[0-9]+", re.ASCII)


class Devices(Value):
    """What a value of CUDA_VISIBLE_DEVICES means."""

    spec: str | None
    """The value; None when the variable is not set."""
    entries: tuple[int | str, ...]
    """Indices or UUID prefixes in order, as torch keeps them."""
    usable: int | None
    """How many of them exist on the node; None where that cannot be known."""
    dropped: tuple[str, ...] = ()
    """Items that torch does not read, from the first one that stops it."""
    repeated: bool = False
    """The same device twice: torch then sees none."""
    unreadable: str = ""
    """The item for which torch raises ValueError: a lone sign, digits that Python reads as no number."""
    fits: int = 0
    """How many of the node's UUIDs the first entry that is not usable begins: none, or several."""

    @property
    def mig(self) -> bool:
        """MIG instances, of which a process sees the first one only."""
        return bool(self.entries) and str(self.entries[0]).startswith(MIG)

    @property
    def hides(self) -> bool:
        """Every GPU is hidden on purpose: what people set for a run on the CPU."""
        return self.spec == HIDES

    @property
    def listed(self) -> int | None:
        """How many devices torch parses; None for all of the node's."""
        return None if self.spec is None else len(self.entries)

    @property
    def count(self) -> int | None:
        """The best known number of GPUs that the ranks will see."""
        return self.usable if self.usable is not None else self.listed


class Resolved(NamedTuple):
    """UUID prefixes as torch looks them up on a node."""

    places: tuple[int, ...]
    """Where in the node's list those stand that come before the first one that names nothing; none if one comes twice."""
    fits: int = 1
    """How many the first one that names nothing begins: none, or several; 1 where each names one."""
    repeated: bool = False
    """Two name one and the same."""


def resolve(entries: Iterable[object], uuids: Sequence[str]) -> Resolved:
    """What UUID prefixes name among the UUIDs of a node."""
    places: list[int] = []
    for entry in entries:
        fitting = [at for at, uuid in enumerate(uuids) if uuid.startswith(str(entry))]
        if len(fitting) != 1:
            return Resolved(tuple(places), len(fitting))
        if fitting[0] in places:
            return Resolved((), repeated=True)
        places += fitting
    return Resolved(tuple(places))


@lru_cache(256)
def read(spec: str | None, on_node: int | None = None, uuids: tuple[str, ...] | None = None) -> Devices:
    """Read a value of CUDA_VISIBLE_DEVICES for a node of `on_node` GPUs; None if unknown.

    `uuids` are those of the node's GPUs and of their MIG instances, None if unknown; they count only beside `on_node`.
    """
    if spec is None:
        return Devices(None, (), on_node)
    for prefix in ("GPU-", MIG):
        if spec.startswith(prefix):
            return _by_prefix(spec, prefix, () if on_node == 0 else uuids if on_node is not None else None)
    entries: list[int] = []
    items = spec.split(",")
    for position, item in enumerate(items):
        index = _leading_int(item.strip())
        if index is None:
            none = 0 if on_node is not None else None
            return Devices(spec, (), none, tuple(items[position:]), unreadable=item.strip())
        if index in entries:
            return Devices(spec, (), 0 if on_node is not None else None, tuple(items), repeated=True)
        if index < 0:
            return Devices(spec, tuple(entries), _usable(entries, on_node), tuple(items[position:]))
        entries.append(index)
    return Devices(spec, tuple(entries), _usable(entries, on_node))


def _by_prefix(spec: str, prefix: str, uuids: tuple[str, ...] | None) -> Devices:
    """UUIDs, which torch takes as they are written.

    Of MIG instances CUDA gives a process the first one only, and torch leaves it to CUDA whether that is there: it is
    looked up like a GPU, but for `MIG-GPU-…/1/0`, the name of drivers before 470. Source: NVIDIA's MIG user guide, CUDA 12.
    """
    entries: list[str] = []
    dropped: tuple[str, ...] = ()
    items = spec.split(",")
    for position, item in enumerate(items):
        if item in entries:
            return Devices(spec, (), None if uuids is None else 0, tuple(items), repeated=True)
        if not item.startswith(prefix):
            dropped = tuple(items[position:])
            break
        entries.append(item)
    most = 1 if prefix == MIG else len(entries)
    if uuids is None or entries[0].startswith(f"{MIG}GPU-"):
        return Devices(spec, tuple(entries), most if prefix == MIG else None, dropped)
    found = resolve(entries[:most], uuids)
    return Devices(spec, tuple(entries), len(found.places), dropped, repeated=found.repeated, fits=found.fits)


def _leading_int(text: str) -> int | None:
    """C's strtoul: the leading number of `1gpu`; −1 where there is none, None where torch takes something for one that is none."""
    end = next((n for n, c in enumerate(text) if not (c.isdigit() or (n == 0 and c in "+-"))), len(text))
    taken = text[:end]
    if len(taken.lstrip("+-")) > _LONGEST:
        return None
    try:
        int(taken or "-1")
    except ValueError:  # `-`, `²`
        return None
    found = _LEADING.match(taken)  # of digits that are not ASCII the driver, which decides, reads none
    return int(found.group(0)) if found else -1


def _usable(entries: list[int], on_node: int | None) -> int | None:
    if on_node is None:
        return None
    for position, index in enumerate(entries):
        if index >= on_node:
            return position
    return len(entries)
