"""One sampler process as its owner sees it: its pipe read with deadlines, its end never waited for without one."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from typing import TYPE_CHECKING

from prl_tui.i18n import t
from prl_tui.machine import gpu_json
from prl_tui.machine.child import python_argv

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prl_tui.machine.gpus import GpuSnapshot

_LONGEST_LINE = 1 << 24


class SamplerChild:
    """Started when made; its standard input is the lifeline that closes when its owner dies."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        """Start it; OSError if that is impossible."""
        command = python_argv("prl_tui.machine.sampler", "--parent", str(os.getpid()), *arguments)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
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

    def read(self, seconds: float, wake: int | None = None) -> list[bytes] | None:
        """Whole lines as soon as there are some; [] after `seconds` of silence or a wake-up, None at its end."""
        until = time.monotonic() + seconds
        watched = [self._out] if wake is None else [self._out, wake]
        while True:
            ready, _, _ = select.select(watched, [], [], max(0.0, until - time.monotonic()))
            if not ready or wake in ready:
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
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
        return self._wait(grace)

    def how_it_ended(self, grace: float) -> str | None:
        """In words, if it ended by itself within `grace` seconds; else None."""
        if not self._wait(grace):
            return None
        code = self._process.returncode
        if code >= 0:
            return t("exit code {code}", code=code)
        with contextlib.suppress(ValueError):
            return t("signal {name}", name=signal.Signals(-code).name)
        return t("signal {name}", name=-code)

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


def parse(line: bytes) -> GpuSnapshot | None:
    """The snapshot of one line; None if it is none (it was cut, or something else printed it)."""
    try:
        value = json.loads(line)
        return gpu_json.from_json(value) if isinstance(value, dict) else None
    except ValueError:
        return None
