"""The disposable process that asks the driver: `python -m prl_tui.machine.sampler --interval 1 [--record FILE]`.

It prints one JSON line per sweep. It may hang in the driver, so nobody waits for it: it ends when its standard
input or output closes, and the kernel kills it when the thread that started it ends. It stays light (no textual,
no msgspec; psutil only once a process is on a GPU).
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import stat
import sys
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING

from prl_tui.machine import gpu_json
from prl_tui.machine.child import die_with_parent
from prl_tui.machine.gpus import SLOWER_WITHOUT_GPUS
from prl_tui.machine.nvml import Nvml

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from prl_tui.machine.gpus import GpuSnapshot

_CLOSED = select.POLLHUP | select.POLLERR | select.POLLNVAL


class Recorder:
    """Appends short lines to a run's GPU record; a full disk costs lines, never the sampler."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._header = b""

    def add(self, snapshot: GpuSnapshot) -> None:
        """Append one sweep, after a header if the GPUs are others than before."""
        header = gpu_json.record_header(snapshot) if snapshot.gpus else self._header
        data = gpu_json.record_line(snapshot)
        with contextlib.suppress(OSError):
            self._append(data if header == self._header else header + data)
            self._header = header

    def _append(self, data: bytes) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            # A line that a full disk cut short must not run into the next one.
            if os.write(descriptor, data) < len(data):
                os.write(descriptor, b"\n")
        finally:
            os.close(descriptor)


class Lifeline:
    """Whether anybody still holds the other ends of standard input and output."""

    def __init__(self) -> None:
        self._parent = os.getppid()
        self._poll = select.poll()
        self._input = _is_channel(0)
        if self._input:
            self._poll.register(0, select.POLLIN)
        if _is_channel(1):
            self._poll.register(1, 0)  # only its errors: the reader has gone

    def cut_within(self, seconds: float) -> bool:
        """Wait; True as soon as an end has closed or the parent has died."""
        until = time.monotonic() + seconds
        while True:
            left = max(0.0, until - time.monotonic())
            for descriptor, event in self._poll.poll(left * 1000):
                if descriptor == 0 and event & select.POLLIN and os.read(0, 4096):
                    continue
                if descriptor == 0 or event & _CLOSED:
                    return True
            if os.getppid() != self._parent:
                return True
            if time.monotonic() >= until:
                return False


def main(arguments: Sequence[str] | None = None) -> int:
    """Sample until the lifeline is cut; 0 then, 1 if the parent had gone before the start."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    options = _as_a_launch_asks(words) or _parsed(words)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program that reads us
    if not die_with_parent(options.parent):
        return 1
    with contextlib.suppress(BrokenPipeError):
        _sample(
            max(0.05, options.interval),
            Recorder(options.record) if options.record else None,
            once=options.once,
            quiet=options.quiet,
        )
    return 0


def _as_a_launch_asks(words: Sequence[str]) -> SimpleNamespace | None:
    """`--parent PID --once` without a parser, whose import a launch would wait for."""
    if len(words) != 3 or (words[0], words[2]) != ("--parent", "--once") or not words[1].isdecimal():
        return None
    return SimpleNamespace(interval=1.0, record=None, once=True, quiet=False, parent=int(words[1]))


def _parsed(words: Sequence[str]) -> argparse.Namespace:
    import argparse

    parser = argparse.ArgumentParser(prog="python -m prl_tui.machine.sampler", description=main.__doc__)
    parser.add_argument("--interval", type=float, default=1.0, help="seconds between sweeps")
    parser.add_argument("--record", metavar="FILE", help="append short lines to FILE")
    parser.add_argument("--once", action="store_true", help="one sweep, then end")
    parser.add_argument("--quiet", action="store_true", help="print nothing, only record")
    parser.add_argument("--parent", type=int, help="end unless this process is our parent")
    return parser.parse_args(words)


def _sample(interval: float, recorder: Recorder | None, *, once: bool, quiet: bool) -> None:
    nvml, lifeline = Nvml(), Lifeline()
    while True:
        begun = time.monotonic()
        snapshot = nvml.sweep()
        if not quiet:
            _print(gpu_json.line(snapshot))
        if recorder is not None:
            recorder.add(snapshot)
        pause = interval if snapshot.fault is None else max(interval, SLOWER_WITHOUT_GPUS)
        if once or lifeline.cut_within(max(0.0, begun + pause - time.monotonic())):
            return


def _print(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def _is_channel(descriptor: int) -> bool:
    """Whether closing the other end can tell us something: a pipe, a socket or a terminal."""
    try:
        mode = os.fstat(descriptor).st_mode
        return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main())
