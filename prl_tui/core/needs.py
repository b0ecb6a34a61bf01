"""Fields that need each other, and values that the program fails with, as a recipe's `needs` have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prl_tui.core import values
from prl_tui.core.config import RunConfig, Source
from prl_tui.core.findings import Finding, Fix
from prl_tui.core.recipe import Field, Need, Recipe, Text
from prl_tui.core.steps import EPOCHS, MAX_STEPS
from prl_tui.core.value import replace
from prl_tui.i18n import t

ANY = "*"
"""In a condition: whatever the field is set to."""


def findings(config: RunConfig, wanted: Iterable[Need]) -> Iterator[Finding]:
    """Each of these needs that holds now and is not met."""
    unmet = _unmet(config, wanted)
    for need in unmet:
        found = _finding(config, need)
        rivals = [other for other in unmet if other is not need and other.field == need.field]
        yield _without_halves(config, found, rivals) if rivals else found


def codes(recipe: Recipe) -> frozenset[str]:
    """The codes of what a recipe's needs find."""
    return frozenset(need.code for need in of(recipe))


def _unmet(config: RunConfig, wanted: Iterable[Need]) -> list[Need]:
    """Those that hold and are not met; what is wrong by itself is said already, with its way out."""
    return [
        need
        for need in wanted
        if not any(map(config.wrong, (need.field, *need.instead, *need.where)))
        and _holds(config, need)
        and not _met(config, need)
    ]


def _without_halves(config: RunConfig, found: Finding, rivals: Iterable[Need]) -> Finding:
    """Only the ways out that meet what else is asked of the same field, where there are any."""
    whole = tuple(fix for fix in found.fixes if not _unmet(config.with_values(fix.changes, Source.FIX), rivals))
    return replace(found, fixes=whole or found.fixes)


def of(recipe: Recipe) -> tuple[Need, ...]:
    """What a recipe says, and what holds for every program that counts passes over its data."""
    return (*recipe.data.needs, *passes(recipe))


def passes(recipe: Recipe) -> Iterator[Need]:
    """No pass trains nothing, unless a number of steps decides. Source: transformers' Trainer, where max_steps > 0 does."""
    field = next((recipe.by_key[key] for key in EPOCHS if key in recipe.by_key), None)
    if field is None or field.type not in {"int", "float"} or (field.min is not None and field.min > 0):
        return
    where, why = {field.key: "0"}, Text(en=t("Nothing would be trained."))
    steps = recipe.by_key.get(MAX_STEPS)
    if steps is not None and steps.type == "int":
        yield Need(where=where, field=steps.key, positive=True, why=why)
    else:
        yield Need(where=where, field=field.key, values=(values.show(field, field.default or 1),), why=why)


def works(recipe: Recipe, field: Field) -> tuple[str, ...]:
    """The choices of a field without those that the program fails with, whatever the others say."""
    alone = [need.values for need in recipe.data.needs if of_itself(need) and need.field == field.key and need.values]
    return tuple(choice for choice in field.choices if all(choice in allowed for allowed in alone))


def of_itself(need: Need) -> bool:
    """The field's own value is all that it is about."""
    return set(need.where) == {need.field} and need.severity == "error"


def others(need: Need) -> tuple[str, ...]:
    """The fields of the condition, without the one that is asked for where that stands there too."""
    return tuple(key for key in need.where if key != need.field) or tuple(need.where)


def by_itself(field: Field) -> str:
    """What the program takes where it is not given the field, as far as the recipe says it; a switch is off then."""
    if field.unset is not None:
        return values.show(field, field.unset)
    return "false" if field.type == "bool" else ""


def _is_empty(config: RunConfig, key: str) -> bool:
    return config.value(key) in (None, (), "")


def _holds(config: RunConfig, need: Need) -> bool:
    return all(
        not _is_empty(config, key) if wanted == ANY else _says(config, key, wanted)
        for key, wanted in need.where.items()
    )


def _met(config: RunConfig, need: Need) -> bool:
    value = config.value(need.field)
    if need.unset:
        return _is_empty(config, need.field)
    if need.values and any(_says(config, need.field, wanted) for wanted in need.values):
        return True
    if _is_empty(config, need.field) or (need.positive and value <= 0):
        return not all(_is_empty(config, key) for key in need.instead)
    return not need.values


def _says(config: RunConfig, key: str, text: str) -> bool:
    """A field has the value that this text is, or the program takes that; 0.5 and 5e-1 are one number."""
    field, value = config.recipe.by_key[key], config.value(key)
    if _is_empty(config, key):
        return text == by_itself(field)
    return values.show(field, value) == text or (field.type == "float" and values.parse(field, text)[0] == value)


def _finding(config: RunConfig, need: Need) -> Finding:
    by_key = config.recipe.by_key
    said = t(" and ").join(f"{key}={config.text(key) or by_itself(by_key[key])}" for key in others(need))
    wanted = t(" or ").join((need.field, *need.instead))
    if of_itself(need):
        message = t("{said} does not work; {value} does.", said=said, value=need.values[0])
    elif need.unset and need.severity == "warning":
        message = t("With {said}, {wanted} is better left out.", said=said, wanted=need.field)
    elif need.unset:
        message = t("With {said}, {wanted} must not be set.", said=said, wanted=need.field)
    elif need.values:
        message = t("With {said}, {wanted} is needed.", said=said, wanted=f"{need.field}={need.values[0]}")
    else:
        message = t("With {said}, {wanted} must be set.", said=said, wanted=wanted)
    return Finding(need.code, need.severity, _at(need), message, str(need.why), tuple(_ways_out(config, need, by_key)))


def _at(need: Need) -> str:
    """The field to be filled in; where another's value is meant, the one that does not go with it."""
    if need.field in need.where:
        return need.field
    return need.field if not need.values and not need.positive else next(iter(need.where))


def _ways_out(config: RunConfig, need: Need, by_key: dict[str, Field]) -> Iterator[Fix]:
    """The value that is needed; then without what needs it: the preset's, or else its default, or not set."""
    if need.values:
        yield _to(config, by_key[need.field], need.values[0])
    if need.unset or (need.field in need.where and not of_itself(need) and not by_key[need.field].required):
        yield _to(config, by_key[need.field], None)
    for key, wanted in need.where.items():
        field = by_key[key]
        if need.unset and field.type != "choice":
            continue  # other counts of processes are another run
        if key == need.field or (wanted == ANY and field.default is not None):
            continue
        default = _before(config, field) if wanted != ANY else None
        if default is None and not field.template:
            default = field.default
        if need.positive and default is not None and values.parse(field, default)[0] == config.value(key):
            default = 1  # the recipe's own default trains nothing
        if default is None or values.show(field, values.parse(field, default)[0]) != config.text(key):
            yield _to(config, field, default)


def _before(config: RunConfig, field: Field) -> object:
    """The preset's value, where that is another and right by itself."""
    base = config.baseline()
    value = None if base.follows(field.key) or base.wrong(field.key) else base.value(field.key)
    return value if value is not None and value != config.value(field.key) else None


def _to(config: RunConfig, field: Field, value: object) -> Fix:
    old = config.text(field.key) or "–"
    if value is None:
        return Fix({field.key: None}, t("leave out {label}", label=field.label))
    new = values.show(field, values.parse(field, value)[0])
    return Fix({field.key: value}, t("{label} {old} → {new}", label=field.label, old=old, new=new))
