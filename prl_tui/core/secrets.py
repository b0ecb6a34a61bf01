"""What is never shown or written: keys and tokens, known by the name that carries them or by their own look."""

from __future__ import annotations

import re

HIDDEN = "…"
"""Stands where a secret stood."""

_KEYS = r"API_?KEY|ACCESS_?KEY|PRIVATE_?KEY"
_NAME = re.compile(
    rf"(?:^|_)(?:{_KEYS}|SECRET(?:_\w+)?|TOKEN|PASSWD|PASSPHRASE|CREDENTIALS?)$|PASSWORD$|_(?:PASS|PWD)$", re.IGNORECASE
)
_WORD = re.compile(rf"(?:^|[._])(?:{_KEYS}|PASSWD|SECRET)$|PASSWORD$", re.IGNORECASE)
"""Before `=` in an argument: `db.password=x`. There `max_token=5` and `pad_token=<pad>` are a trainer's settings."""
_MAYBE = re.compile(
    r"PASS|SECRET|TOKEN|CREDENTIAL|CONNECTION_STRING|(?:KEY|_PAT|_AUTH|_PWD|_DSN|_COOKIE|_CERT)$", re.IGNORECASE
)
"""A variable of a shell that may hold one: such a value is not needed to tell what changed."""
_FLAG = re.compile(
    r"--?(?:token|(?:\w+[_-])?(?:(?:api|access)[_-]?key|(?:wandb|hf)[_-]key|(?:hub|hf|auth|access|api)[_-]token|secret|password|passwd))",
    re.IGNORECASE,
)
_ASSIGNED = re.compile(
    r"(\w*(?:password|passwd|passphrase|api_?key|access_?key|private_?key|secret|token)\w*[\"']?\]?\s*[:=]\s*)([\"'])[^\"'\n]{4,}\2",
    re.IGNORECASE,
)
"""In code: `password = "x"`, `{"api_key": "x"}`."""
_LOOK = re.compile(
    r"hf_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|AKIA[0-9A-Z]{16}|xox[abp]-[\w-]{10,}"
    r"|glpat-[A-Za-z0-9_-]{20,}|AIza[A-Za-z0-9_-]{35}|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+"
    r"|(?<=://)[^/\s:@]*:[^/\s@]+(?=@)"
)


def is_secret_name(name: str) -> bool:
    """Whether an environment variable of that name holds a secret."""
    return bool(_NAME.search(name))


def is_secret_word(name: str) -> bool:
    """Whether what stands behind `NAME=` in an argument is a secret: a variable's name in capitals, or a setting's."""
    return bool(_WORD.search(name)) or (name.isupper() and is_secret_name(name))


def is_secret_flag(flag: str) -> bool:
    """Whether the value behind a flag of that name is a secret."""
    return bool(_FLAG.fullmatch(flag))


def looks_secret(text: str) -> bool:
    """Whether a text contains a key of one of the well-known forms."""
    return bool(_LOOK.search(text))


def hidden_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """Arguments of a command with their secrets hidden; the same words where there are none."""
    found: list[str] = []
    after = False
    for word in words:
        flag, equals, value = word.partition("=")
        if after and not word.startswith("--"):
            found.append(HIDDEN)
        elif equals and value and (_FLAG.fullmatch(flag) or is_secret_word(flag)):
            found.append(f"{flag}={HIDDEN}")
        else:
            found.append(_LOOK.sub(HIDDEN, word))
        after = bool(_FLAG.fullmatch(word))
    return tuple(found)


def hidden_text(text: str) -> str:
    """A text with the keys of well-known forms hidden."""
    return _LOOK.sub(HIDDEN, text)


def hidden_code(text: str) -> str:
    """Code or a patch with the keys of well-known forms hidden, and what is given to a name of a secret."""
    return _ASSIGNED.sub(rf"\1\2{HIDDEN}\2", hidden_text(text))


def hidden_value(name: str, value: str) -> str:
    """An environment variable's value as it may be kept: nothing of one whose name may be a secret's."""
    return HIDDEN if value and (is_secret_name(name) or _MAYBE.search(name)) else hidden_text(value)
