"""An exception group as a run's cause. Judges: this interpreter's own traceback, and texts recorded from CPython 3.11.7."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from prl_tui.telemetry import cause
from prl_tui.telemetry.error_lines import FirstErrors
from prl_tui.telemetry.line_tests import ErrorTest, LineFilter

PROGRAM = 'raise ExceptionGroup("many", [ValueError("a"), TypeError("b")])\n'
RECORDED = """\
  + Exception Group Traceback (most recent call last):
  |   File "train.py", line 1, in <module>
  |     raise ExceptionGroup("many", [ValueError("a"), TypeError("b")])
  | ExceptionGroup: many (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | ValueError: a
    +---------------- 2 ----------------
    | TypeError: b
    +------------------------------------
""".splitlines()
NESTED = """\
  + Exception Group Traceback (most recent call last):
  |   File "train.py", line 10, in <module>
  |     asyncio.run(main())
  |   File "train.py", line 8, in main
  |     async with asyncio.TaskGroup() as g:
  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Exception Group Traceback (most recent call last):
    |   File "train.py", line 6, in n
    |     async with asyncio.TaskGroup() as g: g.create_task(a())
    | train.Odd: inner (1 sub-exception)
    +-+---------------- 1 ----------------
      | Traceback (most recent call last):
      |   File "train.py", line 3, in a
      |     try: 1/0
      |          ~^~
      | ZeroDivisionError: division by zero
      |\x20
      | The above exception was the direct cause of the following exception:
      |\x20
      | Traceback (most recent call last):
      |   File "train.py", line 4, in a
      |     except Exception as e: raise ValueError("a\\nb") from e
      |                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      | ValueError: a
b
      +------------------------------------
    +---------------- 2 ----------------
    | TypeError: c
    +------------------------------------
""".splitlines()
TEXT = "ExceptionGroup: many (2 sub-exceptions): ValueError: a"
MARKS = ["", "[rank1]: ", "[default1]:", "[default1]:[rank1]: "]


def written(path, lines, mark=""):
    path.write_text("".join(f"{mark}{line}\n" for line in lines))
    return path


@pytest.mark.skipif(sys.version_info < (3, 11), reason="this Python has no exception groups")
@pytest.mark.parametrize("mark", MARKS)
def test_what_this_python_says_of_a_group_is_the_cause(tmp_path, mark):
    program = tmp_path / "train.py"
    program.write_text(PROGRAM)
    said = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False).stderr.splitlines()
    log = written(tmp_path / "output.log", ["starting", *said, "bye"], mark)
    found = cause.find(log, ())
    assert found is not None
    assert found.text == TEXT
    assert list(cause.shown(log, found.at)[0]) == said


@pytest.mark.parametrize("mark", MARKS)
def test_a_group_is_the_cause_by_its_own_line_and_its_first_member(tmp_path, mark):
    log = written(tmp_path / "output.log", ["starting", *RECORDED, "bye"], mark)
    found = cause.find(log, ())
    assert found is not None
    assert (found.text, found.line) == (TEXT, 4)
    assert list(cause.shown(log, found.at)[0]) == RECORDED


@pytest.mark.parametrize("mark", MARKS)
def test_a_group_in_a_group_is_told_down_to_its_member_and_not_by_that_ones_cause(tmp_path, mark):
    log = written(tmp_path / "output.log", NESTED, mark)
    found = cause.find(log, ())
    assert found is not None
    assert found.text == (
        "ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions): "
        "train.Odd: inner (1 sub-exception): ValueError: a"
    )
    lines, at = cause.shown(log, found.at)
    assert (lines[0], at) == (NESTED[0], found.at)
    assert NESTED[5] in lines
    assert len(lines) == 20


def test_a_group_behind_a_bar_among_other_ranks_lines(tmp_path):
    mixed = [line for one in RECORDED for line in (f"[rank1]: {one}", f"[rank0]: {one.replace('many', 'other')}")]
    mixed[0] = f" 50%|█████     | 2/4 [00:01<00:01, 1.99it/s]{mixed[0]}"
    log = written(tmp_path / "output.log", [*mixed[:2], *mixed[2:]])
    assert cause.find(log, ()).text == TEXT.replace("many", "other"), "whose block began last"
    mixed[1::2] = ["[rank0]: ValueError: nobody asked", *["[rank0]:   | step"] * (len(RECORDED) - 1)]
    log = written(tmp_path / "output.log", [mixed[1], mixed[0], *mixed[2:]])
    found = cause.find(log, ())
    assert (found.text, found.line) == (TEXT, 6)
    assert cause.shown(log, found.at)[0][0] == RECORDED[0]


@pytest.mark.parametrize("kept", range(1, len(RECORDED)))
def test_a_group_that_breaks_off_says_what_is_there(tmp_path, kept):
    log = written(tmp_path / "output.log", ["RuntimeError: before", *RECORDED[:kept]])
    found = cause.find(log, ())
    own = "ExceptionGroup: many (2 sub-exceptions)"
    assert found.text == ("RuntimeError: before" if kept < 4 else own if kept < 6 else TEXT)
    if kept >= 4:
        assert list(cause.shown(log, found.at)[0]) == RECORDED[:kept]


def test_what_was_raised_because_of_a_group_is_the_cause(tmp_path):
    after = ["", "The above exception was the direct cause of the following exception:", "",
             "Traceback (most recent call last):", '  File "train.py", line 3, in <module>', "RuntimeError: so"]  # fmt: skip
    log = written(tmp_path / "output.log", [*RECORDED, *after])
    found = cause.find(log, ())
    assert found.text == "RuntimeError: so"
    assert list(cause.shown(log, found.at)[0]) == after[3:]


@pytest.mark.parametrize("mark", MARKS)
def test_a_groups_lines_look_like_errors_and_its_traceback_is_the_first(mark):
    errors = FirstErrors()
    for number, line in enumerate(["all well", *RECORDED]):
        errors.take(Path("output.log"), number, f"{mark}{line}")
    assert errors.own is not None
    assert errors.own.line == 1
    raw = [f"{mark}{line}".encode() for line in RECORDED]
    chosen = [RECORDED[n] for n in LineFilter((ErrorTest(),)).chosen(raw)]
    assert chosen == [line for line in RECORDED if re.search(r"Traceback|: (?:many|a|b)\b", line)]
