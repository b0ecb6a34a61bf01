"""A bash function that knows a secret as `core.secrets` does, for variables that override; a test compares them."""

from __future__ import annotations

SECRET = r"""
secret() { # true when a text holds a key, a token or a password, by its look or by the name before it
  local c='[[:alnum:]]' w='[[:alnum:]_]' look flag name
  look="hf_$c{20}|sk-[[:alnum:]_-]{20}|gh[pousr]_$c{20}|github_pat_$w{20}|AKIA[[:digit:][:upper:]]{16}|xox[abp]-[[:alnum:]_-]{10}"
  look+='|://[^/[:space:]:@]*:[^/[:space:]@]+@'
  flag="(^|[[:space:]])--?($w+[_-])?(api[_-]?key|(hub|hf|auth|access|api)[_-]token|secret|password|passwd)(=.|[[:space:]]+[^-[:space:]])"
  name="(^|[[:space:]\"'])($w*_)?(api_?key|access_?key|private_?key|secret(_$w+)?|token|password|passwd|credentials?)=."
  [[ $1 =~ $look || ${1,,} =~ $flag || ${1,,} =~ $name ]]
}
""".strip("\n").split("\n")
