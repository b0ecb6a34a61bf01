"""`logs` picks lines by expression and level, also of a run that still writes: real runs of a supervisor."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from prl_tui.machine import paths
from prl_tui.runs import launcher, overview, stop
from prl_tui.runs.launcher import Job
from prl_tui.runs.state import log_end, status
from prl_tui.runs.stop import Grace
from prl_tui.tui.run_words import health
from tests.conftest import installed_script
from tests.runs.helpers import ended, kill_recorded, until

PROGRAM = """
import sys, time
print("INFO begin", flush=True)
print("[WARNING:swift] slow", flush=True)
for n in range(3):
    print(f"loss {n}", flush=True)
    time.sleep(PAUSE)
print("ERROR: out of luck", flush=True)
print("  4%\\r 9% loss bar", end="", flush=True)
"""


@pytest.fixture
def start(tmp_path):
    begun = []

    def begin(pause=0.0):
        code = PROGRAM.replace("PAUSE", str(pause))
        begun.append(launcher.start(paths.runs_dir(), Job((sys.executable, "-c", code), cwd=tmp_path)))
        return begun[-1]

    yield begin
    for folder in begun:
        stop.stop(folder, Grace(0, 1))
        stop.wait(folder, 20)


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (("--grep", r"loss \d"), ["loss 0", "loss 1", "loss 2"]),
        (("--grep", "loss", "--without", "[12]"), ["loss 0", " 9% loss bar"]),
        (("--level", "warning"), ["[WARNING:swift] slow", "ERROR: out of luck"]),
        (("--level", "info", "--without", "slow"), ["INFO begin", "ERROR: out of luck"]),
        (("--grep", "(?i)LOSS 1"), ["loss 1"]),
        (("--grep", "LOSS"), []),
        (("--grep", "^nothing"), []),
        (("--grep", "loss [[1]"), ["loss 1"]),
        (("--grep", r"loss \d", "-n", "2"), ["loss 1", "loss 2"]),
        (("--grep", "begin", "-n", "1"), ["INFO begin"]),
        (("--level", "warning", "-n", "1"), ["ERROR: out of luck"]),
        (("--without", "loss", "-n", "9"), ["INFO begin", "[WARNING:swift] slow", "ERROR: out of luck"]),
        (("--grep", "loss", "-n", "0"), []),
        (("-n", "2"), ["ERROR: out of luck", " 9% loss bar"]),
    ],
)
def test_only_the_wanted_lines_are_printed(start, cli, words, lines):
    folder = start()
    ended(folder)
    done = cli("logs", folder.id, *words)
    assert (done.code, done.out.splitlines(), done.err) == (0, lines, "")


def test_a_deleted_log_of_a_rank_is_told_with_where_its_lines_stand(start, cli):
    folder = start()
    ended(folder)
    ranks = folder.ranks / "x" / "attempt_0" / "0"
    ranks.mkdir(parents=True)
    done = cli("logs", folder.id, "--rank", "0")
    assert done.code == 3
    assert done.err.startswith(f"prl-tui: the log of rank 0 was deleted ({ranks}); `prl-tui logs {folder.id}` has")
    (ranks / "stdout.log").touch()
    assert cli("logs", folder.id, "--rank", "0").code == 0
    info = json.loads((folder.path / "run.json").read_text())
    (folder.path / "run.json").write_text(json.dumps({**info, "nproc": 2}))
    for gone in (ranks, folder.ranks):
        shutil.rmtree(gone)
        done = cli("logs", folder.id, "--rank", "1")
        assert done.code == 3
        assert done.err.startswith(
            f"prl-tui: the log of rank 1 was deleted ({folder.ranks}); `prl-tui logs {folder.id}` has"
        )
    assert "has no log of rank 2" in cli("logs", folder.id, "--rank", "2").err


def test_a_class_of_greps_is_refused_in_one_sentence(start, cli):
    folder = start()
    ended(folder)
    done = cli("logs", folder.id, "--grep", "[[:alpha:]]+")
    refused = (
        "prl-tui: --grep [[:alpha:]]+: not a regular expression: [:alpha:] is unknown here, [a-zA-Z]+ would work.\n"
    )
    assert (done.code, done.out, done.err) == (2, "", refused)


@pytest.mark.parametrize("option", ["--grep", "--without"])
def test_what_is_no_expression_is_said_in_one_sentence(start, cli, option):
    folder = start()
    ended(folder)
    done = cli("logs", folder.id, option, "loss(")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"prl-tui: {option} loss(: not a regular expression: missing ), unterminated subpattern at position 4.\n"
    )


def test_follow_prints_wanted_lines_as_they_come_and_ends_with_the_run(start):
    folder = start(pause=0.4)
    command = [*installed_script(), "logs", folder.id, "-f", "--grep", "loss"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        guard = threading.Timer(30, process.kill)
        guard.start()
        first = process.stdout.readline()
        alive = process.poll() is None
        rest = process.stdout.read()
        guard.cancel()
    assert (first, alive) == ("loss 0\n", True)
    assert rest.splitlines() == ["loss 1", "loss 2", " 9% loss bar"]
    assert process.returncode == 0


def test_the_last_lines_that_match_stand_anywhere_in_a_long_log(tmp_path, cli):
    """A failed torchrun ends with some forty lines of its own: `-n 3` of the errors are the last three errors."""
    code = "for n in range(5000): print('ERROR' if n % 1700 == 3 else 'line', n)"
    folder = launcher.start(paths.runs_dir(), Job((sys.executable, "-c", code), cwd=tmp_path))
    ended(folder)
    assert cli("logs", folder.id, "--level", "error", "-n", "2").out.splitlines() == ["ERROR 1703", "ERROR 3403"]
    assert cli("logs", folder.id, "--grep", "^ERROR 3$", "-n", "2").out.splitlines() == ["ERROR 3"]


TEED = Path(__file__).parents[1] / "fixtures" / "telemetry" / "tee_np2.log"


def test_what_torchrun_puts_behind_anothers_bar_is_a_line_of_its_own(tmp_path, cli):
    """torchrun 2.13's own merge of two ranks: hiding the bars hid what it had put behind them."""
    code = f"import sys; sys.stdout.buffer.write(open({str(TEED)!r}, 'rb').read())"
    folder = launcher.start(paths.runs_dir(), Job((sys.executable, "-c", code), cwd=tmp_path))
    ended(folder)
    written = re.split(r"\n|(?<=.)(?=\[default\d\]:)", TEED.read_text().removesuffix("\n"))
    every = cli("logs", folder.id).out.split("\n")[:-1]
    assert every == written
    for words in ("{'loss'", "rank1 says", "Train:"):
        assert sum(words in line for line in every) == TEED.read_text().count(words)
    seen = cli("logs", folder.id, "--without", "Train:").out.split("\n")[:-1]
    assert seen == [line for line in written if "Train:" not in line]
    only = cli("logs", folder.id, "--grep", r"^\[default1\]").out.splitlines()
    assert only == [line for line in written if line.startswith("[default1]")]
    for most in range(len(written) + 2):
        assert cli("logs", folder.id, "-n", str(most)).out.split("\n")[:-1] == (written[-most:] if most else [])
        assert cli("logs", folder.id, "-n", str(most), "--grep", "^.default1").out.splitlines() == (
            only[-most:] if most else []
        )


def test_a_long_line_of_several_ranks_is_parted_too(tmp_path, cli):
    """Longer than what an index hands out of a line."""
    bar, long = "[default0]:Train:   5%|#  | 5/100", "[default1]:{'loss': 2.0, 'prompt': '" + "p" * 9000 + "'}"
    many = [f"[default{n}]:rank {n} says so" for n in range(1000)]
    (tmp_path / "log").write_text(f"{bar}{long}\n{''.join(many)}\nend\n")
    code = "import sys; sys.stdout.write(open('log').read())"
    folder = launcher.start(paths.runs_dir(), Job((sys.executable, "-c", code), cwd=tmp_path))
    ended(folder)
    assert cli("logs", folder.id).out.splitlines() == [bar, long, *many, "end"]
    assert cli("logs", folder.id, "--without", "Train:", "-n", "1002").out.splitlines() == [long, *many, "end"]
    assert cli("logs", folder.id, "--grep", r"^\[default1\]").out.splitlines() == [long, many[1]]


GROWING = """
import time
print("[default0]:Train: 5%|# |[default1]:Train: 5%|# |", end="", flush=True)
time.sleep(2)
print("[default0]:" + "Y" * 9000 + "ERROR: out of memory on rank 0\\nnext line", flush=True)
"""


def test_the_last_lines_of_a_log_that_grows_lose_none(tmp_path):
    """`-f -n 1` began behind the parts that its unfinished last line had then, and lost what came to that line."""
    folder = launcher.start(paths.runs_dir(), Job((sys.executable, "-c", GROWING), cwd=tmp_path))
    until(lambda: folder.output.exists() and folder.output.read_bytes(), "its first text")
    command = [*installed_script(), "logs", folder.id, "-f", "-n", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout.splitlines()[-2:] == ["[default0]:" + "Y" * 9000 + "ERROR: out of memory on rank 0", "next line"]


ORPHANED = """
import sys, time
for n in range(int(sys.argv[1])):
    print("line", n, flush=True)
    time.sleep(0.05)
"""


def orphaned(place, lines):
    """A run that writes so many lines, whose supervisor was killed and whose log is read on."""
    info = {"activation": {"kind": "this"}}
    job = Job((sys.executable, "-c", ORPHANED, str(lines)), cwd=place, recorded=True, info=info)
    folder = launcher.start(paths.runs_dir(), job)
    until(lambda: folder.output.exists() and folder.output.read_bytes().count(b"\n") > 3, "its first lines")
    kill_recorded(folder)
    until(lambda: status(folder).orphaned and log_end(folder) == "read", "that it is lost, and its log read on")
    return folder


def test_a_run_whose_supervisor_was_killed_is_followed_to_its_end(tmp_path):
    """It trains on; `logs -f && next` began the next job beside it."""
    folder = orphaned(tmp_path, 80)
    watched_plain = ["watch", folder.id, "--plain"]
    commands = (["logs", folder.id, "-f"], watched_plain, [*watched_plain, "--exit-on", "failed"])
    all_ = [
        subprocess.Popen([*installed_script(), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for words in commands
    ]
    (lines, told), (shown, watched), (later, _) = (one.communicate(timeout=60) for one in all_)
    assert lines.splitlines() == [f"line {n}" for n in range(80)]
    assert told == f"run {folder.id}: Its supervisor is gone, but it still runs: a stop ends what is left of it.\n"
    assert told in watched
    assert "lost" in shown
    assert "? lost" in later, "it has not failed as long as it trains"
    assert [one.returncode for one in all_] == [0, 4, 4]
    assert not status(folder).orphaned


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", ".*.*y", ".*a.*a.*a.*q", "(a|b)*c", r"(?=(a+))\1*q"])
@pytest.mark.parametrize("option", ["--grep", "--without"])
def test_no_expression_hangs_the_command_line(tmp_path, option, pattern):
    code = "print('a' * 30); print('first'); print('a' * 20000); print('a' * 40 + '!'); print('after')"
    folder = launcher.start(paths.runs_dir(), Job((sys.executable, "-c", code), cwd=tmp_path))
    ended(folder)
    command = [*installed_script(), "logs", folder.id, option, pattern]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    if done.returncode:
        assert done.returncode == 2
        assert done.stderr.startswith(f"prl-tui: {pattern}: takes too long")
        assert re.search(r" Line [34] and those after it were not tested\.\n$", done.stderr)
        assert "after" not in done.stdout
    else:
        matching = {line for line in ("a" * 30, "first", "after") if re.search(pattern, line)}
        wanted = matching if option == "--grep" else {"a" * 30, "first", "after"} - matching
        assert wanted <= set(done.stdout.splitlines())


LONG_LINES = r"""
print("CONFIG {" + "x" * 9000 + "}")
print("\u4e2d" * 4000)
print("begin " + "y" * 300_000 + " end")
print("bar 1" + "\rbar 2" * 5000)
print("ERROR: " + "z" * 20_000)
"""


@pytest.fixture
def long_lines(tmp_path):
    folder = launcher.start(paths.runs_dir(), Job((sys.executable, "-X", "utf8", "-c", LONG_LINES), cwd=tmp_path))
    ended(folder)
    return folder


def test_long_lines_are_printed_whole(cli, long_lines):
    done = cli("logs", long_lines.id)
    assert done.out.splitlines() == [
        "CONFIG {" + "x" * 9000 + "}",
        "中" * 4000,
        "begin " + "y" * 300_000 + " end",
        "bar 2",
        "ERROR: " + "z" * 20_000,
    ]


@pytest.mark.parametrize(
    ("words", "begins"),
    [
        (("--grep", "^CONFIG"), ["CONFIG"]),
        (("--grep", "^begin .* end$"), ["begin "]),
        (("--grep", " end$"), ["begin "]),
        (("--without", "^(CONFIG|begin|ERROR)"), ["中中中中中中", "bar 2"]),
        (("--level", "error"), ["ERROR:"]),
        (("--grep", "^中+$", "-n", "4"), ["中中中中中中"]),
    ],
)
def test_long_lines_are_judged_by_their_start_and_their_end(cli, long_lines, words, begins):
    done = cli("logs", long_lines.id, *words)
    assert (done.code, [line[:6] for line in done.out.splitlines()]) == (0, begins)


COUNTS = "import time\nfor n in range(1, 61): print('line', n, flush=True); time.sleep(0.05)"


@pytest.mark.parametrize("how", ["cut", "replaced"])
def test_follow_starts_again_where_the_log_is_cut_or_replaced_and_says_so(tmp_path, how):
    """Judged by the program's own numbers: none of the lines that came after is missing."""
    folder = launcher.start(paths.runs_dir(), Job((sys.executable, "-c", COUNTS), cwd=tmp_path))
    command = [*installed_script(), "logs", folder.id, "-f"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        guard = threading.Timer(30, process.kill)
        guard.start()
        before = [process.stdout.readline() for _ in range(20)]
        if how == "cut":
            os.truncate(folder.output, 0)
        else:
            folder.output.rename(tmp_path / "output.log.1")
            folder.output.touch()
        after = process.stdout.read().splitlines()
        told = process.stderr.read()
        guard.cancel()
    assert before == [f"line {n}\n" for n in range(1, 21)]
    last = [f"line {n}" for n in range(1, 61)]
    assert folder.output.read_text().splitlines() == last[-len(folder.output.read_text().splitlines()) :]
    assert after[-len(folder.output.read_text().splitlines()) :] == folder.output.read_text().splitlines()
    assert told == "The log was cut or replaced: printed from its new beginning.\n"
    assert process.returncode == 0


DYING = """
import time
for n in range(4):
    print("line", n, flush=True)
    time.sleep(0.3)
raise RuntimeError("out of luck")
"""


def test_why_a_lost_run_ended_is_told_where_its_log_shows_it(tmp_path, cli):
    """Nobody saw its exit code; its exception stands in the log all the same."""
    job = Job((sys.executable, "-c", DYING), cwd=tmp_path, recorded=True, info={"activation": {"kind": "this"}})
    folder = launcher.start(paths.runs_dir(), job)
    until(lambda: folder.output.exists() and folder.output.read_bytes(), "its first line")
    kill_recorded(folder)
    until(lambda: b"RuntimeError" in folder.output.read_bytes(), "its exception")
    until(lambda: status(folder).over, "its end")
    assert "RuntimeError: out of luck" in cli("runs").out
    watched = cli("watch", folder.id, "--plain")
    assert watched.code == 4
    assert "RuntimeError: out of luck" in watched.out


def test_an_orphaned_run_that_says_nothing_is_told_as_silent(tmp_path):
    """As where its supervisor lives."""
    folder = orphaned(tmp_path, 400)
    reading = overview.reader(folder)
    view = reading.poll()
    reading.close()
    one = overview.describe(folder, view, clock=lambda: time.time() + 7200)
    assert one.quiet is not None
    assert one.quiet > 7000
    assert one.warns
    assert overview.describe(folder, view).quiet is None
    text, tone = health(one)
    assert tone == "warn"
    assert "but it still runs" in text
    assert "S" in text.split()
    assert stop.stop(folder, Grace(0, 1)).code == "swept"
