"""One sampler process as its owner sees it: its pipe read with deadlines, its end never waited for without one."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import threading
import time
from typing import TYPE_CHECKING, BinaryIO

from prl_tui.i18n import t
from prl_tui.machine.child import light_argv

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prl_tui.machine.gpus import GpuSnapshot

_LONGEST_LINE = 1 << 24


class Wake:
    """Lets one thread end another's wait, also while that one closes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.descriptor, self._write = os.pipe()
        self._closed = False

    def call(self) -> None:
        """End the wait, now or the next one."""
        with self._lock:
            if not self._closed:
                os.write(self._write, b"x")

    def wait(self, seconds: float) -> None:
        """Until called, at most so long."""
        _ready([self.descriptor], seconds)

    def close(self) -> None:
        """By the waiting thread, when it will wait no more."""
        with self._lock:
            self._closed = True
            os.close(self.descriptor)
            os.close(self._write)


class SamplerChild:
    """Started when made; its standard input is the lifeline that closes when its owner dies."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        """Start it; OSError if that is impossible."""
        own = ("--parent", str(os.getpid()), *arguments)
        command = light_argv("prl_tui.machine.sampler", *own, needs=("pynvml", "psutil"))
        # A file, as a pipe that nobody empties would stop the child once warnings had filled it.
        self._errors = _unnamed()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=None if environment is None else dict(environment),
            start_new_session=True,
        )
        assert self._process.stdout is not None
        self._out = self._process.stdout.fileno()
        os.set_blocking(self._out, False)
        self._rest = b""

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    def read(self, seconds: float, wake: Wake | None = None) -> list[bytes] | None:
        """Whole lines as soon as there are some; [] after `seconds` of silence or a wake-up, None at its end."""
        until = time.monotonic() + seconds
        watched = [self._out, *([wake.descriptor] if wake else [])]
        while True:
            ready = _ready(watched, until - time.monotonic())
            if self._out not in ready or len(ready) > 1:
                return []
            data = self._take()
            if data == b"" or len(self._rest) > _LONGEST_LINE:
                return None
            *lines, self._rest = (self._rest + (data or b"")).split(b"\n")
            if lines:
                return lines

    def kill(self) -> None:
        """Send KILL; a process inside the driver may not obey."""
        with contextlib.suppress(OSError):
            self._process.kill()

    def ended(self) -> bool:
        """Whether it is gone; reaps it."""
        return self._process.poll() is not None

    def end(self, grace: float) -> bool:
        """Kill it, close its pipes and wait at most `grace` seconds; False if it is still there."""
        self.kill()
        for file in (self._process.stdin, self._process.stdout, self._errors):
            with contextlib.suppress(OSError):
                if file is not None:
                    file.close()
        return self._wait(grace)

    def how_it_ended(self, grace: float) -> str | None:
        """In words, if it ended by itself within `grace` seconds; else None."""
        if not self._wait(grace):
            return None
        from prl_tui.core.signal_names import signal_name

        code = self._process.returncode
        if code < 0:
            return t("signal {name}", name=signal_name(-code))
        last = self._last_words()
        return t("exit code {code}: {words}", code=code, words=last) if last else t("exit code {code}", code=code)

    def _last_words(self) -> str:
        """The last line that it wrote to standard error, harmless to a screen."""
        from prl_tui.machine.processes import printable

        with contextlib.suppress(OSError, ValueError):
            self._errors.seek(0)
            lines = self._errors.read(_LONGEST_LINE).decode("utf-8", "replace").split("\n")
            return printable(next((line.strip() for line in reversed(lines) if line.strip()), ""))[:200]
        return ""

    def _take(self) -> bytes | None:
        try:
            return os.read(self._out, 1 << 16)
        except BlockingIOError:
            return None

    def _wait(self, grace: float) -> bool:
        try:
            self._process.wait(grace)
        except subprocess.TimeoutExpired:
            return False
        return True


def _unnamed() -> BinaryIO:
    """A file without a name."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("errors"), "w+b")
    import tempfile  # takes longer to import than the child to start

    return tempfile.TemporaryFile()


def _ready(descriptors: Sequence[int], seconds: float) -> list[int]:
    # poll, as select refuses descriptors from 1024 on
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return [descriptor for descriptor, _ in poll.poll(max(0.0, seconds) * 1000)]


def parse(line: bytes) -> GpuSnapshot | None:
    """The snapshot of one line; None if it is none (it was cut, or something else printed it)."""
    from prl_tui.machine import gpu_json  # its values take longer to import than the child to start

    try:
        value = json.loads(line)
        return gpu_json.from_json(value) if isinstance(value, dict) else None
    except ValueError:
        return None
