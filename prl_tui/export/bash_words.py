"""Words and variables that a person types freely, read in bash as `core.wordlist` reads them; a test compares them."""

from __future__ import annotations

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
