"""Files of a plan in shell text: exactly as they are for a plain command, and filled again by an exported script.

A script writes each of its files from the values that take effect, so that a variable which overrides a field holds in a
file too. Which lines a file has is settled when the script is exported; what cannot change is refused, never ignored.
"""

from __future__ import annotations

from collections.abc import Iterator

from prl_tui.core import files, wordlist
from prl_tui.core.files import Hole, Written
from prl_tui.core.plan import FOLDER, LaunchPlan
from prl_tui.core.recipe import Field
from prl_tui.core.templates import PLACE
from prl_tui.export.shell import literal, name_of
from prl_tui.i18n import t

PLACE_VARIABLE = "PRL_FILES_DIR"
"""Where a script puts its files; a new temporary directory without it."""


def here_docs(plan: LaunchPlan) -> list[str]:
    """Commands that write the plan's files below the working directory, character for character."""
    if not plan.files:
        return []
    lines = [f"mkdir -p {FOLDER}"]
    for file in plan.files:
        text = file.text(FOLDER)
        end = end_of(text)
        lines += [f"cat >{FOLDER}/{file.name} <<'{end}'", *text.removesuffix("\n").split("\n"), end]
    return lines


def end_of(text: str) -> str:
    """A line that the text does not have."""
    lines, end = set(text.split("\n")), "END_OF_FILE"
    while end in lines:
        end += "_"
    return end


def settled(plan: LaunchPlan) -> frozenset[str]:
    """Fields whose value a script cannot change: they decide which files there are and which lines these have."""
    config = plan.config
    when = {key for template in config.recipe.data.write for key in template.when}
    alone = files.carried(config.recipe) - files.idle(config)
    return frozenset(when | {key for key in alone if config.value(key) is None or _is_json(config.recipe.by_key[key])})


def _is_json(field: Field) -> bool:
    return files.kind_of(field) == "json"


def silent(plan: LaunchPlan) -> dict[str, str]:
    """Fields that a script does not take at all, and why: their file is another one."""
    own = t("has no effect: this script writes that file itself")
    other = t("has no effect: it stands in a file that this script does not write")
    return {**{file.key: own for file in plan.files if file.key}, **dict.fromkeys(files.idle(plan.config), other)}


def told(plan: LaunchPlan) -> list[str]:
    """A script's comment on where its files go."""
    sentence = t("Its files go to a new temporary directory; {variable} names another.", variable=PLACE_VARIABLE)
    return [f"# {sentence}"] if plan.files else []


def functions(plan: LaunchPlan) -> list[str]:
    """What the blocks of `write` call."""
    if not plan.files:
        return []
    told = t("cannot be written: ")
    kinds = {hole.kind for file in plan.files for hole in file.holes}
    return [
        *(line.replace("NO_UTF8", t("this is not UTF-8 text and cannot stand in a file: ")) for line in TEXT),
        *(NUMBER if "number" in kinds else ()),
        *(LIST if "list" in kinds else ()),
        "put() { # NAME: writes its input beside that file and renames it",
        '  { cat >"$files/.$1.$$" && mv -f "$files/.$1.$$" "$files/$1"; } 2>/dev/null || fail "' + told + '$files/$1"',
        "}",
    ]


def write(plan: LaunchPlan) -> Iterator[str]:
    """Lines that write the files, for the values that take effect."""
    if not plan.files:
        return
    told = t("cannot be written: ")
    yield ""
    yield "# --- " + t("files") + " ---"
    yield f"files=${{{PLACE_VARIABLE}-}}"
    yield (
        'if [[ -z $files ]]; then files=$(mktemp -d "${TMPDIR:-/tmp}/prl-files.XXXXXXXX") || '
        f'fail "{told}${{TMPDIR:-/tmp}}"; fi'
    )
    yield "if [[ $files != /* ]]; then files=$PWD/$files; fi"
    yield f'mkdir -p "$files" 2>/dev/null || fail "{told}$files"'
    for file in plan.files:
        yield from _write(plan, file)


def _write(plan: LaunchPlan, file: Written) -> Iterator[str]:
    text = ""
    names: dict[Hole, str] = {}
    for piece in file.pieces:
        if isinstance(piece, str):
            text += piece.replace("\\", "\\\\").replace("$", "\\$").replace("`", "\\`")
        else:
            name = names.setdefault(piece, f"in_{len(names) + 1}")
            text += f"${{{name}}}"
    for hole, name in names.items():
        yield from _fill(plan, hole, name)
    end = end_of(text)
    yield f"put {file.name} <<{end}"
    yield from text.removesuffix("\n").split("\n")
    yield end
    yield f"printf '%s\\n' {literal(t('wrote: '))}\"$files/{file.name}\""
    if file.key:
        yield f"{name_of(file.key)}=$files/{file.name}"


def _fill(plan: LaunchPlan, hole: Hole, name: str) -> Iterator[str]:
    if hole.kind == "file":
        yield f'text "$files"/{hole.template}; {name}=$scalar'
        return
    alone = PLACE.fullmatch(hole.template)
    if hole.kind == "text" or alone is None:
        yield f"text {_template(plan, hole.template)}; {name}=$scalar"
        return
    field = plan.config.recipe.by_key[alone[1]]
    variable = name_of(field.key)
    if hole.kind == "number":
        yield f'number "${variable}"; {name}=$scalar'
    elif hole.kind == "bool":
        yield f"{name}=false; if [[ ${variable} == {literal(field.words[0])} ]]; then {name}=true; fi"
    elif hole.kind == "list":
        yield f'list ${{{variable}[@]+"${{{variable}[@]}}"}}; {name}=$scalar'
    else:
        yield f"{name}={literal(hole.scalar)}"


def _template(plan: LaunchPlan, template: str) -> str:
    """A text with fields in it as one shell word."""
    word, at, fixed = "", 0, settled(plan)
    for found in PLACE.finditer(template):
        word += literal(template[at : found.start()]) if found.start() > at else ""
        field = plan.config.recipe.by_key[found[1]]
        if field.key in fixed:
            word += literal(plan.config.text(field.key))
            at = found.end()
            continue
        word += f'"${{{name_of(field.key)}{"[*]-" if field.type in wordlist.TYPES else ""}}}"'
        at = found.end()
    return word + (literal(template[at:]) if at < len(template) or not word else "")


TEXT = [
    "text() { # sets scalar: a text as YAML and JSON write it; bytes, whatever the locale is",
    "  local LC_ALL=C at char code more=$'[\\x80-\\xbf]'",
    "  local utf8=$'^([\\x01-\\x7f]|[\\xc2-\\xdf]'$more$'|\\xe0[\\xa0-\\xbf]'$more$'|[\\xe1-\\xec\\xee\\xef]'$more$more",
    "  utf8+=$'|\\xed[\\x80-\\x9f]'$more$'|\\xf0[\\x90-\\xbf]'$more$more$'|[\\xf1-\\xf3]'$more$more$more",
    "  utf8+=$'|\\xf4[\\x80-\\x8f]'$more$more')*$'",
    "  if [[ $1 == *[$'\\x80'-$'\\xff']* && ! $1 =~ $utf8 ]]; then fail \"NO_UTF8$1\"; fi",
    "  scalar='\"'",
    "  for (( at = 0; at < ${#1}; at++ )); do",
    "    char=${1:at:1}",
    "    case $char in",
    '      \'"\' | "\\\\") scalar+=\\\\$char ;;',
    "      [[:cntrl:]]) printf -v code '\\\\u%04X' \"'$char\"; scalar+=$code ;;",
    "      $'\\xc2') if [[ ${1:at+1:1} == [$'\\x80'-$'\\x9f'] ]]; then",
    "          printf -v code '%d' \"'${1:at+1:1}\"; printf -v code '\\\\u%04X' $(( code & 255 )); scalar+=$code; at=$(( at + 1 ))",
    "        else scalar+=$char; fi ;;",
    "      $'\\xe2' | $'\\xef') case ${1:at:3} in",
    "          $'\\xe2\\x80\\xa8') scalar+='\\u2028'; at=$(( at + 2 )) ;;",
    "          $'\\xe2\\x80\\xa9') scalar+='\\u2029'; at=$(( at + 2 )) ;;",
    "          $'\\xef\\xbb\\xbf') scalar+='\\uFEFF'; at=$(( at + 2 )) ;;",
    "          $'\\xef\\xbf\\xbe') scalar+='\\uFFFE'; at=$(( at + 2 )) ;;",
    "          $'\\xef\\xbf\\xbf') scalar+='\\uFFFF'; at=$(( at + 2 )) ;;",
    "          *) scalar+=$char ;;",
    "        esac ;;",
    "      *) scalar+=$char ;;",
    "    esac",
    "  done",
    "  scalar+='\"'",
    "}",
]
"""`core.scalars.text` in bash; a property test compares them."""

NUMBER = [
    "number() { # sets scalar: a plain number as YAML and JSON write it",
    "  local sign='' base=$1 power=''",
    "  if [[ $base == -* ]]; then sign=-; base=${base#-}; fi",
    "  if [[ $base == *[eE]* ]]; then",
    "    power=${base#*[eE]}; base=${base%%[eE]*}",
    "    if [[ $power != [-+]* ]]; then power=+$power; fi",
    "    if [[ $base != *.* ]]; then base=$base.0; fi",
    "    power=e$power",
    "  fi",
    "  if [[ $base == .* ]]; then base=0$base; fi",
    "  if [[ $base == *. ]]; then base=${base}0; fi",
    "  scalar=$sign$base$power",
    "}",
]
"""`core.scalars.number` in bash."""

LIST = [
    "list() { # sets scalar: texts as a list in one line",
    "  local item all='' LC_ALL=C",
    '  for item in "$@"; do text "$item"; all+=${all:+, }$scalar; done',
    "  scalar=[$all]",
    "}",
]
