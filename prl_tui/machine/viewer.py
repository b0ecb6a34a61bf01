"""The person's own pager or editor on a file, at a line of it, on the terminal that this program has given back."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from prl_tui import reasons
from prl_tui.i18n import t

if TYPE_CHECKING:
    from collections.abc import Mapping

Kind = Literal["pager", "editor"]
_VARIABLES: dict[Kind, tuple[str, ...]] = {"pager": ("PAGER",), "editor": ("VISUAL", "EDITOR")}
_USUAL: dict[Kind, str] = {"pager": "less -R", "editor": "vi"}
_PLUS = frozenset(
    {"vi", "vim", "nvim", "view", "nano", "emacs", "emacsclient", "micro", "kak", "joe", "ne", "mg", "more", "most"}
)
"""Programs that take `+LINE FILE`."""
_COLON = frozenset({"hx", "helix", "code", "codium", "cursor", "subl", "zed"})
"""Programs that take `FILE:LINE`."""


def command(kind: Kind, path: Path, line: int | None, environment: Mapping[str, str]) -> list[str]:
    """The command that opens a file; `line` from 1, None: at its end, where the program knows how.

    The program is $PAGER, or $VISUAL, else $EDITOR; `less -R` and `vi` where none is set. ValueError, with a sentence,
    for a variable that is no command.
    """
    name = next((name for name in _VARIABLES[kind] if environment.get(name, "").strip()), "")
    try:
        words = shlex.split(environment[name] if name else _USUAL[kind])
    except ValueError:
        raise ValueError(
            t(
                "${name} is not a command: a quote is not closed; a value that works is {value}.",
                name=name,
                value=_USUAL[kind],
            )
        ) from None
    program = Path(words[0]).name
    if program == "less":
        at = ["+G" if line is None else f"+{line}g", str(path)]
    elif program in _PLUS:
        at = [*([] if line is None else [f"+{line}"]), str(path)]
    elif program in _COLON:
        flag = ["--goto"] if program in {"code", "codium", "cursor"} else []
        at = [*flag, str(path) if line is None else f"{path}:{line}"]
    else:
        at = [str(path)]
    return words + at


def run(words: list[str]) -> str:
    """Run it to its end on this terminal; why it could not be started, or "".

    Ctrl-C is the program's: it must not end who waits for it.
    """
    before = signal.signal(signal.SIGINT, _nothing)  # a handler, unlike SIG_IGN, is not handed on to the program
    try:
        subprocess.run(words, check=False)
    except OSError as error:
        return t("{program} cannot be started: {reason}.", program=words[0], reason=reasons.of(error))
    except ValueError:  # a NUL
        return t("{program} cannot be started: {reason}.", program=words[0], reason=os.strerror(22))
    finally:
        signal.signal(signal.SIGINT, before)
    return ""


def _nothing(number: int, frame: object) -> None:
    """Someone else's signal."""
