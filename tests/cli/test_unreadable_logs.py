"""A log or a folder that one may not read is never called empty: judged by the kernel, on a process without root's power."""

from __future__ import annotations

import pytest

from prl_tui.machine import paths
from prl_tui.runs.folder import RunFolder
from tests.runs.helpers import write

ROW = "{'loss': 1.0, 'global_step/max_steps': '1/1'}\n"


def shut_log(top):
    (top / "train.log").write_text(ROW)
    (top / "train.log").chmod(0)
    return top / "train.log", top / "train.log"


def shut_folder(top):
    (top / "out").mkdir()
    (top / "out" / "train.log").write_text(ROW)
    (top / "out").chmod(0)
    return top / "out", top / "out"


def log_in_a_shut_folder(top):
    shut_folder(top)
    return (top / "out" / "train.log",) * 2


def only_a_shut_log(top):
    (top / "out").mkdir()
    _, log = shut_log(top / "out")
    return top / "out", log


def shut_metrics(top):
    (top / "out").mkdir()
    (top / "out" / "logging.jsonl").write_text('{"loss": 1.0}\n')
    (top / "out" / "logging.jsonl").chmod(0)
    return top / "out", top / "out" / "logging.jsonl"


def shut_below(top):
    (top / "all").mkdir()
    shut_folder(top / "all")
    return top / "all", top / "all" / "out"


def listed_only(top):
    shut_folder(top)
    (top / "out").chmod(0o444)
    return top / "out", top / "out" / "train.log"


MAKE = [shut_log, shut_folder, log_in_a_shut_folder, only_a_shut_log, shut_metrics, shut_below, listed_only]


@pytest.mark.parametrize("make", MAKE)
def test_watch_says_that_there_is_no_permission(tmp_path, powerless, make):
    named, shut = make(tmp_path)
    done = powerless("watch", str(named), "--plain")
    assert (done.code, done.out, done.err) == (2, "", f"prl-tui: {shut}: no permission to read it.\n")


@pytest.mark.parametrize("options", [("--json",), ("--exit-on", "finished")], ids=" ".join)
def test_so_it_does_with_other_options(tmp_path, powerless, options):
    named, shut = shut_log(tmp_path)
    done = powerless("watch", str(named), *options)
    assert (done.code, done.out, done.err) == (2, "", f"prl-tui: {shut}: no permission to read it.\n")


def test_what_can_be_read_is_watched_beside_what_cannot(tmp_path, powerless):
    out, _ = shut_metrics(tmp_path)
    (out / "train.log").write_text(ROW)
    assert powerless("watch", str(out), "--plain").code == 0


@pytest.fixture
def shut_run():
    """An ended run whose log is shut."""
    run = RunFolder(paths.runs_dir() / "aaaaa1")
    run.path.mkdir(parents=True)
    write(run, "run", {"created": 1e9, "recipe": "demo", "host": "box", "boot_id": "b", "pid_namespace": "n"})
    write(run, "exit", {"exit_code": 7, "started": 1e9, "ended": 1e9 + 60, "seconds": 60.0})
    run.output.write_text(ROW)
    run.output.chmod(0)
    return run


def test_logs_of_a_run_says_it_too(shut_run, powerless):
    done = powerless("logs", "aaaaa1")
    assert (done.code, done.out, done.err) == (2, "", f"prl-tui: {shut_run.output}: no permission to read it.\n")


def test_a_run_whose_code_is_known_ends_with_it_and_says_so_beside(shut_run, powerless):
    done = powerless("watch", "aaaaa1", "--plain")
    assert done.code == 7
    assert f"{shut_run.output}: no permission to read it." in done.err
