"""What is never shown or written: keys and tokens, known by the name that carries them or by their own look."""

from __future__ import annotations

import re

HIDDEN = "…"
"""Stands where a secret stood."""

_NAME = re.compile(
    r"(?:^|_)(?:API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|SECRET(?:_\w+)?|TOKEN|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE
)
_FLAG = re.compile(
    r"--?(?:\w+[_-])?(?:api[_-]?key|(?:hub|hf|auth|access|api)[_-]token|secret|password|passwd)", re.IGNORECASE
)
_LOOK = re.compile(
    r"hf_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|AKIA[0-9A-Z]{16}|xox[abp]-[\w-]{10,}"
    r"|(?<=://)[^/\s:@]*:[^/\s@]+(?=@)"
)


def is_secret_name(name: str) -> bool:
    """Whether an environment variable of that name holds a secret."""
    return bool(_NAME.search(name))


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
        if after and not word.startswith("-"):
            found.append(HIDDEN)
        elif equals and value and _FLAG.fullmatch(flag):
            found.append(f"{flag}={HIDDEN}")
        else:
            found.append(_LOOK.sub(HIDDEN, word))
        after = bool(_FLAG.fullmatch(word))
    return tuple(found)


def hidden_text(text: str) -> str:
    """A text with the keys of well-known forms hidden."""
    return _LOOK.sub(HIDDEN, text)


def hidden_value(name: str, value: str) -> str:
    """An environment variable's value as it may be kept: nothing of one whose name is a secret's."""
    return HIDDEN if value and is_secret_name(name) else hidden_text(value)
