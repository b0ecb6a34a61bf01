"""What is never shown or written: keys and tokens, known by the name that carries them or by their own look."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from prl_tui.core import secret_rules as rules

HIDDEN = "…"
"""Stands where a secret stood."""

_CLASSES = {"[:space:]": r"\s", "[:alnum:]": "A-Za-z0-9", "[:alpha:]": "A-Za-z", "[:digit:]": "0-9", "[:upper:]": "A-Z",
            "[:lower:]": "a-z", "[:xdigit:]": "A-Fa-f0-9"}  # fmt: skip
_LOWER = {ord(c): c.lower() for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
_MAYBE = r"PASS|SECRET|TOKEN|CREDENTIAL|CONNECTION_STRING|(?:KEY|_PAT|_AUTH|_PWD|_DSN|_COOKIE|_CERT|_PW)[_\d]*$"
"""In a variable's name: a run's record needs none of these."""
_ASSIGNED = (
    r"((?:password|passwd|passphrase|api_?key|access_?key|private_?key|secret|token)\w{0,40}[\"']?\]?\s{0,9}[:=]\s{0,9})"
    rf"([\"'])(?!{rules.PLACEHOLDER}\2)[^\"'\n]{{4,}}\2"
)
"""In code: `password = "x"`, `{"api_key": "x"}`; `api_key="EMPTY"` holds none."""

_VALUE = re.compile(r"(?:(?:bearer|basic|token)\s{1,9})?[^\s\"',;&]*", re.IGNORECASE)
"""In a sentence, a secret that no quotes enclose, behind the word that says what kind it is."""


def is_secret_name(name: str) -> bool:
    """Whether an environment variable of that name holds a secret."""
    return looks_secret(f"{name.upper()}=x")


def is_secret_variable(name: str, value: str) -> bool:
    """Whether an environment variable is a secret: by its name, by its value, or by both where its name is doubtful."""
    return looks_secret(f"{name.upper()}={value}")


def is_secret_flag(flag: str) -> bool:
    """Whether the value behind a flag of that name is a secret."""
    return looks_secret(f"{flag} x")


def is_placeholder(value: object) -> bool:
    """Whether a value stands in a secret's place and is none: `EMPTY`, `dummy`, `sk-xxx`, `your_key_here`."""
    return isinstance(value, str) and bool(re.fullmatch(rules.PLACEHOLDER, value, re.ASCII | re.IGNORECASE))


def looks_secret(text: str) -> bool:
    """Whether a text contains a key of one of the well-known forms, a password in a URL, or a secret behind its name."""
    return hidden_text(text) != text


def hidden_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """Arguments of a command with their secrets hidden; the same words where there are none."""
    found: list[str] = []
    before = last = ""  # the flag or the name that gives the next word; the word before this one
    for word in words:
        name = last if word.startswith((":", "=")) else before
        behind = name and not word.startswith("--") and word != HIDDEN and looks_secret(f"{name} {word}")
        found.append(HIDDEN if behind and not looks_secret(word) else hidden_text(word))
        gives = word.endswith(":") or (word.startswith("-") and "=" not in word)
        before = f"{last} {word}" if word in (":", "=") else word if gives else ""  # api_key : x
        last = word
    return tuple(found)


def hidden_text(text: str) -> str:
    """A text without its secrets. What stands behind a secret's name goes to the end: nothing says where it ends."""
    shown = forms_hidden(text)
    first = _first(shown)
    return shown if first == len(shown) else shown[:first] + HIDDEN


def hidden_code(text: str) -> str:
    """Code or a patch with the keys of well-known forms hidden, and what is given to a name of a secret."""
    return re.sub(_ASSIGNED, rf"\1\2{HIDDEN}\2", forms_hidden(text), flags=re.IGNORECASE)


def hidden_said(text: str) -> str:
    """A program's words without their secrets. Unlike in `hidden_text`, what stands behind one stays: it may be the cause."""
    shown, rest = "", forms_hidden(text)
    while (at := _first(rest)) < len(rest):
        quote = rest[at - 1 : at]
        end = rest.find(quote, at) if quote in ("'", '"') else -1
        if end < 0:
            found = _VALUE.match(rest, at)
            end = max(found.end() if found else 0, at + 1)
        shown, rest = f"{shown}{rest[:at]}{HIDDEN}", rest[end:]
    return shown + rest


def hidden_value(name: str, value: str) -> str:
    """An environment variable's value as it may be kept: nothing of one whose name may be a secret's."""
    maybe = value and (is_secret_variable(name, value) or re.search(_MAYBE, name, re.IGNORECASE))
    return HIDDEN if maybe else hidden_text(value)


def forms_hidden(text: str) -> str:
    """A text without the keys of well-known forms and without users and passwords of URLs; all else stays as it is."""
    if any(hint in text for hint in rules.LOOK_HINTS):
        text = _looks().sub(HIDDEN, text)
    if ":/" in text and "@" in text:
        for url in _urls():
            text = url.sub(rf"\1{HIDDEN}", text)
    return text


def _first(text: str) -> int:
    """Where the first value begins that its name makes a secret; the length of the text where there is none."""
    small = text.lower().replace("path", "")  # in many a name, and none of a secret's
    if not any(hint in small for hint in rules.HINTS):
        return len(text)
    cased = range(len(rules.CASED)) if small != text.replace("path", "") else ()
    plain = (n for n, (_, needs) in enumerate(rules.RULES) if any(need in small for need in needs))
    ended = f"{text} "  # a value that ends like `true` begins is none of these words
    ended = _placeholder().sub(lambda found: f"{{{found[0][1:]}", ended)  # no value begins so, and no place moves
    columns = rules.named_columns(_small(ended))
    found = [_rule(n, True).search(ended) for n in cased] + [_rule(n, False).search(columns) for n in plain]
    return min((match.start("at") for match in found if match), default=len(text))


def _small(text: str) -> str:
    """In lower case as bash's C locale has it: letters of ASCII alone, so that no place moves."""
    return text.translate(_LOWER)


def _python(rule: str, **parts: str) -> str:
    rule = rules.filled(rule, edge="(?<![A-Za-z0-9])", start="(?<![A-Za-z0-9_-])", **parts)
    for name, inside in _CLASSES.items():
        rule = rule.replace(name, inside)
    return rule


@cache
def _rule(n: int, cased: bool) -> re.Pattern[str]:
    """Compiled when a text may need it: that takes longer than all else that a check does with texts."""
    named = {
        name: f"(?P<at>{rules.WORDS[name]})"
        for name in ("value", "word", "nofile", "speech", "shape", "coded", "dense", "mixed")
    }
    text = _python(rules.CASED[n] if cased else rules.RULES[n][0], **named)
    text = text if "(?P<at>" in text else f"(?P<at>{text})"
    return re.compile(text, re.ASCII)


@lru_cache(maxsize=1)
def _placeholder() -> re.Pattern[str]:
    before = f"(?:^|(?<={_python(rules.BEFORE)}))"
    return re.compile(f"{before}{rules.PLACEHOLDER}(?={_python(rules.AFTER)})", re.ASCII | re.IGNORECASE)


@lru_cache(maxsize=1)
def _looks() -> re.Pattern[str]:
    return re.compile(_python(rules.LOOKS), re.ASCII)


@lru_cache(maxsize=1)
def _urls() -> tuple[re.Pattern[str], re.Pattern[str]]:
    scheme, _, user = rules.URL_USER.removesuffix("@").partition("<slashes>")
    return (
        re.compile(_python(f"(<slashes>)(?:{rules.URL})(?=@)"), re.ASCII),
        re.compile(_python(f"((?:{scheme})<slashes>)(?:{user})(?=@)"), re.ASCII | re.IGNORECASE),
    )
