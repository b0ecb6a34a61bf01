"""The three standard streams of a command: outside text is made harmless here, and a stream that is closed, full or
no longer read ends a command quietly and with the right code.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
from collections.abc import Iterator
from typing import BinaryIO

from prl_tui import reasons
from prl_tui.i18n import ODD, t

BROKEN_PIPE = 128 + signal.SIGPIPE
"""The exit code, as a shell shows it, of a command whose reader went away."""

_ON_A_TERMINAL = {code: shown for code, shown in ODD.items() if code not in (0x09, 0x0A)}


class OutputLostError(Exception):
    """Standard output cannot be written; the message is the system's reason."""


class Harmless(io.TextIOWrapper):
    """A stream that shows control characters instead of obeying them, whoever they come from; tab and newline work."""

    def write(self, text: str, /) -> int:
        """Write a text; OutputLostError when the system refuses, BrokenPipeError when nobody reads."""
        try:
            super().write(text if text.isascii() and text.isprintable() else text.translate(_ON_A_TERMINAL))
        except OSError as error:
            self._refused(error)
        return len(text)

    def flush(self) -> None:
        """Bring everything out; as `write`."""
        try:
            super().flush()
        except OSError as error:
            self._refused(error)

    def _refused(self, error: OSError) -> None:
        if self.fileno() == 2:  # narration that nobody can read changes nothing
            _to_nowhere(2)
        elif isinstance(error, BrokenPipeError):
            raise error
        else:
            raise OutputLostError(reasons.of(error)) from None


class Narration(Harmless):
    """Standard error: what a person typed comes back in many a sentence, and a secret among it does not."""

    def write(self, text: str, /) -> int:
        """Write a text without the secrets whose look says that they are some; as `Harmless.write`."""
        from prl_tui.core import secrets  # most commands say nothing here

        super().write(secrets.forms_hidden(text))
        return len(text)


_closed: set[int] = set()
"""The streams that were closed when this process began."""


def needs_stdout() -> None:
    """OutputLostError where standard output was closed from the start: for a command that is run for what it prints."""
    if 1 in _closed:
        raise OutputLostError(t("standard output is closed"))


def install() -> None:
    """Give this process three working streams; what was closed leads nowhere, and what a locale lacks is escaped."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            _closed.add(number)
            _to_nowhere(number)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    for stream in (sys.__stdout__, sys.__stderr__):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.stdout, sys.stderr = _harmless(1, sys.stdout), _harmless(2, sys.stderr)


@contextlib.contextmanager
def as_they_were() -> Iterator[None]:
    """The interpreter's own streams, for screens: what they draw is made of control characters."""
    with contextlib.redirect_stdout(sys.__stdout__), contextlib.redirect_stderr(sys.__stderr__):
        yield


def _harmless(number: int, before: object) -> Harmless:
    raw: BinaryIO = open(number, "wb", closefd=False)  # noqa: SIM115
    encoding = before.encoding if isinstance(before, io.TextIOWrapper) else "utf-8"
    by_line = number == 2 or raw.isatty()
    kind = Narration if number == 2 else Harmless
    return kind(raw, encoding=encoding, errors="backslashreplace", line_buffering=by_line)


def _to_nowhere(number: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, number)
    os.set_inheritable(number, True)
    if nowhere != number:
        os.close(nowhere)


def drop_stdout() -> None:
    """Nobody reads any more, or nothing can be written: what is still buffered goes nowhere."""
    _to_nowhere(sys.stdout.fileno())


def end(code: int) -> None:
    """Leave with an exit code; a command whose reader went away ends as others do, by SIGPIPE."""
    if code == BROKEN_PIPE:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)
    sys.exit(code)


def write_exact(data: bytes, number: int = 1) -> None:
    """Bytes on stdout (2: stderr) as they are: a file's text, an engine's own output. Raises as `Harmless.write`."""
    stream = sys.stderr if number == 2 else sys.stdout
    stream.flush()
    try:
        stream.buffer.write(data)
        stream.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputLostError(reasons.of(error)) from None


def print_json(data: object, indent: int | None = 1) -> None:
    """Data on stdout, with JSON's own escapes for what a terminal would obey."""
    text = json.dumps(data, ensure_ascii=False, indent=indent)
    print(text if text.isascii() else text.translate(_IN_JSON).replace("\x7f", "\\u007f"))


_IN_JSON = {code: f"\\u{code:04x}" for code in ODD if code >= 0x7F}
