"""The seal of an exported file: a hash of its text in its head, by which a later reader knows whether a hand changed it."""

from __future__ import annotations

import hashlib
import re

_SEAL = re.compile(r"^(?:#|rem) file sha256: ([0-9a-f]{64})\r?\n", re.MULTILINE)
_CONFIG = re.compile(r"^((?:#|rem) )config sha256: [0-9a-f]{64}(\r?\n)", re.MULTILINE)


def sealed(text: str) -> str:
    """The text with its own hash under the config's; the same text where its head names no config."""
    found = _CONFIG.search(text)
    if found is None:
        return text
    line = f"{found[1]}file sha256: {_digest(text)}{found[2]}"
    return text[: found.end()] + line + text[found.end() :]


def edited(text: str) -> bool | None:
    """Whether the text was changed after it was sealed, its seal taken out too; None where it never had one."""
    found = _SEAL.search(text)
    if found is None:
        return True if _CONFIG.search(text) else None
    return found[1] != _digest(text[: found.start()] + text[found.end() :])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
