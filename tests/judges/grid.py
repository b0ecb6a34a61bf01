"""The settings that the judges are asked about: every edge by name, plus a seeded random sample.

Keys: world (processes), bs and ebs (per-device train and evaluation batch), ga (gradient accumulation; null
means not given), ng (num_generations), eval (eval_strategy; null means not given), val (validation rows, 0 for no
validation data), spg (steps_per_generation), gbs (generation_batch_size), nge (num_generations_eval), sp
(sequence_parallel_size).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from typing import Any

Case = dict[str, Any]
COLUMNS = ["world", "bs", "ga", "ng", "eval", "val", "ebs", "spg", "gbs", "nge", "sp"]
DEFAULT: Case = {
    "world": 1,
    "bs": 1,
    "ga": 1,
    "ng": 2,
    "eval": "no",
    "val": 0,
    "ebs": 1,
    "spg": None,
    "gbs": None,
    "nge": None,
    "sp": 1,
}
VAL_ROWS = 64


def case(**changed: Any) -> Case:
    """A case: the defaults with these changes."""
    return {**DEFAULT, **changed}


def division_edges() -> Iterator[Case]:
    """Every num_generations from 0 to 17, then accumulation."""
    for world, bs, ng in product((1, 2, 3, 4, 6, 8), (1, 2, 4), range(18)):
        yield case(world=world, bs=bs, ng=ng)
    for world, bs, ga, ng in product((1, 2, 4, 5, 7), (1, 2), (2, 3, 4, None), (1, 2, 3, 4, 6, 8, 12, 16)):
        yield case(world=world, bs=bs, ga=ga, ng=ng)


def evaluation_edges() -> Iterator[Case]:
    """The evaluation batch: alone at fault, switched off, without data, and of too little data."""
    for world, ng, ebs, strategy in product((1, 2, 4, 8), (1, 2, 4, 8), (1, 2, 3, 4), ("steps", None, "epoch")):
        yield case(world=world, bs=8, ng=ng, ebs=ebs, eval=strategy, val=VAL_ROWS)
    for world, ng, ebs, strategy in product((1, 2), (2, 4, 8), (1, 3), ("steps", None)):
        yield case(world=world, bs=8, ng=ng, ebs=ebs, eval=strategy, val=0)
    for world, ebs, val in product((1, 2, 4, 8), (2, 4, 8), (1, 2, 4, 7, 8, 16)):
        yield case(world=world, bs=8, ng=2, ebs=ebs, eval="steps", val=val)


def generation_batch_edges() -> Iterator[Case]:
    """steps_per_generation and generation_batch_size: neither, one, both agreeing, both at odds, nonsense."""
    for world, bs, spg, ng in product((1, 2, 4), (1, 2), (None, 0, 1, 2, 3, 4), (2, 4)):
        unit = world * bs
        for gbs in (None, unit, 2 * unit, 3 * unit, 4 * unit, unit + 1):
            yield case(world=world, bs=bs, ga=2, ng=ng, spg=spg, gbs=gbs)


def nonsense_edges() -> Iterator[Case]:
    """Zero and negative numbers."""
    for world in (1, 2):
        for key, value in product(("bs", "ga", "ng", "spg", "gbs"), (0, -1, -2)):
            yield case(**{"world": world, "bs": 4, "ng": 2, key: value})
        for ng, gbs in product((0, 1), (None, 0, 3, 4, 8)):
            yield case(world=world, bs=2, ng=ng, gbs=gbs)
        for ng, ebs, spg in product((0, 1, 2), (0, 1, 3), (None, 0)):
            yield case(world=world, bs=4, ng=ng, ebs=ebs, eval="steps", val=VAL_ROWS, spg=spg)


def eval_generations_edges() -> Iterator[Case]:
    """num_generations_eval beside num_generations."""
    for nge, world, ebs, strategy in product((0, 1, 2, 3, 4, 8), (1, 2, 4), (1, 2, 4), ("steps", "no")):
        yield case(world=world, bs=4, ng=4, nge=nge, ebs=ebs, eval=strategy, val=VAL_ROWS)
    for ng, nge in product((0, 1, 2), (0, 1, 2, 3)):
        yield case(world=2, bs=4, ng=ng, nge=nge, ebs=2, eval="steps", val=VAL_ROWS)


def sequence_parallel_edges() -> Iterator[Case]:
    """sequence_parallel_size 2, and 4: does the world shrink in the rule?"""
    for world, bs, ga, ng in product((2, 4, 6, 8), (1, 2), (1, 2), (2, 3, 4, 6, 8, 12, 16)):
        yield case(world=world, bs=bs, ga=ga, ng=ng, sp=2)
    for world, ng, ebs in product((2, 4, 8), (2, 4, 8), (1, 2)):
        yield case(world=world, bs=8, ng=ng, ebs=ebs, eval="steps", val=VAL_ROWS, sp=2)
    for world, sp in ((1, 2), (3, 2), (5, 2), (4, 4), (8, 4), (6, 4)):
        yield case(world=world, bs=4, ng=2, sp=sp)


def sample(count: int, seed: int, worlds: tuple[int, ...] = tuple(range(1, 9))) -> Iterator[Case]:
    """Random settings; a generation batch that is given fits about half of the time."""
    rng = random.Random(seed)
    for _ in range(count):
        world, bs, ga = rng.choice(worlds), rng.randint(1, 8), rng.randint(1, 4)
        spg = rng.choice((1, 2, 3, 4)) if rng.random() < 0.4 else None
        gbs = None
        if rng.random() < 0.35:
            gbs = world * bs * (spg or rng.randint(1, 4)) if rng.random() < 0.6 else rng.randint(1, 96)
        strategy, val = rng.choice((("no", 0), ("steps", VAL_ROWS), (None, VAL_ROWS)))
        # Half of them divide something, else nearly all would be refused.
        wide = rng.randint(0, 17)
        ng = rng.choice([n for n in range(2, 18) if (world * bs) % n == 0] or [wide]) if rng.random() < 0.5 else wide
        ebs = rng.choice((1, 2, 4, bs))
        yield case(world=world, bs=bs, ga=ga, ng=ng, eval=strategy, val=val, ebs=ebs, spg=spg, gbs=gbs)


def with_eval_generations(cases: Iterator[Case], seed: int) -> Iterator[Case]:
    """The same cases, some with num_generations_eval."""
    rng = random.Random(seed)
    for one in cases:
        yield {**one, "nge": rng.choice((1, 2, 3, 4, 8)) if rng.random() < 0.3 else None}


def distinct(*parts: Iterator[Case]) -> list[Case]:
    """All cases of all parts, each once, in order."""
    seen: dict[tuple[Any, ...], Case] = {}
    for part in parts:
        for one in part:
            seen.setdefault(tuple(one[key] for key in COLUMNS), one)
    return list(seen.values())
