"""A headless bash script: its own values, overridable one by one, checked, shown, and then the engine itself.

It fails closed: a value is matched before any arithmetic sees it, and nothing runs after a failure. It ends in
`exec`, so that its exit code is the engine's.
"""

from __future__ import annotations

from collections.abc import Iterator

from prl_tui.core.config import Source, template_keys
from prl_tui.core.plan import Activation, Argument, LaunchPlan, Variable, When
from prl_tui.core.recipe import Field
from prl_tui.core.values import number
from prl_tui.export import bash_rules
from prl_tui.export.model import Export, header
from prl_tui.export.shell import literal, name_of
from prl_tui.i18n import t

STRUCTURE = {"launcher", "training_env", "conda_hook"}
"""Fields that decide the script's shape: fixed in the file."""


def export(plan: LaunchPlan) -> Export:
    """The script of a plan."""
    lines = ["#!/usr/bin/env bash"]
    lines += [f"# {line}".rstrip() for line in header(plan)]
    example = next((f.override for f in plan.config.recipe.fields if f.group == "batch"), "PRL_MASTER_PORT")
    lines += [
        "# " + t("Each value can be overridden by its variable, for example {variable}=4; an empty one counts as unset.",
                 variable=example),
        "# shellcheck disable=SC2016  # " + t("values are literal"),
        "set -euo pipefail",
        "",
        *_functions(),
        *bash_rules.functions(plan),
        "",
        "# --- " + t("values") + " ---",
        *_values(plan),
        "",
        "# --- " + t("rules") + " ---",
        *bash_rules.rules(plan),
        "",
        "# --- " + t("environment") + " ---",
        *_activation(plan.activation),
        f'if [[ -n ${name_of("workdir")} ]]; then cd -- "${name_of("workdir")}"; fi',
        *_variables(plan),
        "",
        "# --- " + t("command") + " ---",
        *_command(plan),
        'printf \'%s\' "' + t("command") + ':"; printf \' %q\' "${command[@]}"; printf \'\\n\'',
        'exec "${command[@]}"',
    ]  # fmt: skip
    return Export("\n".join(lines) + "\n", executable=True)


def _functions() -> list[str]:
    whole = t("needs a whole number from $3 to $4; this is not one: ")
    decimal = t("needs a number from $3 to $4; this is not one: ")
    one_of = t("needs one of: ")
    empty = t("is empty")
    needed = t("is needed and has no value")
    return [
        "fail() { printf '" + t("error") + ': %s\\n\' "$*" >&2; exit 1; }',
        "from() { # true when the variable $1 overrides; origin says where the value comes from",
        '  if [[ -n ${!1-} ]]; then origin="environment $1"; return 0; fi',
        f'  if [[ -n ${{!1+set}} ]]; then origin="file, $1 {empty}"; else origin="file"; fi',
        "  return 1",
        "}",
        'show() { printf \'  %-32s %s  (%s)\\n\' "$1" "${2:--}" "$origin"; }',
        "whole() { # VARIABLE VALUE LEAST MOST",
        f'  [[ $2 =~ ^(0|-?[123456789][0123456789]{{0,14}})$ ]] || fail "$1 {whole}$2"',
        f'  (( $2 >= $3 && $2 <= $4 )) || fail "$1 {whole}$2"',
        "}",
        "decimal() { # VARIABLE VALUE LEAST MOST",
        "  local digits='[0123456789]'",
        "  [[ $2 =~ ^-?(0|[123456789]$digits*)?([.]$digits*)?([eE][+-]?$digits+)?$ && $2 =~ ^-?[.]?$digits ]] ||",
        f'    fail "$1 {decimal}$2"',
        f'  awk "BEGIN {{ exit !($2 >= $3 && $2 <= $4) }}" </dev/null || fail "$1 {decimal}$2"',
        "}",
        "one_of() { # VARIABLE VALUE CHOICE...",
        "  local variable=$1 value=$2 choice",
        "  shift 2",
        '  for choice in "$@"; do if [[ $value == "$choice" ]]; then return 0; fi; done',
        f'  fail "$variable {one_of}$*"',
        "}",
        f'needed() {{ [[ -n $2 ]] || fail "$1 {needed}"; }}',
    ]


def _values(plan: LaunchPlan) -> Iterator[str]:
    """The fields, templates after the fields that they name."""
    config = plan.config
    fields = [field for field in config.recipe.fields if field.key not in STRUCTURE]
    yield "printf '%s\\n' " + literal(t("the configuration that takes effect:"))
    for field in sorted(fields, key=lambda field: _is_template(plan, field)):
        yield from _value(plan, field)


def _is_template(plan: LaunchPlan, field: Field) -> bool:
    return field.template and plan.config.settings[field.key].source is Source.DEFAULT


def _value(plan: LaunchPlan, field: Field) -> Iterator[str]:
    name, variable = name_of(field.key), field.override
    value = plan.config.value(field.key)
    if field.type == "list":
        words = " ".join(literal(str(word)) for word in value or ())
        yield f"{name}=({words})"
        yield f'if from {variable}; then read -r -a {name} <<<"${variable}"; fi'
        yield f'show {literal(field.key)} "${{{name}[*]-}}"'
        return
    yield f"{name}={_default(plan, field)}"
    yield f"if from {variable}; then {name}=${variable}; fi"
    yield from _check(field, name, variable, value is not None)
    yield f'show {literal(field.key)} "${name}"'


def _default(plan: LaunchPlan, field: Field) -> str:
    setting = plan.config.settings[field.key]
    if _is_template(plan, field) and isinstance(setting.value, str):
        text = literal(setting.value)
        for key in template_keys(setting.value):
            if key in plan.config.settings:
                text = text.replace(f"{{{key}}}", f"'\"${{{name_of(key)}}}\"'")
        return text
    text = plan.config.text(field.key)
    return literal(text) if text else "''"


def _check(field: Field, name: str, variable: str, is_set: bool) -> Iterator[str]:
    unless_empty = "" if is_set else f"[[ -z ${name} ]] || "
    if field.required:
        yield f'needed {variable} "${name}"'
    least = number(field.min) if field.min is not None else "-999999999999999"
    most = number(field.max) if field.max is not None else "999999999999999"
    if field.type == "int":
        yield f'{unless_empty}whole {variable} "${name}" {least} {most}'
    elif field.type == "float":
        yield f'{unless_empty}decimal {variable} "${name}" {least} {most}'
    elif field.type in {"choice", "bool"}:
        choices = field.choices if field.type == "choice" else field.words
        yield f'{unless_empty}one_of {variable} "${name}" {" ".join(literal(choice) for choice in choices)}'


def _activation(activation: Activation) -> list[str]:
    if activation.kind == "venv":
        told = t("there is no virtual environment here: ")
        script = literal(activation.name.rstrip("/") + "/bin/activate")
        return [
            f"activate={script}",
            f'[[ -r $activate ]] || fail "{told}$activate"',
            "set +u",
            "# shellcheck disable=SC1090",
            f'source "$activate" || fail "{told}$activate"',
            "set -u",
        ]
    if activation.kind != "conda":
        return []
    told = t("conda's etc/profile.d/conda.sh is not here; set conda_hook: ")
    failed = t("this conda environment could not be activated: ")
    name = literal(activation.name)
    find = (
        f"hook={literal(activation.hook)}"
        if activation.hook
        else "hook=$(conda info --base 2>/dev/null || true)/etc/profile.d/conda.sh"
    )
    return [
        find,
        f'[[ -r $hook ]] || fail "{told}$hook"',
        "set +u",
        "# shellcheck disable=SC1090",
        f'source "$hook" || fail "{told}$hook"',
        f'conda activate {name} || fail "{failed}"{name}',
        "set -u",
    ]


def _variables(plan: LaunchPlan) -> Iterator[str]:
    for variable in plan.variables:
        yield from _variable(variable)


def _variable(variable: Variable) -> Iterator[str]:
    if not variable.key:
        yield f"export {variable.name}={literal(variable.value or '')}"
        return
    name = name_of(variable.key)
    test = _condition(variable.when)
    if variable.value is None or test:
        yield f'if {test + " && " if test else ""}[[ -n ${name} ]]; then export {variable.name}="${name}"; fi'
    else:
        yield f'export {variable.name}="${name}"'


def _condition(when: When) -> str:
    nodes, processes, port = name_of("nnodes"), name_of("nproc_per_node"), name_of("master_port")
    return {
        "": "",
        "several-nodes": f"(( {nodes} > 1 ))",
        "several-processes": f"(( {nodes} > 1 || {processes} > 1 ))",
        "no-port": f"(( {nodes} < 2 )) && [[ -z ${port} ]]",
    }[when]


def _command(plan: LaunchPlan) -> Iterator[str]:
    first, *rest = plan.arguments
    yield f"command=({' '.join(literal(word) for word in first.words)})"
    for argument in rest:
        yield from _argument(plan, argument)


def _argument(plan: LaunchPlan, argument: Argument) -> Iterator[str]:
    test = _condition(argument.when)
    if not argument.key:
        words = argument.words or (("--standalone",) if argument.when == "no-port" else ())
        add = f"command+=({' '.join(literal(word) for word in words)})"
        yield f"if {test}; then {add}; fi" if test else add
        return
    name = name_of(argument.key)
    is_list = plan.config.recipe.by_key[argument.key].type == "list"
    value = f'"${{{name}[@]}}"' if is_list else f'"${name}"'
    add = f'command+=("{argument.flag}=${name}")' if argument.joined else f"command+=({argument.flag} {value})"
    if not argument.words:
        given = f"(( ${{#{name}[@]}} ))" if is_list else f"[[ -n ${name} ]]"
        test = f"{test} && {given}" if test else given
    yield f"if {test}; then {add}; fi" if test else add
