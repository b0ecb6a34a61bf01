"""Textual's own log widgets on the same files: `textual_logs.py RichLog|Log FOLDER RANKS`. `]` changes the header."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.widgets import Log, RichLog, Static

KEPT = 5000
"""Lines that the widget keeps: without a limit its memory is that of the log."""


class Logs(App[None]):
    BINDINGS: ClassVar = [("right_square_bracket", "next", "next"), ("q", "quit", "leave")]

    def __init__(self, widget: str, folder: Path, ranks: int) -> None:
        super().__init__()
        self.kind, self.folder, self.ranks, self.at, self.taken = widget, folder, ranks, 0, 0
        self.files: dict[int, Any] = {}

    def compose(self) -> ComposeResult:
        yield Static("launcher", id="head")
        yield RichLog(max_lines=KEPT, id="log") if self.kind == "RichLog" else Log(max_lines=KEPT, id="log")

    def on_mount(self) -> None:
        self.set_interval(0.1, self.take)

    def take(self) -> None:
        for rank in range(self.ranks):
            path = self.folder / "flood" / "attempt_0" / str(rank) / "stdout.log"
            if rank not in self.files and path.exists():
                self.files[rank] = path.open("rb")
            if rank in self.files:
                self.show(self.files[rank].read(1 << 20).decode("utf-8", "replace"))

    def show(self, text: str) -> None:
        lines = text.split("\n")[:-1]
        self.taken += len(lines)
        if self.kind == "Log":
            self.query_one(Log).write_lines(lines)
            return
        log = self.query_one(RichLog)
        for line in lines:
            log.write(Text.from_ansi(line.rpartition("\r")[2]))

    def action_next(self) -> None:
        self.at = (self.at + 1) % (self.ranks + 1)
        self.query_one("#head", Static).update(
            f"▸{'launcher' if self.at == 0 else f'r{self.at - 1}'}  {self.taken} lines"
        )


if __name__ == "__main__":
    Logs(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])).run()
