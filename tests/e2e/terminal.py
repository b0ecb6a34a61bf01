"""The real `prl-tui` script in a real pty, its screen read back through a terminal emulator."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pexpect
import pyte

DEADLINE = 120.0


def script():
    """The installed command."""
    beside = Path(sys.executable).with_name("prl-tui")
    found = str(beside) if beside.exists() else shutil.which("prl-tui")
    assert found, "prl-tui is not installed in this environment"
    return found


def until(condition, what, deadline=DEADLINE):
    """Wait for a true value and return it."""
    end = time.monotonic() + deadline
    while not (value := condition()):
        assert time.monotonic() < end, f"waited {deadline} s in vain for: {what}"
        time.sleep(0.05)
    return value


class Terminal:
    """A program on a pty of a size, and what a person would see."""

    def __init__(self, command, size, environment, cwd):
        columns, rows = size
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = bytearray()
        self.child = pexpect.spawn(
            command[0], list(command[1:]), dimensions=(rows, columns), env=environment, cwd=str(cwd), timeout=DEADLINE
        )
        self.child.delaybeforesend = None

    def read(self, seconds=0.05):
        """Take what the program wrote."""
        try:
            data = self.child.read_nonblocking(1 << 16, seconds)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.raw += data
        # The emulator knows no private keyboard modes and would print their parameters.
        self.stream.feed(data)
        return True

    @property
    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display)

    def wait(self, condition, what, deadline=DEADLINE):
        """Read until the screen's text satisfies a condition (or has a text)."""
        test = condition if callable(condition) else lambda text: condition in text
        end = time.monotonic() + deadline
        while not test(self.text):
            alive = self.read()
            assert time.monotonic() < end, f"waited {deadline} s in vain for: {what}\n{self.text}"
            assert alive or test(self.text), f"the program ended before: {what}\n{self.text}"
        return self.text

    def keys(self, *keys):
        """Press keys, one after the other, as a hand does."""
        names = {"enter": "\r", "escape": "\x1b", "down": "\x1b[B", "up": "\x1b[A", "tab": "\t"}
        for key in keys:
            self.child.send(names.get(key, key))
            end = time.monotonic() + 0.15
            while time.monotonic() < end:
                self.read(0.03)

    def end(self, deadline=DEADLINE):
        """Read until the program has ended; its exit code, or 128 + n."""
        end = time.monotonic() + deadline
        while self.read(0.2):
            assert time.monotonic() < end, f"it does not end:\n{self.text}"
        self.child.wait()
        return self.child.exitstatus if self.child.exitstatus is not None else 128 + self.child.signalstatus

    def kill(self, number):
        os.kill(self.child.pid, number)

    def close(self):
        if self.child.isalive():
            self.child.kill(signal.SIGKILL)
        with contextlib.suppress(OSError):  # a test may have closed the terminal already
            self.child.close(force=True)


def run(*arguments, environment, cwd, **options):
    """A command without a terminal."""
    return subprocess.run(
        [script(), *arguments], env=environment, cwd=cwd, capture_output=True, text=True, timeout=DEADLINE, **options
    )
