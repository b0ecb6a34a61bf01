"""A bash function that knows a secret as `core.secrets` does, for variables that override; a test compares them."""

from __future__ import annotations

SECRET = r"""
secret() { # true when a text holds a key, a token or a password, by its look or by the name before it
  local c='[[:alnum:]]' w='[[:alnum:]_]' j='[[:alnum:]_-]' u='[[:upper:][:digit:]_]'
  local keys='api_?key|access_?key|private_?key' look flag word name
  look="hf_$c{20}|sk-$j{20}|gh[pousr]_$c{20}|github_pat_$w{20}|AKIA[[:digit:][:upper:]]{16}|xox[abp]-$j{10}"
  look+="|glpat-$j{20}|AIza$j{35}|eyJ$j{10,}[.]eyJ$j{10,}[.]$j"
  look+='|://[^/[:space:]:@]*:[^/[:space:]@]+@'
  flag="(^|[[:space:]])--?(token|($w+[_-])?((api|access)[_-]?key|(wandb|hf)[_-]key|(hub|hf|auth|access|api)[_-]token|secret|password|passwd))"
  flag+="(=.|[[:space:]]+(-[^-[:space:]]|[^-[:space:]]))"
  word="(^|[[:space:]\"'])((${w%]}.]*[._])?($keys|passwd|secret)|${w%]}.]*password)=."
  name="(^|[[:space:]\"'])(($u*_)?(${keys^^}|SECRET(_$u+)?|TOKEN|PASSWD|PASSPHRASE|CREDENTIALS?)|$u*(PASSWORD|_PASS|_PWD))=."
  [[ $1 =~ $look || ${1,,} =~ $flag || ${1,,} =~ $word || $1 =~ $name ]]
}
""".strip("\n").split("\n")
