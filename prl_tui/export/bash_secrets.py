"""A bash function that knows a secret as `core.secrets` does, by the same rules; a test runs both over one table."""

from __future__ import annotations

from prl_tui.core import secret_rules as rules

_PARTS = (
    "slashes",
    "close",
    "open",
    "quotes",
    "begun",
    "value",
    "nofile",
    "word",
    "speech",
    "again",
    "AGAIN",
    "NAMES",
    "service",
    "model",
    "short",
    "long",
    "doubt",
    "plain",
    "filed",
    "shape",
    "coded",
    "dense",
    "mixed",
    "flag",
)
"""Parts that become variables of the function, each after those that it has in it."""


def _quoted(pattern: str) -> str:
    """A pattern between double quotes, with its parts as variables."""
    for sign in '\\"$`':
        pattern = pattern.replace(sign, f"\\{sign}")
    return rules.filled(f'"{pattern}"', edge="(^|[^[:alnum:]])", start="(^|[^[:alnum:]_-])",
                        **{part: f"${{{part}}}" for part in _PARTS})  # fmt: skip


def function() -> list[str]:
    """`secret TEXT` and `named ENTRY...`: a subshell each, whose C locale knows letters of ASCII alone and is fast."""
    forms = "|".join([rules.LOOKS, f"<slashes>({rules.URL})@", *rules.CASED])
    lines = [
        "secret() ( # true when a text holds a key, a token or a password, by its look or by the name before it",
        "  LC_ALL=C",
    ]
    lines += [f"  {part}={_quoted(rules.WORDS[part])}" for part in _PARTS]
    lines += [
        f"  forms={_quoted(forms)}",
        f"  rules={_quoted(rules.URL_USER)}",
        *(f"  rules+={_quoted('|' + rule)}" for rule, _ in rules.RULES),
        f"  before={_quoted(rules.BEFORE)} placeholder={_quoted(rules.PLACEHOLDER)} after={_quoted(rules.AFTER)}",
        '  given="$1 "',
        "  shopt -s nocasematch",
        "  while [[ $given =~ (^|$before)($placeholder)$after ]]; do # no secret; with another first letter no rule takes it",
        '    found=${BASH_REMATCH[0]} other="${BASH_REMATCH[1]}{${found:${#BASH_REMATCH[1]}+1}"',
        '    given=${given//"$found"/"$other"}',
        "  done",
        "  shopt -u nocasematch",
        "  text=${given,,}",
        "  if [[ $text == *key* ]]; then",
        f"    for column in {rules.COLUMNS}; do",
        '      text=${text//"$column"key/${column}kEy}',
        '      text=${text//"$column"[_.-]key/${column}_kEy}',
        "    done",
        "  fi",
        "  [[ $given =~ $forms || $text =~ $rules ]]",
        ")",
        "named() { # true when one of the entries NAME=VALUE is a secret's",
        "  local entry name text=''",
        '  for entry in "$@"; do',
        "    name=${entry%%=*}",
        '    if [[ $entry == *=?* ]]; then text+=" ${name^^}=${entry#*=}"; fi',
        "  done",
        '  secret "$text"',
        "}",
    ]
    return lines
