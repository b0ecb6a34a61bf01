r"""A double of Windows' cmd.exe for straight batch files, since no Windows can be had here: what is documented of its
phases, and nothing more. Wine's cmd judges the same files beside it (test_bat.py).

Sources: Microsoft Learn, "cmd", "set", "Command shell overview" (special characters, the caret, %% in batch files);
the batch line parser as dbenham and jeb worked it out (stackoverflow.com/a/4095133): 1 percent expansion, 2 quotes,
carets and operators, 7 execution; Microsoft Learn, "Parsing C command-line arguments" for what the program's runtime does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

LONGEST = 8191


@dataclass
class Seen:
    """What a batch file did."""

    argv: list[str] | None = None
    """The arguments of the one program that it started, the program first."""
    env: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)


def read(text: str, **env: str) -> Seen:
    """Run a file's lines; AssertionError where cmd would do something that no exported file may do."""
    assert text.startswith("@echo off\r\n")
    assert text.count("\n") == text.count("\r\n")
    seen = Seen(env={"USERPROFILE": "C:\\Users\\x", "ERRORLEVEL": "0", **env})
    for line in text.split("\r\n"):
        assert len(line) <= LONGEST
        if not line.lower().startswith("rem "):
            _run(seen, _words(_percent(line, seen.env)))
        else:
            _percent(line, {})
    return seen


def _percent(line: str, env: dict[str, str]) -> str:
    """Phase 1: %% is one %, %NAME% a value; an argument of the batch file or a lonely % would be lost."""
    found, at = "", 0
    while at < len(line):
        if line[at] != "%":
            found, at = found + line[at], at + 1
        elif line.startswith("%%", at):
            found, at = found + "%", at + 2
        else:
            name = re.match(r"%([A-Za-z_]\w*)%", line[at:])
            assert name, f"a lonely % in {line!r}"
            found, at = found + env.get(name[1].upper(), ""), at + len(name[0])
    return found


def _words(line: str) -> list[tuple[str, bool]]:
    """Phase 2: characters, each with whether it is an operator; a quote switches, a caret outside frees the next."""
    found: list[tuple[str, bool]] = []
    quoted, at = False, 0
    while at < len(line):
        char = line[at]
        if char == "^" and not quoted:
            at += 1
            assert at < len(line), f"a caret at the end of {line!r}"
            found.append((line[at], False))
        else:
            quoted = quoted != (char == '"')
            found.append((char, not quoted and char in "&|<>()"))
        at += 1
    assert not quoted, f"an open quote in {line!r}"
    return found


def _run(seen: Seen, chars: list[tuple[str, bool]]) -> None:
    """Phase 7 for the commands that an exported file has."""
    text = "".join(char for char, _ in chars)
    marks = "".join(char for char, operator in chars if operator)
    if not text or text.startswith(
        ("@echo", "chcp 65001 >nul", "setlocal ", "cmd /d /c exit 0", "exit /b ", "if ", "cd /d ", "call ")
    ):
        return
    if text.startswith(("  ", ")")):  # a branch that is not taken here
        return
    if text.startswith(">"):
        to = re.match(r'>>"([^"]+)" echo ', text)
        assert to, text
        assert marks == ">>"
        seen.files[to[1]] = seen.files.get(to[1], "") + text[len(to[0]) :] + "\r\n"
        return
    assert marks == "", f"{text!r} is more than one command: {marks}"
    if text.startswith("set "):
        body = text[4:]
        assert body[0] == '"'
        name, _, value = body[1 : body.rindex('"')].partition("=")
        if value:
            seen.env[name.upper()] = value
        else:
            seen.env.pop(name.upper(), None)
        return
    assert seen.argv is None, "two programs"
    seen.argv = arguments(text)


def arguments(line: str) -> list[str]:
    """A command line as the C runtime splits it."""
    found, at = [], 0
    while at < len(line):
        if line[at] in " \t":
            at += 1
            continue
        word, quoted = "", False
        while at < len(line) and (quoted or line[at] not in " \t"):
            slashes = len(line) - at - len(line[at:].lstrip("\\"))
            at += slashes
            if line[at : at + 1] != '"':
                word += "\\" * slashes
                if not slashes:
                    word, at = word + line[at], at + 1
                continue
            word += "\\" * (slashes // 2)
            if slashes % 2:
                word += '"'
            elif quoted and line[at + 1 : at + 2] == '"':
                word, at = word + '"', at + 1
            else:
                quoted = not quoted
            at += 1
        found.append(word)
    return found
