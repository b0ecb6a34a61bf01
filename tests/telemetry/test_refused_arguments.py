"""A program that refuses its command line says why on its last line. Judge: this interpreter's own argparse."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from prl_tui.telemetry import cause

PROGRAM = """
import argparse
parser = argparse.ArgumentParser(prog="train.py")
parser.add_argument("--width", type=int)
for n in range(40):
    parser.add_argument(f"--option_{n}")
parser.parse_args()
"""


def refused(tmp_path: Path, *words: str) -> Path:
    done = subprocess.run([sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    log = tmp_path / "output.log"
    log.write_text("importing\n" + "".join(f"[rank0]: {line}\n" for line in done.stderr.splitlines()))
    return log


def test_the_sentence_below_the_usage_is_the_cause(tmp_path: Path) -> None:
    found = cause.find(refused(tmp_path, "--widht", "3"), ())
    assert found is not None
    assert found.text == "train.py: error: unrecognized arguments: --widht 3"
    lines, begins = cause.shown(found.path or tmp_path, found.at)
    assert lines[-1] == found.text
    assert begins == found.at


def test_a_compilers_error_without_a_usage_is_no_cause(tmp_path: Path) -> None:
    log = tmp_path / "output.log"
    log.write_text("main.c:3:1: error: expected ';'\nfalling back to the slow kernel\n")
    assert cause.find(log, ()) is None


def test_an_exception_after_it_counts_more(tmp_path: Path) -> None:
    log = refused(tmp_path, "--width", "x")
    log.write_text(log.read_text() + "RuntimeError: the end\n")
    found = cause.find(log, ())
    assert found is not None
    assert found.text == "RuntimeError: the end"
