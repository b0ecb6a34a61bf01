"""The rows to train on, where a share of the data is split off for evaluation, and what to do where none is left."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prl_tui.core import strategies, values
from prl_tui.core.config import RunConfig
from prl_tui.core.findings import Facts, Finding, Fix
from prl_tui.core.stacks import Stack
from prl_tui.i18n import t

RATIO = "split_dataset_ratio"
DEFAULT = 0.01
"""The share of ms-swift before 3.6 where none is given."""
SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)
"""What is tried in place of a share that leaves too little, on either side."""
CODES = {"too-few-rows", "eval-rows"}
"""Findings that another share can mend."""


def train_rows(config: RunConfig, stack: Stack, rows: int | None) -> int | None:
    """The rows that are left to train on when a share of them is split off for evaluation; None for a wrong share too."""
    if config.wrong(RATIO) and not _has_its_own(config):
        return None
    ratio = _share(config, stack)
    if not rows or not ratio:
        return rows
    return rows - max(int(rows * ratio), 1)  # one row at the least, however small the share: ms-swift 3.3 to 4.6


def _share(config: RunConfig, stack: Stack) -> float | None:
    """What is split off; nothing where validation data is named, or nothing is evaluated (`--eval_strategy no` sets it to 0)."""
    never = strategies.evaluating(strategies.told(config)) == strategies.NEVER
    if never or _has_its_own(config):
        return None
    ratio: float | None = config.value(RATIO) if RATIO in config.settings else None
    return DEFAULT if ratio is None and stack.default_split else ratio


def val_rows(config: RunConfig, stack: Stack, facts: Facts) -> int | None:
    """The rows of the validation data: its own, or those that are split off the training data."""
    train = train_rows(config, stack, facts.rows)
    if facts.val_rows is not None or facts.rows is None or train is None or train == facts.rows:
        return facts.val_rows
    return facts.rows - train


def nothing_left(config: RunConfig, stack: Stack, rows: int | None) -> Finding | None:
    """The data has no rows, or all of them are split off; None where there is something to train on, or nothing is known.

    ms-swift takes a share of 1 for "all of it is validation data" and trains on None (its loader does so on purpose).
    """
    why = t("There is nothing to train on.")
    if rows == 0:
        named = next((key for key in config.recipe.data.batch.rows if key in config.settings and config.text(key)), "")
        return Finding("no-rows", "error", named, t("The data has no rows."), why)
    if rows is None or train_rows(config, stack, rows) != 0:
        return None
    share = config.text(RATIO) if RATIO in config.settings and config.text(RATIO) else DEFAULT
    message = t(
        "{key} {share} leaves none of the {rows} {rows:row|rows} to train on.", key=RATIO, share=share, rows=f"{rows:,}"
    )
    return Finding("no-rows", "error", RATIO if RATIO in config.settings else "", message, why)


def ways_out(config: RunConfig, stack: Stack, works: Callable[[RunConfig], bool]) -> tuple[Fix, ...]:
    """Other shares with which a config works: the preset's, or none, and the nearest of `SHARES`."""
    now = _share(config, stack)
    if not now or RATIO not in config.settings or config.settings[RATIO].problem:
        return ()
    from prl_tui.core import fixes, repairs

    field = config.recipe.by_key[RATIO]
    none = 0 if stack.default_split else None  # not to set it would split off the default
    shares = [repairs.preset_value(config, RATIO) or none, *sorted(SHARES, key=lambda share: abs(share - now))]
    right = [share for share in dict.fromkeys(shares) if share != now and not values.parse(field, share)[1]]
    return tuple(fixes.as_fix(config, {RATIO: share}) for share in _first(config, right, works))


def _first(config: RunConfig, shares: list[float | None], works: Callable[[RunConfig], bool]) -> Iterator[float | None]:
    from prl_tui.core import repairs

    found = 0
    for share in shares:
        if found < 2 and works(repairs.applied(config, {RATIO: share})):
            found += 1
            yield share


def _has_its_own(config: RunConfig) -> bool:
    """The validation data is named: nothing is split off."""
    return "val_dataset" in config.settings and bool(config.value("val_dataset"))
