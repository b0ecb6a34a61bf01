"""Every sub-command. stdout is data, stderr is narration; the screens are imported only by what draws."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Sequence

from prl_tui import i18n
from prl_tui.cli import streams
from prl_tui.cli.exits import CommandError, Exit
from prl_tui.i18n import t


def entry() -> None:
    """The `prl-tui` script."""
    gc.disable()  # importing leaves nothing to collect: a tenth of the start is spent looking for it
    streams.install()
    streams.end(main())


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code. No traceback reaches a person."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _answer(words)
        sys.stdout.flush()
        return code
    except CommandError as error:
        return _failed(error.sentence, error.code, error.more)
    except KeyboardInterrupt as left:  # a closed terminal or TERM says its number (`errand`)
        return 128 + int(getattr(left, "number", signal.SIGINT))
    except BrokenPipeError:
        streams.drop_stdout()
        return streams.BROKEN_PIPE
    except streams.OutputLostError as lost:
        streams.drop_stdout()
        return _failed(t("the output cannot be written: {reason}.", reason=lost), Exit.IMPOSSIBLE)
    except Exception as error:
        from prl_tui.machine import crash

        return _failed(crash.record(error), Exit.IMPOSSIBLE)


def _answer(words: list[str]) -> int:
    wanted = _language(words)
    if wanted is not None and wanted[:2].lower() not in {"en", "zh"}:
        raise CommandError(t("--lang {name}: en or zh is needed.", name=wanted))
    i18n.set_language(i18n.choose_language(wanted, os.environ))
    if _command(words) != "launch" or not {"-h", "--help"}.isdisjoint(words):
        return _done(words)
    from prl_tui.cli import launching  # its words are read, and all else is imported, while others are at work for it

    with launching.begun(words):
        return _done(words)


def _done(words: list[str]) -> int:
    try:
        args = _parsed(words)
    except SystemExit as leave:
        sys.stdout.flush()
        return int(leave.code or 0)
    return _run(args)


def _failed(sentence: str, code: Exit, more: Sequence[str] = ()) -> int:
    for one in (sentence, *more):
        print(t("prl-tui: {sentence}", sentence=one), file=sys.stderr)
    return int(code)


def _parsed(words: list[str]) -> object:
    """What the words ask for; no words ask for the app, and cost no parser."""
    if not words:
        return None
    from prl_tui.cli.argparse_words import speak
    from prl_tui.cli.parser import build

    speak()
    return build(words).parse_args(words)


def _run(args: object) -> int:
    import importlib

    module, _, function = str(getattr(args, "runs", "prl_tui.cli.app:app")).partition(":")
    run = getattr(importlib.import_module(module), function)
    gc.freeze()
    gc.enable()
    return int(run(args))


def _command(words: list[str]) -> str:
    """The sub-command, before argparse has looked."""
    behind = 2 if words[:1] == ["--lang"] else int("".join(words[:1]).startswith("--lang="))
    return "".join(words[behind : behind + 1])


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
