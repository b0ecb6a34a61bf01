"""Fields that hold words of a command line, or environment variables: typed with a shell's quotes, kept as a list."""

from __future__ import annotations

import re

from prl_tui import i18n
from prl_tui.core.recipe import Field
from prl_tui.i18n import t

TYPES = ("list", "arguments", "variables")
"""Field types whose value is a list of words."""
FREE = ("arguments", "variables")
"""Those that hold any words at all, secrets among them: each word is looked at."""
_BLANKS = re.compile(r"[ \t\r\n]+")
"""What separates words, as for a shell: a wide or a non-breaking blank is part of a name."""
_SPECIAL = frozenset("'\"\\")
_QUOTING = _SPECIAL | frozenset(" \t\r\n")
"""What a word can hold only between quotes."""


def split(text: str) -> tuple[str, ...]:
    """The words of a text, quotes and backslashes as `shlex` reads them; ValueError for a quote that is left open."""
    if not _SPECIAL.intersection(text):  # most lists: nothing to import
        return tuple(word for word in _BLANKS.split(text) if word)
    import shlex

    return tuple(shlex.split(text))


def join(words: tuple[str, ...]) -> str:
    """The text that `split` reads back."""
    import shlex

    return shlex.join(words)


def about(field: Field) -> str:
    """A field's help, and for a list how its items are typed."""
    if field.type != "list":
        return str(field.help)
    typed = t("Blanks separate the items; one with a blank in it stands in quotes, as in a shell: 'my data.jsonl'.")
    return f"{field.help}{typed}" if i18n.language() == "zh" else f"{field.help} {typed}"


def items(field: Field, raw: object) -> tuple[tuple[str, ...] | None, str]:
    """The items of a list and what is wrong with them, with the quotes that a shell reads."""
    return _words(field, raw)


def shown(words: tuple[str, ...]) -> str:
    """The items of a list as `split` reads them back: only what cannot stand bare is quoted."""
    return " ".join(word if word and _QUOTING.isdisjoint(word) else join((word,)) for word in words)


def arguments(field: Field, raw: object) -> tuple[tuple[str, ...] | None, str]:
    """Free arguments and what is wrong with them. A secret is hidden at once: nothing here keeps it."""
    from prl_tui.core import secrets

    words, problem = _words(field, raw)
    if words is None:
        return None, problem
    hidden = secrets.hidden_words(words)
    if hidden != words:
        return hidden, t(
            "{key} has a secret in it, which is not kept: let the program read it from its environment.", key=field.key
        )
    return words, ""


def variables(field: Field, raw: object) -> tuple[tuple[str, ...] | None, str]:
    """NAME=VALUE entries; a NAME alone is taken from the environment of the launch, as a secret must be."""
    from prl_tui.core import secrets

    words, problem = _words(field, raw)
    found = []
    for word in words or ():
        name, _, value = word.partition("=")
        if not (name.isidentifier() and name.isascii()):
            problem = t(
                "{key}: “{word}” is no NAME=VALUE; OMP_NUM_THREADS=4 would work.", key=field.key, word=name[:60]
            )
        if secrets.looks_secret(word) or (value and secrets.is_secret_variable(name, value)):
            name = secrets.hidden_text(name)
            problem = t(
                "{key}: {name} is a secret and is not kept; {name} alone takes it from the environment of the launch.",
                key=field.key,
                name=name,
            )
            word = name  # noqa: PLW2901
        found.append(word)
    return (tuple(found) if words is not None else None), problem


def without_secrets(text: str) -> str:
    """A text that is no list of words yet, with what looks like a secret hidden; the same text where nothing does."""
    from prl_tui.core import secrets

    hidden = secrets.hidden_text(text)
    for word in text.split(" "):
        name, equals, value = word.strip("\"'").partition("=")
        if equals and value and not name.startswith("-") and secrets.is_secret_variable(name, value):
            before = secrets.hidden_text(text[: text.index(word)])
            hidden = min(hidden, f"{before}{secrets.hidden_text(name)}={secrets.HIDDEN}", key=len)
    return hidden


def named(entries: tuple[str, ...]) -> tuple[str, ...]:
    """The names that are taken from the environment of the launch."""
    return tuple(entry for entry in entries if "=" not in entry)


def _words(field: Field, raw: object) -> tuple[tuple[str, ...] | None, str]:
    if isinstance(raw, (list, tuple)):
        return tuple(str(item) for item in raw), ""
    try:
        return split(str(raw)), ""
    except ValueError:
        from prl_tui.core import open_quote

        return None, open_quote.told(field.key, str(raw))
