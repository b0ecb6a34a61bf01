"""What the head of an exported script says of its settings, for somebody who gives the script where a config is needed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from prl_tui.core import seal
from prl_tui.i18n import t

_SOURCE = re.compile(r"(?:#|rem) ([\w.-]+(?:/[\w.-]+)?)\W.*prl-tui")
_CHANGE = re.compile(r"(#|rem)   ([\w.-]+): .* → (.*)  \(\w+\)")
_HEAD = 60
"""Lines in which the head of a script ends."""


def exported(text: str) -> bool:
    """Whether a file was written by an export, whatever its format."""
    return seal.edited(text) is not None


def instead(path: Path, text: str) -> str:
    """One or two sentences: this is a script, what to give in its place, and whether a hand changed it since."""
    lines = text.splitlines()[:_HEAD]
    source = next((found[1] for line in lines if (found := _SOURCE.match(line))), None)
    if source is None:
        return t("{path} is a script, not a run config; a TOML file, RECIPE/PRESET or a run is needed.", path=path)
    changes: dict[str, str] = {}
    for line in lines:
        if found := _CHANGE.fullmatch(line):
            value = found[3].replace("%%", "%") if found[1] == "rem" else found[3]  # as a batch file writes it
            changes.setdefault(found[2], value)  # what it carries inside has a head of its own, in quotes
    words = [source]
    for key, value in changes.items():
        words += ["--unset", key] if value == "–" else ["--set", f"{key}={value}"]
    told = t(
        "{path} is an exported script, not a run config; its settings are {settings}, to be given in its place.",
        path=path, settings=shlex.join(words),
    )  # fmt: skip
    changed = seal.edited(text)
    if changed is None:
        return told
    by_hand = t("It was changed by hand after the export: what was changed is not in these settings.")
    return f"{told} {by_hand if changed else t('It is as it was exported.')}"
