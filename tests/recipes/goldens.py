"""Commands as scripts, guides and real runs have them, taken apart so that they can be compared without their order."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from prl_tui.core import plan
from prl_tui.core.config import RunConfig, Source, resolve
from tests.built_in import RECIPES

Options = dict[str, tuple[str, ...]]


def config(recipe: str, preset: str, changes: Mapping[str, object] | None = None) -> RunConfig:
    """A preset with changes; "" leaves a field out."""
    return resolve(RECIPES[recipe], preset).with_values(changes or {}, Source.SET)


def command_of(config: RunConfig) -> tuple[dict[str, str], tuple[str, ...], Options]:
    """A config's plan: variables, the words that are no options, and each option with its values."""
    made = plan.build(config)
    return dict(made.env), *apart(made.argv)


def recorded(text: str) -> tuple[dict[str, str], tuple[str, ...], Options]:
    """The same of a shell command with variables before it."""
    words = shlex.split(text.replace("\\\n", " "))
    env = {}
    while re.match(r"[A-Z_]+=", words[0]):
        name, _, value = words.pop(0).partition("=")
        env[name] = value
    return env, *apart(tuple(words))


SWITCHES = {"-m"}


def apart(words: tuple[str, ...]) -> tuple[tuple[str, ...], Options]:
    """Plain words in their order, and each option's values; `--a=b` and `--a b` are the same to argparse."""
    plain: list[str] = []
    options: Options = {}
    last = ""
    for word in words:
        if word.startswith("--"):
            last, mark, value = word.partition("=")
            assert last not in options, f"{last} twice"
            options[last] = (value,) if mark else ()
        elif word in SWITCHES or not last or _script(word):
            plain.append(word)
            last = ""
        else:
            options[last] += (word,)
    return tuple(plain), options


def _script(word: str) -> bool:
    """What an option before it cannot have as value here: the program's script or module."""
    return bool(re.fullmatch(r"(swift\.cli\.|src\.training\.)\w+|\w+\.py", word))
