"""Which curves share a chart, and which chart follows which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from prl_tui.telemetry.series import Series

TOGETHER = ("loss", "eval_loss")
"""One scale: what falls in training and not in evaluation is seen at once."""


def charts(found: Mapping[str, Series], wanted: Sequence[str]) -> list[dict[str, Series]]:
    """The losses first, then the recipe's other curves in its order, then whatever else the run logs."""
    pair = {name: found[name] for name in TOGETHER if name in found}
    names = [name for name in wanted if name in found and name not in pair]
    names += [name for name in found if name not in pair and name not in names]
    return ([pair] if pair else []) + [{name: found[name]} for name in names]


def in_sight(all_charts: Sequence[dict[str, Series]], turned: int, room: int) -> list[dict[str, Series]]:
    """As many charts as there is room for: the first stays, the others come by turns; in the room of one, all do."""
    if room < 2 or len(all_charts) < 2:
        return [all_charts[turned % len(all_charts)]] if all_charts else [{}]
    first, *others = all_charts
    return [first, others[turned % len(others)]]
