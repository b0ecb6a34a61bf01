"""The lines that show a cause stand as they were written: carets point at what they mean.

Judges: this interpreter's own traceback behind torch's and torchrun's marks, and a real capture (ms-swift 4.6.0, torch 2.13).
"""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from prl_tui.telemetry import cause
from prl_tui.telemetry.error_lines import FirstErrors
from prl_tui.telemetry.swallowed import Finder

CAPTURE = Path(__file__).parents[1] / "fixtures" / "engine_runs" / "fail_rank1_raises" / "console.raw"
PROGRAM = "def one(n):\n    return (n + 1) / (n - n) + one(n)\n\n\none(1)\n"


@pytest.mark.parametrize("mark", ["", "[rank1]: ", "[default1]:", "[default1]:[rank1]: "])
def test_a_traceback_keeps_its_indentation(tmp_path, mark):
    program = tmp_path / "train.py"
    program.write_text(PROGRAM)
    said = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False).stderr.splitlines()
    log = tmp_path / "output.log"
    log.write_text("".join(f"{mark}{line}\n" for line in ["starting", *said]))
    found = cause.find(log, ())
    assert found is not None
    assert found.text == "ZeroDivisionError: division by zero"
    assert list(cause.shown(log, found.at)[0]) == said


def test_a_cause_that_torchrun_put_behind_anothers_bar_is_found(tmp_path):
    """As torchrun 2.13 merges ranks (`tee_np2.log`): a bar has no newline, and another rank's text goes on behind it."""
    bar = "[default0]:Train:   8%|▊         | 1/12 [00:00<00:01,  8.28it/s]"
    log = tmp_path / "output.log"
    raised = "[default1]:[rank1]: RuntimeError: out of luck"
    log.write_text(f"{bar}[default1]:[rank1]: Traceback (most recent call last):\n{bar}{raised}\n{bar}\n")
    found = cause.find(log, ())
    assert found is not None
    assert (found.text, found.line) == ("RuntimeError: out of luck", 1)
    assert log.read_bytes()[found.at :].decode().startswith(raised)
    lines, _ = cause.shown(log, found.at)
    assert (lines[0], lines[-1]) == ("Traceback (most recent call last):", "RuntimeError: out of luck")


@pytest.mark.parametrize("mark", ["", "[rank1]: ", "[default1]:", "[default1]:[rank1]: "])
@pytest.mark.parametrize("last", ["Exception: out of luck", "Exception"])
def test_a_bare_exception_is_one_too(tmp_path, mark, last):
    """CPython writes `raise Exception("out of luck")` so: nothing stands before the word."""
    said = ["Traceback (most recent call last):", '  File "train.py", line 1, in <module>', last]
    log = tmp_path / "output.log"
    log.write_text("".join(f"{mark}{line}\n" for line in [*said, "bye"]))
    found = cause.find(log, ())
    assert found is not None
    assert (found.text, found.line) == (last, 2)
    errors = FirstErrors()
    for number, line in enumerate(said):
        errors.take(log, number, f"{mark}{line}")
    assert errors.own is not None
    assert errors.own.line == 0


def test_a_real_capture_keeps_its_indentation():
    found = cause.find(CAPTURE, ())
    assert found is not None
    lines, _ = cause.shown(CAPTURE, found.at)
    assert lines[0] == "Traceback (most recent call last):", "though it began behind a bar"
    calls = [line for line in lines if line.lstrip().startswith("File ")]
    assert len(calls) > 4
    assert all(line.startswith('  File "') for line in calls)
    assert any(line.startswith("    ") and set(line.strip()) <= {"^", "~"} for line in lines)


def test_a_cause_is_found_in_the_end_of_a_log_alone_and_its_line_is_counted_when_asked_for(tmp_path, monkeypatch):
    """Judged by the bytes that are read of a log of 64 MB, in whose holes nothing is stored."""
    log = tmp_path / "output.log"
    with log.open("wb") as file:
        file.write(b"one\ntwo\n")
        file.seek(64 << 20)
        file.write(b"\nthree\nRuntimeError: out of luck\nbye\n")
    taken = []

    class Counted(io.BufferedReader):
        def read(self, size=-1, /):
            part = super().read(size)
            taken.append(len(part))
            return part

    monkeypatch.setattr("prl_tui.regular.opened", lambda path: Counted(io.FileIO(path)))
    found = cause.find(log, ())
    assert (found.text, cause.shown(log, found.at)[0][-1]) == ("RuntimeError: out of luck",) * 2
    assert sum(taken) <= 4 * cause.TAIL
    assert found.line == 4
    assert log.read_bytes().split(b"\n")[4] == b"RuntimeError: out of luck"


TOKEN = "glpat-" + "abcdefghij0123456789"
URL = f"https://oauth2:{TOKEN}@gitlab.example/x.git"


def test_what_is_said_of_a_run_has_no_key_and_no_password(tmp_path):
    """CPython's own traceback of the OSError that requests 2.32 raises for a clone URL with a token in it."""
    program = tmp_path / "train.py"
    program.write_text(f"raise OSError('401 Client Error: Unauthorized for url: {URL}')\n")
    said = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False).stderr
    log = tmp_path / "output.log"
    log.write_text(said)
    found = cause.find(log, ())
    assert found is not None
    assert found.text == "OSError: 401 Client Error: Unauthorized for url: https://…@gitlab.example/x.git"
    lines, _ = cause.shown(log, found.at)
    assert "Unauthorized" in lines[-1]
    assert TOKEN not in "\n".join(lines)
    hidden = Finder(["401 Client"])
    assert hidden.take(said.splitlines()[-1])
    assert hidden.found is not None
    assert TOKEN not in hidden.found.words()


HEX = "0123456789abcdef" * 2 + "01234567"
SAID = {
    "401 for url: https://api.x.com/v1?api_key=deadbeefdeadbeef12&x=1 Authorization: Bearer zebra77zebra77zebra": (
        "401 for url: https://api.x.com/v1?api_key=…&x=1 Authorization: …"
    ),
    "GET https://b.blob.core.windows.net/d?sv=2024&sig=AbC%2Bd%3D&se=1": "GET https://b.blob.core.windows.net/d?sv=2024&sig=…&se=1",
    "login(password=zebra77pw, user='x') api_key: 'qwerty9988zz'": "login(password=…, user='x') api_key: '…'",
    "header Bearer abcdefghijklmnop12345 refused": "header … refused",
    "bad arguments: --hub_token abcdef99 --lr 1e-5": "bad arguments: --hub_token … --lr 1e-5",
    'no access with MODELSCOPE_API_TOKEN=hunter2222222 {"token": "hunter333333"} at once': (
        'no access with MODELSCOPE_API_TOKEN=… {"token": "…"} at once'
    ),
    "X-Api-Key: hunter444444 is no key": "X-Api-Key: … is no key",
    "pwd=hunter22 db_password=abc aws_session_token=abcdefgh denied": "pwd=… db_password=… aws_session_token=… denied",
    "cannot connect password='my hunter5555' to db": "cannot connect password='…' to db",
    f"wandb: api key: {HEX} not configured": "wandb: api key: … not configured",
}
HARMLESS = [
    "Please select a token to use as `pad_token` `(tokenizer.pad_token = tokenizer.eos_token e.g.)`",
    "max_new_tokens=512 exceeds 256; num_tokens: 8192",
    "'token_type_ids'",
    "'password'",
    "unrecognized arguments: --eos-token 5 --max_tokens 512 --use_lmdeploy",
    "--stop-token <|im_end|> is not a token",
    "got an unexpected keyword argument 'tokenizer'",
    "api_key=None, password = None, use_secret=True",
    "GET http://h/p?tokenizer=fast&monkey=1&next_token=5",
    "invalid token: expected ident",
    "eos_token_id=151643",
]


@pytest.mark.parametrize(("said", "shown"), [*SAID.items(), *zip(HARMLESS, HARMLESS, strict=True)])
def test_a_secret_in_a_sentence_is_hidden_and_all_else_stays(said, shown):
    """Sentences as requests 2.32, wandb, transformers 5 and argparse say them."""
    assert cause.quoted(f"ValueError: {said}") == f"ValueError: {shown}"
    assert cause.quoted(cause.quoted(said)) == cause.quoted(said)
