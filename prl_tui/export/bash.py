"""A headless bash script: its own values, overridable one by one, checked, shown, and then the engine itself.

It fails closed: a value is matched before any arithmetic sees it, and nothing runs after a failure. It ends in
`exec`, so that its exit code is the engine's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from prl_tui.core import needs, wordlist
from prl_tui.core.config import template_keys
from prl_tui.core.config import usual as usual_fields
from prl_tui.core.plan import Argument, LaunchPlan, Variable, When
from prl_tui.core.recipe import Field
from prl_tui.core.values import number
from prl_tui.export import bash_files, bash_overrides, bash_rules, bash_secrets, bash_values, bash_words
from prl_tui.export.model import Export, Format, header, one_line, values_mark
from prl_tui.export.shell import literal, name_of, no_arguments
from prl_tui.i18n import t
from prl_tui.lists import listed


def export(plan: LaunchPlan, given: Collection[str] | None = None) -> Export:
    """The script of a plan. `given`: fields whose values what runs it has handed over, by the variables that override."""
    placed = given is not None
    lines = [
        "#!/usr/bin/env bash",
        # for the whole file, so before its first command: the values stand as they are
        "# shellcheck disable=SC1003,SC2016,SC2054,SC2088,SC2209",
        '[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"',
    ]
    lines += [one_line(f"# {line}".rstrip()) for line in header(plan)]
    example = bash_overrides.example_of(plan, given or ())
    lines += [
        *bash_overrides.told(plan, example, given or ()),
        *bash_files.told(plan),
        "set -euo pipefail",
        "",
        *_functions(plan),
        *([] if placed else _replaced(plan)),
        no_arguments(example),
        *bash_rules.functions(plan),
        *bash_files.functions(plan),
        _strangers(plan),
        "",
        values_mark(),
        *_values(plan),
        "",
        "# --- " + t("rules") + " ---",
        *bash_rules.rules(plan),
        "",
        "# --- " + t("environment") + " ---",
        *_activation(plan),
        *_workdir(plan),
        *_globs(plan),
        *_variables(plan, placed),
        *bash_files.write(plan),
        "",
        "# --- " + t("command") + " ---",
        *_command(plan),
        'printf \'%s\' "' + t("command") + ':"; printf \' %q\' "${command[@]}"; printf \'\\n\'',
        'exec "${command[@]}"',
    ]  # fmt: skip
    # Only a value has a CR, between single quotes. sbatch refuses a file with CR LF anywhere in it, and editors and git
    # make LF of it: bash's own escape has neither.
    return Export(("\n".join(lines) + "\n").replace("\r\n", "'$'\\r''\n"), executable=True)


def _one_file(sentence: str) -> list[str]:
    return [
        "one_file() { # VARIABLE PATTERN: sets file to the one file that matches",
        "  local found",
        '  mapfile -t found < <(compgen -G "$2" || true)',
        f'  (( ${{#found[@]}} == 1 )) || fail "$1 {sentence}$2 (${{#found[@]}})"',
        "  file=${found[0]}",
        "}",
    ]


def _globs(plan: LaunchPlan) -> Iterator[str]:
    """Patterns become the one file that matches, where the job runs."""
    for field in plan.config.recipe.fields:
        if field.glob:
            name = name_of(field.key)
            yield f'one_file {field.override} "${name}"; {name}=$file'


def _functions(plan: LaunchPlan) -> list[str]:
    whole = t("needs a whole number from $3 to $4; this is not one: ")
    decimal = t("needs a number from $3 to $4; this is not one: ")
    one_of = t("needs one of: ")
    file, unset = t("file"), t(", {words}", words="$1 " + t("is empty"))
    one_file = t("must match exactly one file: ")
    needed = t("is needed and has no value")
    types = {field.type for field in plan.config.recipe.fields}
    hidden = t("holds a secret, which no log keeps: give it by a variable that the program itself reads")
    fixed = t("cannot be changed here; export again with another value. In this file it is: ")
    return [
        *bash_words.VISIBLE,
        'fail() { visible "$*"; printf \'' + t("error: ") + '%s\\n\' "$shown" >&2; exit 1; }',
        *bash_secrets.function(),
        f"hidden={literal(hidden)}",
        "from() { # true when the variable $1 overrides; origin says where the value comes from",
        "  if [[ -n ${!1-} ]]; then",
        '    if secret "${!1}"; then fail "$1 $hidden"; fi',
        f'    origin="{t("environment")} $1"; return 0',
        "  fi",
        f'  if [[ -n ${{!1+set}} ]]; then origin="{file}{unset}"; else origin="{file}"; fi',
        "  return 1",
        "}",
        'show() { visible "${2:--}"; printf \'  %-32s %s  (%s)\\n\' "$1" "$shown" "$origin"; }',
        "fixed() { # KEY VARIABLE VALUE",
        f'  if from "$2" && [[ ${{!2}} != "$3" ]]; then fail "$2 {fixed}${{3:--}}"; fi',
        f'  origin="{file}"; show "$1" "$3"',
        "}",
        "whole() { # VARIABLE VALUE LEAST MOST",
        f'  [[ $2 =~ ^(0|-?[123456789][0123456789]{{0,14}})$ ]] || fail "$1 {whole}$2"',
        f'  (( $2 >= $3 && $2 <= $4 )) || fail "$1 {whole}$2"',
        "}",
        *(bash_values.decimal(decimal) if "float" in types else ()),
        *(bash_values.json(t("needs JSON; this is not: ")) if "json" in types else ()),
        "one_of() { # VARIABLE VALUE CHOICE...",
        "  local variable=$1 value=$2 choice",
        "  shift 2",
        '  for choice in "$@"; do if [[ $value == "$choice" ]]; then return 0; fi; done',
        f'  fail "$variable {one_of}$*"',
        "}",
        *_unread(),
        *(_one_file(one_file) if any(field.glob for field in plan.config.recipe.fields) else ()),
        *_free(plan),
        f'needed() {{ [[ -n $2 ]] || fail "$1 {needed}"; }}',
    ]


def _free(plan: LaunchPlan) -> list[str]:
    """Functions for lists, free arguments and variables, where a recipe has them."""
    types = {field.type for field in plan.config.recipe.fields}
    lines = []
    if types.intersection(wordlist.TYPES):
        told = t("has a quote that is left open: ")
        lines += [line.replace("TOLD", told) for line in bash_words.SPLIT]
    if "list" in types:
        empty = t("has an empty item")
        lines += [line.replace("EMPTY", empty) for line in bash_words.ITEMS]
    if "variables" in types:
        wrong, missing = t("needs NAME=VALUE entries; this is not one: "), t("this variable is needed and not set: ")
        lines += [line.replace("WRONG", wrong).replace("MISSING", missing) for line in bash_words.FREE]
    return lines


def _unread() -> list[str]:
    told = literal(t("warning: nothing reads this variable: "))
    near = t("; the nearest name is ")
    return [line.replace("TOLD", told).replace("NEAREST", near) for line in bash_words.NEAR]


def _strangers(plan: LaunchPlan) -> str:
    """Says which `PRL_*` variables nothing reads."""
    recipe = plan.config.recipe
    names = {field.override for field in recipe.fields}
    known = "|".join(["PRL_TUI_*", *sorted(names | ({bash_files.PLACE_VARIABLE} if plan.files else set()))])
    usual = " ".join(field.override for field in usual_fields(recipe))
    return f'for name in ${{!PRL_@}}; do case $name in {known}) ;; *) unread "$name" {usual} ;; esac; done'


def _values(plan: LaunchPlan) -> Iterator[str]:
    """The fields, templates after the fields that they name."""
    config = plan.config
    fixed = bash_overrides.fixed(plan)
    silent = bash_files.silent(plan)
    fields = [field for field in config.recipe.fields if field.key not in fixed | silent.keys()]
    yield "printf '%s\\n' " + literal(t("the configuration that takes effect:"))
    for field in config.recipe.fields:
        if field.key in silent:
            yield f"if from {field.override}; then fail {literal(f'{field.override} {silent[field.key]}')}; fi"
        elif field.key in fixed:
            yield f"fixed {literal(field.key)} {field.override} {literal(config.text(field.key))}"
    unknown = bash_overrides.flagless(plan)
    for field in sorted(fields, key=lambda field: plan.config.follows(field.key)):
        yield from _value(plan, field) if field.key not in unknown else _refused(field, unknown[field.key])


def _refused(field: Field, why: str) -> Iterator[str]:
    """A field that the engine has no flag for: it stays without a value, whatever the environment says."""
    yield f"{name_of(field.key)}={'()' if field.type in wordlist.TYPES else literal('')}"
    yield f"if from {field.override}; then fail {literal(f'{field.override}: {why}')}; fi"
    yield f"show {literal(field.key)} ''"


def _value(plan: LaunchPlan, field: Field) -> Iterator[str]:
    name, variable = name_of(field.key), field.override
    value = plan.config.value(field.key)
    if field.type in wordlist.TYPES:
        words = " ".join(literal(str(word)) for word in value or ())
        yield f"{name}=({words})"
        free = field.type == "variables"
        keep = f' if named "${{found[@]}}"; then fail "{variable} $hidden"; fi;' if free else ""
        keep += f" items {variable} " + '"${found[@]}";' if field.type == "list" else ""
        yield f'if from {variable}; then split {variable} "${variable}";{keep} {name}=("${{found[@]}}"); fi'
        if field.required:
            yield f'needed {variable} "${{{name}[*]-}}"'
        yield f'show {literal(field.key)} "${{{name}[*]-}}"'
        return
    yield f"{name}={_default(plan, field)}"
    followed = listed(template_keys(plan.config.settings[field.key].value)) if plan.config.follows(field.key) else ""
    otherwise = (
        f" else origin+={literal(t(', {words}', words=t('follows {keys}', keys=followed)))};" if followed else ""
    )
    yield f"if from {variable}; then {name}=${variable};{otherwise} fi"
    choices = needs.works(plan.config.recipe, field)
    yield from _check(field, name, variable, value is not None, choices)
    yield f'show {literal(field.key)} "${name}"'


def _default(plan: LaunchPlan, field: Field) -> str:
    setting = plan.config.settings[field.key]
    if plan.config.follows(field.key):
        text = literal(setting.value)
        for key in template_keys(setting.value):
            if key in plan.config.settings:
                text = text.replace(f"{{{key}}}", f"'\"${{{name_of(key)}}}\"'")
        return text
    text = plan.config.text(field.key)
    return literal(text) if text else "''"


def _check(field: Field, name: str, variable: str, is_set: bool, choices: tuple[str, ...]) -> Iterator[str]:
    unless_empty = "" if is_set else f"[[ -z ${name} ]] || "
    if field.required:
        yield f'needed {variable} "${name}"'
    least = number(field.min) if field.min is not None else "-999999999999999"
    most = number(field.max) if field.max is not None else "999999999999999"
    if field.type == "int":
        yield f'{unless_empty}whole {variable} "${name}" {least} {most}'
        if field.multiple > 1:
            told = t("{variable} must be a multiple of {factor}: ", variable=variable, factor=field.multiple)
            yield f'(( ${{{name}:-0}} % {field.multiple} == 0 )) || fail "{told}${name}"'
    elif field.type == "float":
        yield f'{unless_empty}decimal {variable} "${name}" {least} {most}'
    elif field.type == "json":
        yield f'{unless_empty}json {variable} "${name}"'
    elif field.type in {"choice", "bool"}:
        known = choices if field.type == "choice" else field.words
        yield f'{unless_empty}one_of {variable} "${name}" {" ".join(map(literal, known))}'


def _home(name: str) -> str:
    """A path's leading `~/` as a shell expands it where nothing is quoted."""
    return f'${{{name}/#\\~\\//"${{HOME-}}"/}}'  # quoted: bash 5.2 puts the match in place of a bare &


def _workdir(plan: LaunchPlan) -> list[str]:
    if "workdir" not in plan.config.recipe.by_key:
        return []
    name, variable = name_of("workdir"), plan.config.recipe.by_key["workdir"].override
    told = t("the working directory cannot be entered: ")
    return [
        f"if [[ -n ${name} ]]; then",
        f"  workdir={_home(name)}",
        "  if [[ $workdir != /* ]]; then workdir=./$workdir; fi",
        f'  cd "$workdir" 2>/dev/null || fail "{variable}: {told}$workdir"',
        "fi",
    ]


def _activation(plan: LaunchPlan) -> list[str]:
    activation = plan.activation
    if activation.kind == "venv":
        told = t("there is no virtual environment here: ")
        moved = t("this virtual environment was made for another place, which it would activate: ")
        return [
            f"activate={literal(activation.name.rstrip('/') + '/bin/activate')}",
            f"activate={_home('activate')}",
            f'[[ -r $activate ]] || fail "{told}$activate"',
            "set +u",
            "# shellcheck disable=SC1090",
            f'source "$activate" || fail "{told}$activate"',
            "set -u",
            # a copied one names the old place, an old Python's one loses a path with $ in it: the engine would be another's
            f'[[ -z ${{VIRTUAL_ENV-}} || $VIRTUAL_ENV -ef ${{activate%/bin/activate}} ]] || fail "{moved}$VIRTUAL_ENV"',
        ]
    if activation.kind == "python":
        told = t("there is no such interpreter here: ")
        return [
            f"interpreter={literal(activation.name)}",
            f"interpreter={_home('interpreter')}",
            f'[[ -x $interpreter ]] || fail "{told}$interpreter"',
            'export PATH="${interpreter%/*}:$PATH"',
        ]
    if activation.kind != "conda":
        return []
    told = t("conda's etc/profile.d/conda.sh is not here; set conda_hook: ")
    failed = t("this conda environment could not be activated: ")
    name = literal(activation.name)
    return [
        f"hook={_home(name_of('conda_hook')) if 'conda_hook' in plan.config.recipe.by_key else ''}",
        "if [[ -z $hook ]]; then hook=$(conda info --base 2>/dev/null || true)/etc/profile.d/conda.sh; fi",
        f'[[ -r $hook ]] || fail "{told}$hook"',
        "set +u",
        "# shellcheck disable=SC1090",
        f'source "$hook" || fail "{told}$hook"',
        f'conda activate {name} || fail "{failed}"{name}',
        "set -u",
    ]


def _own_name(plan: LaunchPlan, variable: Variable) -> str:
    """The variable that overrides one which the script sets, where that has another name; or ""."""
    field = plan.config.recipe.by_key.get(variable.key) if variable.key else None
    return "" if field is None or field.type == "variables" or field.override == variable.name else field.override


def _replaced(plan: LaunchPlan) -> list[str]:
    if not any(_own_name(plan, variable) for variable in plan.variables):
        return []
    told = t("warning: {name}={old} is set here, but this script sets {new}; {variable} overrides it",
             name="$1", old="${!1}", new="$2", variable="$3")  # fmt: skip
    return [
        "replaced() { # NAME VALUE VARIABLE: says that NAME had another value than the script now sets",
        f'  if [[ -n ${{!1+set}} && ${{!1}} != "$2" ]]; then visible "{told}"; printf \'%s\\n\' "$shown" >&2; fi',
        "}",
    ]


def _variables(plan: LaunchPlan, placed: bool) -> Iterator[str]:
    free = {field.key: field.override for field in plan.config.recipe.fields if field.type == "variables"}
    for variable in plan.variables:
        if variable.key not in free:
            yield _variable(variable, "" if placed else _own_name(plan, variable))
    for key, override in free.items():
        yield f'free {override} ${{{name_of(key)}[@]+"${{{name_of(key)}[@]}}"}}'


def _variable(variable: Variable, own_name: str) -> str:
    if not variable.key:
        return f"export {variable.name}={literal(variable.value or '')}"
    name = name_of(variable.key)
    test = _condition(variable.when)
    told = f'replaced {variable.name} "${name}" {own_name}; ' if own_name else ""
    if variable.value is None or test:
        test = f"{test} && " if test else ""
        return f'if {test}[[ -n ${name} ]]; then {told}export {variable.name}="${name}"; fi'
    return f'{told}export {variable.name}="${name}"'


def _condition(when: When) -> str:
    nodes, processes = (f"${{{name_of(key)}:-1}}" for key in ("nnodes", "nproc_per_node"))
    port = f"${{{name_of('master_port')}-}}"
    return {
        "": "",
        "several-nodes": f"(( {nodes} > 1 ))",
        "several-processes": f"(( {nodes} > 1 || {processes} > 1 ))",
        "no-port": f"(( {nodes} < 2 )) && [[ -z {port} ]]",
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
    field = plan.config.recipe.by_key.get(argument.key)
    if field is None:  # a recipe without this shared field
        return
    if argument.not_alone:
        yield from bash_words.not_alone(argument)
        return
    name, flag = name_of(argument.key), literal(argument.flag)
    is_list = field.type in wordlist.TYPES
    value = f'${{{name}[@]+"${{{name}[@]}}"}}' if is_list else f'"${name}"'
    amount = f"$(( {name} * ${{{name_of(argument.times)}:-1}} ))" if _counts(plan, argument) else f"${name}"
    add = (
        f'command+=({flag}="{amount}")'
        if argument.joined
        else f"command+=({f'{flag} ' if argument.flag else ''}{value})"
    )
    if not argument.words:
        given = f"(( ${{#{name}[@]}} ))" if is_list else f"[[ -n ${name} ]]"
        test = f"{test} && {given}" if test else given
    if argument.unless:
        unset = f"[[ -z ${name_of(argument.unless)} ]]"
        test = f"{unset} && {test}" if test else unset
    yield f"if {test}; then {add}; fi" if test else add


def _counts(plan: LaunchPlan, argument: Argument) -> bool:
    """The argument is a product, and the recipe has both of its fields."""
    return bool(argument.times) and argument.times in plan.config.recipe.by_key


FORMAT = Format("bash", ".sh", export)
