"""Bash functions that match values of a script in bash alone: no awk, no grep, no Python is needed on the node."""

from __future__ import annotations

DECIMAL = r"""
parts() { # sets sign, digits and point of the plain decimal $1: its value is 0.DIGITS times ten to the POINT
  local text=${1#-} power=0 minus=
  sign=; if [[ $1 == -* ]]; then sign=-; fi
  if [[ $text == *[eE]* ]]; then
    power=${text#*[eE]} text=${text%%[eE]*}
    if [[ $power == -* ]]; then minus=-; fi
    [[ $power =~ ^[+-]?0*(.*)$ ]] && power=${BASH_REMATCH[1]:-0}
    if (( ${#power} > 6 )); then power=999999; fi
    power=$minus$power
  fi
  [[ $text =~ ^([^.]*)[.]?(.*)$ ]] && digits=${BASH_REMATCH[1]}${BASH_REMATCH[2]} point=${#BASH_REMATCH[1]}
  [[ $digits =~ ^(0*)(.*)$ ]] && digits=${BASH_REMATCH[2]} point=$(( point + power - ${#BASH_REMATCH[1]} ))
  if [[ -z $digits ]]; then sign='' point=-9999999; fi
}
less() { # true when the plain decimal $1 is less than $2
  local sign digits point left right first
  parts "$1"; left=$sign first=$digits right=$point
  parts "$2"
  if [[ $left != "$sign" ]]; then [[ $left == - ]]; return; fi
  if (( right != point )); then
    if [[ -z $sign ]]; then (( right < point )); else (( right > point )); fi
    return
  fi
  while (( ${#first} < ${#digits} )); do first+='0'; done
  while (( ${#digits} < ${#first} )); do digits+='0'; done
  first="0.$first" digits="0.$digits" # equally long: the order of texts is that of numbers
  if [[ -z $sign ]]; then [[ "$first" < "$digits" ]]; else [[ "$first" > "$digits" ]]; fi
}
decimal() { # VARIABLE VALUE LEAST MOST
  local digit='[0123456789]'
  [[ $2 =~ ^-?(0|[123456789]$digit*)?([.]$digit*)?([eE][+-]?$digit+)?$ && $2 =~ ^-?[.]?$digit ]] ||
    fail "$1 SENTENCE$2"
  if less "$2" "$3" || less "$4" "$2"; then fail "$1 SENTENCE$2"; fi
}
"""

JSON = r"""
json() { # VARIABLE VALUE: each scalar becomes a letter, and then each list and table of letters one letter
  local LC_ALL=C seen='' digit='[0123456789]' hex='[0123456789abcdefABCDEF]' text number whole
  local rest=${2//$'\x7f'/x} # a control character, but not one that JSON forbids
  text='^"([^"\\[:cntrl:]]|\\["\\/bfnrt]|\\u'$hex$hex$hex$hex')*"'
  number="^-?(0|[123456789]$digit*)([.]$digit+)?([eE][+-]?$digit+)?"
  whole='\{(s:[sv](,s:[sv])*)?\}|\[([sv](,[sv])*)?\]'
  while [[ -n $rest ]]; do
    if [[ $rest =~ ^[$' \t\n\r']+ ]]; then :
    elif [[ $rest =~ $text ]]; then seen+=s
    elif [[ $rest =~ ^(true|false|null) || $rest =~ $number ]]; then seen+=v
    elif [[ $rest =~ ^[][{}:,] ]]; then seen+=${BASH_REMATCH[0]}
    else fail "$1 SENTENCE$2"
    fi
    rest=${rest:${#BASH_REMATCH[0]}}
  done
  while [[ $seen =~ $whole ]]; do seen=${seen/"${BASH_REMATCH[0]}"/v}; done
  [[ $seen == [sv] ]] || fail "$1 SENTENCE$2"
}
"""


def decimal(sentence: str) -> list[str]:
    """`decimal VARIABLE VALUE LEAST MOST`: a plain decimal between two others, compared digit by digit."""
    return DECIMAL.strip("\n").replace("SENTENCE", sentence).split("\n")


def json(sentence: str) -> list[str]:
    """`json VARIABLE VALUE`: one JSON value and nothing else."""
    return JSON.strip("\n").replace("SENTENCE", sentence).split("\n")
