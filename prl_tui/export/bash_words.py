"""Words and variables that a person types freely, read in bash as `core.wordlist` reads them; a test compares them."""

from __future__ import annotations

from collections.abc import Iterator

from prl_tui.core.plan import Argument
from prl_tui.export.shell import name_of

VISIBLE = [
    "visible() { # sets shown: $1 with control characters as escapes, so that a value stays on its line",
    "  local char code before",
    "  shown=${1//$'\\n'/\"\\n\"}",
    "  shown=${shown//$'\\r'/\"\\r\"}",
    "  shown=${shown//$'\\t'/\"\\t\"}",
    "  while [[ $shown =~ [[:cntrl:]] ]]; do",
    "    char=${BASH_REMATCH[0]} before=$shown",
    "    printf -v code '%d' \"'$char\"",
    "    if (( code > 255 )); then printf -v code '\\\\u%04x' \"$code\"; else printf -v code '\\\\x%02x' \"$code\"; fi",
    '    shown=${shown//"$char"/"$code"}',
    '    if [[ $shown == "$before" ]]; then break; fi',
    "  done",
    "}",
]
"""As `i18n.visible` shows them; the command itself is printed as a shell would read it."""

SPLIT = [
    "split() { # VARIABLE TEXT: sets found to the words of a text with a shell's quotes; nothing in it is expanded",
    "  local word='' some=false mode='' at char",
    "  found=()",
    "  for (( at = 0; at < ${#2}; at++ )); do",
    "    char=${2:at:1}",
    "    case $mode in",
    "      \"'\") if [[ $char == \"'\" ]]; then mode=''; else word+=$char; fi; continue ;;",
    "      '\"') case $char in",
    "          '\"') mode='' ;;",
    '          "\\\\") case ${2:at+1:1} in \'"\' | "\\\\") at=$(( at + 1 )); word+=${2:at:1} ;; *) word+=$char ;; esac ;;',
    "          *) word+=$char ;;",
    "        esac; continue ;;",
    "    esac",
    "    case $char in",
    "      ' ' | $'\\t' | $'\\r' | $'\\n') if [[ $some == true ]]; then found+=(\"$word\"); fi; word=''; some=false ;;",
    "      \"'\" | '\"') mode=$char; some=true ;;",
    '      "\\\\") at=$(( at + 1 )); (( at < ${#2} )) || fail "$1 TOLD$2"; word+=${2:at:1}; some=true ;;',
    "      *) word+=$char; some=true ;;",
    "    esac",
    "  done",
    '  [[ -z $mode ]] || fail "$1 TOLD$2"',
    '  if [[ $some == true ]]; then found+=("$word"); fi',
    "}",
]

ITEMS = [
    "items() { # VARIABLE ITEM...: no item of a list is empty",
    "  local variable=$1 item",
    "  shift",
    '  for item in "$@"; do [[ -n $item ]] || fail "$variable EMPTY"; done',
    "}",
]

NEAR = [
    "unread() { # VARIABLE KNOWN...: says that nothing reads a variable, and which known one it nearly is",
    "  local name=$1 known a b best='' least=3",
    "  shift",
    '  for known in "$@"; do # what stays of both without their common beginning and end: two characters at most',
    "    a=$name b=$known",
    '    while [[ -n $a && ${a:0:1} == "${b:0:1}" ]]; do a=${a:1} b=${b:1}; done',
    '    while [[ -n $a && ${a: -1} == "${b: -1}" ]]; do a=${a%?} b=${b%?}; done',
    "    if (( ${#a} > ${#b} )); then b=$a; fi",
    "    if (( ${#b} < least && ${#known} - ${#b} > 6 )); then best=$known least=${#b}; fi",
    "  done",
    '  for known in "$@"; do # or the name has words of it, in their order',
    "    if [[ -z $best && ${name#PRL_} == *_* && $known == ${name//_/*_}* ]]; then best=$known; fi",
    "  done",
    "  printf '%s\\n' TOLD\"$name${best:+NEAREST$best}\" >&2",
    "}",
]

FREE = [
    "free() { # VARIABLE ENTRY...: exports NAME=VALUE entries; a NAME alone must be there already",
    "  local variable=$1 entry",
    "  shift",
    '  for entry in "$@"; do',
    '    [[ ${entry%%=*} =~ ^[A-Za-z_][A-Za-z0-9_]*$ ]] || fail "$variable WRONG$entry"',
    "    if [[ $entry == *=* ]]; then",
    '      export "${entry?}"',
    "    else",
    '      [[ -n ${!entry-} ]] || fail "$variable: MISSING$entry"',
    '      export "${entry?}"',
    "    fi",
    "  done",
    "}",
]


def not_alone(argument: Argument) -> Iterator[str]:
    """A person's own words, without those that need several processes where there is one."""
    nodes, processes = (f"${{{name_of(key)}:-{unset}}}" for key, unset in (("nnodes", 1), ("nproc_per_node", 2)))
    name, words = name_of(argument.key), " | ".join(argument.not_alone)
    yield f'for word in ${{{name}[@]+"${{{name}[@]}}"}}; do'
    yield f"  case $word in {words}) if (( {nodes} * {processes} < 2 )); then continue; fi ;; esac"
    yield '  command+=("$word")'
    yield "done"
