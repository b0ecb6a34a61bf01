"""Every sub-command. stdout is data, stderr is narration; the screens are imported only by what draws."""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Sequence

from prl_tui import i18n
from prl_tui.cli.exits import CommandError, Exit
from prl_tui.i18n import t


def entry() -> None:
    """The `prl-tui` script."""
    gc.disable()  # importing leaves nothing to collect: a tenth of the start is spent looking for it
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a locale without ✓ or Chinese is no reason to stop
    sys.exit(main())


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code. No traceback reaches a person."""
    words = list(sys.argv[1:] if argv is None else argv)
    wanted = _language(words)
    if wanted is not None and wanted[:2].lower() not in {"en", "zh"}:
        print(t("prl-tui: {sentence}", sentence=t("--lang {name}: en or zh is needed.", name=wanted)), file=sys.stderr)
        return int(Exit.USAGE)
    i18n.set_language(i18n.choose_language(_language(words), os.environ))
    args = _parsed(words)
    try:
        code = int(_run(args))
        sys.stdout.flush()
        return code
    except CommandError as error:
        print(t("prl-tui: {sentence}", sentence=error.sentence), file=sys.stderr)
        return int(error.code)
    except KeyboardInterrupt:
        return int(Exit.INTERRUPTED)
    except BrokenPipeError:
        _close_stdout()
        return int(Exit.OK)
    except Exception as error:
        print(t("prl-tui: {sentence}", sentence=_unexpected(error)), file=sys.stderr)
        return int(Exit.IMPOSSIBLE)


def _parsed(words: list[str]) -> object:
    """What the words ask for; no words ask for the app, and cost no parser."""
    if not words:
        return None
    from prl_tui.cli.parser import build

    return build(words).parse_args(words)


def _run(args: object) -> int:
    import importlib

    module, _, function = str(getattr(args, "runs", "prl_tui.cli.app:app")).partition(":")
    run = getattr(importlib.import_module(module), function)
    gc.freeze()
    gc.enable()
    return int(run(args))


def _close_stdout() -> None:
    """Nobody reads any more: what is still buffered goes nowhere, and the exit is quiet."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _language(words: list[str]) -> str | None:
    """--lang before argparse, so that its own help can be in that language."""
    for position, word in enumerate(words):
        if word == "--lang" and position + 1 < len(words):
            return words[position + 1]
        if word.startswith("--lang="):
            return word.partition("=")[2]
        if word == "--":
            break
    return None


def _unexpected(error: Exception) -> str:
    """One sentence for a fault of our own, and where its traceback lies."""
    import traceback

    from prl_tui.machine import paths

    path = paths.state_dir() / "crash.log"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(traceback.format_exc(), "utf-8")
    except OSError:
        return t("an unexpected fault: {reason}.", reason=f"{type(error).__name__}: {error}")
    return t("an unexpected fault: {reason}; the details are in {path}.", reason=type(error).__name__, path=path)
