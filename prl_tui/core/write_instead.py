"""The way out of a file of the person's own: the plan writes one, with what theirs said as far as fields carry it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prl_tui.core import files, given, values
from prl_tui.core.config import RunConfig, Source, fill
from prl_tui.core.findings import Facts, Fix
from prl_tui.core.flat_yaml import Path
from prl_tui.core.given import Given
from prl_tui.core.templates import Template
from prl_tui.i18n import t
from prl_tui.lists import listed

MOST = 4
"""How many lost values are named."""


def ways_out(config: RunConfig, template: Template, facts: Facts) -> tuple[Fix, ...]:
    """The fix that lets the plan write a file; none where a value would be wrong that has no effect without it."""
    if not template.when or any(key not in config.settings for key in template.when):
        return ()
    carried: dict[str, Any] = {}
    lost: list[str] = []
    for one in config.recipe.data.write:
        known = given.find(facts.given, one) if one.when == template.when else None
        if known is not None:  # the same change replaces every file that it is asked for
            more, without = _carried(config, one, known)
            carried |= more
            lost += without
    after = config.with_values({**template.when, **carried}, Source.FIX)
    heard = (files.idle(config) | files.replaced(config)) - files.idle(after) - files.replaced(after)
    if any(after.settings[key].problem for key in heard):
        return ()
    label = (
        t("write it from these settings and the file's other values") if carried else t("write it from these settings")
    )
    if lost:
        names = [*lost[:MOST], "…"] if len(lost) > MOST else lost
        label = t("{change}, without {keys}", change=label, keys=listed(names))
    return (Fix({**template.when, **carried}, label),)


def _carried(config: RunConfig, template: Template, known: Given) -> tuple[dict[str, Any], list[str]]:
    """What holds now and would not be written: field → value, and the places of what no field carries."""
    written = config.with_values(template.when, Source.FIX)
    empty = {key for path, key in template.fields() if known.read.values.get(path, "") is None}
    carried, lost = {}, list(_lost(written, template, known))
    for key, value in given.values_of(config, template, known, files.idle(config)).items():
        unset = value is None and key in empty and not config.recipe.by_key[key].required
        if _own(config, key) or value == written.value(key) or (value is None and not unset):
            continue
        if config.with_values({key: value}, Source.FIX).settings[key].problem:  # a secret, which is not kept
            lost.append(next(".".join(path) for path, field in template.fields() if field == key))
        else:
            carried[key] = value
    return carried, lost


def _own(config: RunConfig, key: str) -> bool:
    """The person gave the field a value; one whose value they took away has the file's."""
    setting = config.settings[key]
    return setting.source > Source.PRESET and (setting.value is not None or bool(setting.problem))


def _lost(written: RunConfig, template: Template, known: Given) -> Iterator[str]:
    """The places of the file's values that will not be in the written one."""
    fields = {path: key for path, key in template.fields() if key not in files.LAUNCH}
    leaves: dict[Path, Any] = {
        path: fill(leaf, written) if isinstance(leaf, str) else leaf for path, leaf in template.leaves()
    }
    launched = {path for path, key in template.fields() if key in files.LAUNCH}
    own = {".".join(path) for path, key in fields.items() if _own(written, key)}
    for path, value in known.read.values.items():
        if value is None or path in launched or ".".join(path) in own:
            continue
        if path in fields:
            wrong = bool(values.parse(written.recipe.by_key[fields[path]], value)[1])
        else:
            wrong = path not in leaves or leaves[path] != value
        if wrong:
            yield values.cut(".".join(path))
    yield from (values.cut(name) for name in known.read.unread if name not in own)
    if known.read.rest_from is not None:
        yield t("line {n} and what follows", n=known.read.rest_from)
