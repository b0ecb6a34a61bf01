"""A recipe's `needs` once more, in bash: fields that need each other, for the values that take effect (`core.needs`).

A field that a script does not take from the environment has the file's value, so its part of a need is settled here;
where every part is, the need has been checked before there was a script.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prl_tui.core import needs, values, wordlist
from prl_tui.core.plan import LaunchPlan
from prl_tui.core.recipe import Field, Need
from prl_tui.export import bash_files, bash_overrides
from prl_tui.export.shell import literal, name_of
from prl_tui.i18n import t

_YES, _NO = "true", "false"
"""Tests of bash whose outcome is known."""


def rules(plan: LaunchPlan) -> Iterator[str]:
    """Lines that refuse what stops the program; what is only worth a warning is none of them."""
    for need in needs.of(plan.config.recipe):
        if need.severity == "error" and not _chosen(plan, need):
            test = _test(plan, need)
            if test not in (_YES, _NO):
                test = test[2:-3] if test.startswith("{ ") else test
                yield from (f"if {test}; then", f"  fail {literal(_sentence(plan, need))}", "fi")


def _chosen(plan: LaunchPlan, need: Need) -> bool:
    """The field's own choices are without the values that fail: the script's list of them refuses those."""
    return needs.of_itself(need) and plan.config.recipe.by_key[need.field].type == "choice"


def _test(plan: LaunchPlan, need: Need) -> str:
    """A test that the need holds and is not met."""
    kept = bash_overrides.fixed(plan) | bash_files.silent(plan).keys()
    if kept.issuperset({*need.where, need.field, *need.instead}):
        return _NO
    by_key = plan.config.recipe.by_key

    def given(key: str) -> str:
        return (_YES if plan.config.text(key) else _NO) if key in kept else _given(by_key[key])

    def equal(key: str, text: str) -> str:
        given_or_not = plan.config.text(key) or needs.by_itself(by_key[key])
        return (_YES if given_or_not == text else _NO) if key in kept else _equal(by_key[key], text)

    holds = _all(given(key) if text == needs.ANY else equal(key, text) for key, text in need.where.items())
    field = given(need.field)
    if need.unset:
        return _all((holds, field))
    if need.positive and field == _YES:
        field = _YES if (plan.config.number(need.field) or 0) > 0 else _NO
    elif need.positive and field != _NO:
        field = _all((field, f"(( {name_of(need.field)} > 0 ))"))
    instead = _any(map(given, need.instead))
    if not need.values:
        return _all((holds, _not(_any((field, instead)))))
    right = _any(equal(need.field, text) for text in need.values)
    return _all((holds, _not(_any((right, _all((_not(field), instead)))))))


def _given(field: Field) -> str:
    name = name_of(field.key)
    return f"(( ${{#{name}[@]}} ))" if field.type in wordlist.TYPES else f"[[ -n ${name} ]]"


def _equal(field: Field, text: str) -> str:
    """A test that a field's value is shown as this text, or the program takes that where it has none."""
    name = name_of(field.key)
    if text == needs.by_itself(field):
        return f"[[ -z ${name} || ${name} == {literal(text)} ]]"
    if field.type == "float":  # 0.5 and 5e-1 are one number
        same = f'! less "${name}" {text} && ! less {text} "${name}"'
        return f"{{ [[ -n ${name} ]] && {same}; }}" if values.is_decimal(text) else _NO
    if field.type not in wordlist.TYPES:
        return f"[[ ${name} == {literal(text)} ]]"
    words = values.parse(field, text)[0]
    if not words or values.show(field, words) != text:
        return _NO
    each = (f"[[ ${{{name}[{at}]}} == {literal(word)} ]]" for at, word in enumerate(words))
    return _all((f"(( ${{#{name}[@]}} == {len(words)} ))", *each))


def _not(test: str) -> str:
    if test.startswith("[[ -n ") and test.count("[[") == 1:
        return test.replace("-n", "-z", 1)
    return {_YES: _NO, _NO: _YES}.get(test) or f"! {test}"


def _all(tests: Iterable[str]) -> str:
    found = [test for test in tests if test != _YES]
    return _NO if _NO in found else _group(found, " && ") or _YES


def _any(tests: Iterable[str]) -> str:
    found = [test for test in tests if test != _NO]
    return _YES if _YES in found else _group(found, " || ") or _NO


def _group(tests: list[str], between: str) -> str:
    return f"{{ {between.join(tests)}; }}" if len(tests) > 1 else "".join(tests)


def _sentence(plan: LaunchPlan, need: Need) -> str:
    """The message of `core.needs`, by the variables that a person sets."""
    by_key = plan.config.recipe.by_key
    said = t(" and ").join(
        by_key[key].override + (f"={text}" if text != needs.ANY else "")
        for key, text in need.where.items()
        if key in needs.others(need)
    )
    wanted = t(" or ").join(by_key[key].override for key in (need.field, *need.instead))
    if needs.of_itself(need) and need.values:
        return t("{said} does not work; {value} does.", said=said, value=need.values[0])
    if need.values:
        return t(
            "With {said}, {wanted} is needed.", said=said, wanted=f"{by_key[need.field].override}={need.values[0]}"
        )
    if need.unset:
        return t("With {said}, {wanted} must not be set.", said=said, wanted=wanted)
    return t("With {said}, {wanted} must be set.", said=said, wanted=wanted)
