"""One line of text under edit: a cursor and the keys that change it. Knows no widget."""

from __future__ import annotations

from dataclasses import dataclass

CUTTING = frozenset({"backspace", "delete", "ctrl+u", "ctrl+k", "ctrl+w"})
"""Keys that take away what is selected."""


@dataclass
class LineEditor:
    """The text of a field while a person types."""

    text: str
    at: int = -1
    """Characters before the cursor; −1 puts it at the end."""

    selected: bool = False
    """The whole text is: what is typed takes its place."""

    def __post_init__(self) -> None:
        if self.at < 0:
            self.at = len(self.text)

    def insert(self, text: str) -> None:
        """Put text at the cursor; line ends become blanks."""
        if self.selected:
            self._cut(0, len(self.text))
        text = " ".join(text.splitlines()) if "\n" in text or "\r" in text else text
        self.text = self.text[: self.at] + text + self.text[self.at :]
        self.at += len(text)

    def press(self, key: str) -> bool:
        """Do what an editing key does; False for a key that is none."""
        if self.selected and key in CUTTING:
            self._cut(0, len(self.text))
            return True
        match key:
            case "left":
                self.at = max(0, self.at - 1)
            case "right":
                self.at = min(len(self.text), self.at + 1)
            case "home" | "ctrl+a":
                self.at = 0
            case "end" | "ctrl+e":
                self.at = len(self.text)
            case "backspace":
                self._cut(self.at - 1, self.at)
            case "delete":
                self._cut(self.at, self.at + 1)
            case "ctrl+u":
                self._cut(0, self.at)
            case "ctrl+k":
                self._cut(self.at, len(self.text))
            case "ctrl+w":
                start = len(self.text[: self.at].rstrip().rpartition(" ")[0])
                self._cut(start, self.at)
            case _:
                return False
        self.selected = False
        return True

    def place(self, at: int) -> None:
        """Put the cursor before a character; nothing is selected any more."""
        self.at, self.selected = max(0, min(at, len(self.text))), False

    def _cut(self, start: int, end: int) -> None:
        self.selected = False
        start, end = max(0, start), min(len(self.text), end)
        self.text = self.text[:start] + self.text[end:]
        self.at = start
