"""Wine's cmd.exe with a recording program: a second opinion on batch files, since Wine is not Windows."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

RECORDER = r"""
#include <windows.h>
#include <stdio.h>
int _dowildcard = 0;
static void put(FILE *to, const wchar_t *text) {
    static char out[200000];
    int size = WideCharToMultiByte(CP_UTF8, 0, text, -1, out, sizeof out, NULL, NULL);
    fwrite(out, 1, size, to);
}
int wmain(int argc, wchar_t **argv) {
    FILE *to = fopen("argv", "wb");
    for (int at = 0; at < argc; at++) put(to, argv[at]);
    fclose(to);
    to = fopen("environ", "wb");
    for (wchar_t *at = GetEnvironmentStringsW(); *at; at += wcslen(at) + 1) put(to, at);
    fclose(to);
    return 37;
}
"""
COMPILER = "x86_64-w64-mingw32-gcc"


def _wine() -> str | None:
    found = shutil.which("wine64") or shutil.which("wine") or "/usr/lib/wine/wine64"
    return found if Path(found).exists() else None


def missing() -> str:
    """Why Wine cannot be asked here, or ""."""
    if _wine() is None:
        return "Wine is not installed"
    return "" if shutil.which(COMPILER) else f"{COMPILER} is not installed"


def _as_utf_8(text: str) -> str:
    """Without a console Wine 8's chcp changes nothing, and cmd reads the file in code page 437: its characters back."""
    try:
        return text.encode("cp437").decode("utf-8")
    except UnicodeError:
        return text


class Wine:
    """A prefix of its own, in which `torchrun` and `python` record their arguments and variables and exit with 37."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.place = folder / "place"
        self.place.mkdir()
        (folder / "r.c").write_text(RECORDER)
        words = [COMPILER, "-municode", "-O1", "-o", str(self.place / "python.exe"), str(folder / "r.c")]
        subprocess.run(words, check=True, timeout=120)
        shutil.copy(self.place / "python.exe", self.place / "torchrun.exe")
        told = []
        for attempt in range(3):  # on a full box Wine 8 now and then gives up while it makes its prefix
            self.env = {"WINEPREFIX": str(folder / f"prefix{attempt}"), "HOME": str(folder),
                        "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}  # fmt: skip
            words = [_wine() or "wine", "cmd", "/d", "/c", "exit"]
            made = subprocess.run(words, env=self.env, capture_output=True, timeout=300, check=False)
            if made.returncode == 0:
                break
            told.append(made.stderr.decode("utf-8", "replace")[-2000:])
            self.stop()
        else:
            raise AssertionError("Wine made no prefix in three attempts:\n" + "\n".join(told))
        self.env["WINEDEBUG"] = "-all"

    def run(self, text: str, **env: str) -> tuple[int, list[str] | None, dict[str, str], str]:
        """Exit code, argv without the program's path, environment, and what was told on stderr."""
        for name in ("argv", "environ"):
            (self.place / name).unlink(missing_ok=True)
        (self.place / "run.bat").write_bytes(text.encode())
        words = [_wine() or "wine", "cmd", "/d", "/c", "run.bat"]
        done = subprocess.run(words, cwd=self.place, env={**self.env, **env}, capture_output=True, timeout=120)
        argv = self._read("argv")
        entries = [entry for entry in self._read("environ") or [] if not entry.startswith("=")]
        return (
            done.returncode,
            None if argv is None else argv[1:],
            dict(entry.split("=", 1) for entry in entries),
            done.stderr.decode("utf-8", "replace"),
        )

    def _read(self, name: str) -> list[str] | None:
        path = self.place / name
        if not path.exists():
            return None
        texts = path.read_bytes().decode("utf-8", "replace").split("\0")[:-1]
        return [_as_utf_8(text) for text in texts]

    def stop(self) -> None:
        """End the server of this prefix."""
        server = shutil.which("wineserver") or "/usr/lib/wine/wineserver"
        if Path(server).exists():
            subprocess.run([server, "-k"], env=self.env, timeout=60, check=False)
