"""Config files of the person's own, read here so that a check knows what stands in them."""

from __future__ import annotations

from pathlib import Path

from prl_tui import reasons, regular
from prl_tui.core import accelerate, checks, flat_yaml, given
from prl_tui.core.batch import Batch
from prl_tui.core.config import RunConfig
from prl_tui.core.findings import Facts
from prl_tui.core.given import Given
from prl_tui.core.templates import Template
from prl_tui.core.value import replace
from prl_tui.i18n import t
from prl_tui.machine import paths
from prl_tui.machine.facts import base_of

LARGEST = 1 << 20
"""Bytes of a config at most."""


def look(config: RunConfig, base: Path) -> tuple[Given, ...]:
    """The files that the config names and that lie here; `base` is where relative paths start."""
    found = []
    for template, name in given.wanted(config):
        path = base / name  # the program reads it as it stands: nothing expands ~ for it
        if paths.exists(path):
            found.append(_read(template, name, path, base))
    return tuple(found)


def batch(config: RunConfig, here: Path) -> Batch | None:
    """The batch that a config has with its files that lie here; None where it names none that does."""
    found = look(config, base_of(config, here)) if config.recipe.data.write else ()
    return checks.figures(config, facts=Facts(given=found)) if found else None


def _read(template: Template, name: str, path: Path, base: Path) -> Given:
    try:
        known = given.parse(template, name, _text(path))
    except (OSError, ValueError) as error:
        return Given(template.name, name, problem=_unreadable(name, error))
    beside = known.read.values.get(accelerate.BESIDE) if template.kind == "accelerate" else None
    if not isinstance(beside, str) or known.problem:
        return known
    try:
        return replace(known, beside=flat_yaml.read_json(_text(base / beside)))
    except (OSError, ValueError, RecursionError) as error:
        return replace(known, problem=_unreadable(beside, error))


def _text(path: Path) -> str:
    """UnicodeDecodeError is a ValueError too."""
    data = regular.read_bytes(path, LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError(t("it is too large for a config"))
    return data.decode("utf-8")


def _unreadable(name: str, error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return t("{path} is not UTF-8 text.", path=name)
    reason = reasons.of(error) if isinstance(error, OSError) else str(error)
    return t("{path} cannot be read: {reason}.", path=name, reason=reason)
