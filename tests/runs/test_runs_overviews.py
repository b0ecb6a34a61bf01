"""The list of runs, looked at again and again: what has ended is read once, what lives is followed."""

from __future__ import annotations

import json
import sys

import pytest

from prl_tui.cli import watching
from prl_tui.machine import paths
from prl_tui.runs import launcher, overview, state, stop, store
from prl_tui.telemetry.run_view import RunReader
from tests.runs.helpers import ended, until

TICKS = "import time\nfor n in range(1, 100): print({'loss': 1.0 / n, 'global_step/max_steps': f'{n}/99'}, flush=True); time.sleep(0.1)"


@pytest.fixture
def polls(monkeypatch):
    """The folders whose logs were read, in order."""
    found = []
    real = RunReader.poll

    def poll(self, *words, **more):
        found.append(self._output_log.parent.name)
        return real(self, *words, **more)

    monkeypatch.setattr(RunReader, "poll", poll)
    return found


def test_an_ended_run_is_read_once_and_a_living_one_goes_on(root, polls):
    done = launcher.start(root, launcher.Job((sys.executable, "-c", "print('done')")))
    ended(done)
    alive = launcher.start(root, launcher.Job((sys.executable, "-uc", TICKS)))
    runs = overview.Overviews(root)
    assert [one.id for one in runs.look()] == [alive.id, done.id]
    assert done.id in polls
    polls.clear()

    def steps():
        first = runs.look()[0]
        return first.view.progress.step if first.view.progress else 0

    seen = until(steps, "the first step")
    until(lambda: steps() > seen, "the next ones")
    assert set(polls) == {alive.id}
    stop.stop(alive)
    assert stop.wait(alive, 20)
    assert runs.look()[0].status.state == "stopped"
    polls.clear()
    assert [one.status.state for one in runs.look()] == ["stopped", "finished"]
    assert polls == []


def test_an_ended_run_that_changes_is_read_again_and_a_deleted_one_goes(root, polls):
    runs = [launcher.start(root, launcher.Job((sys.executable, "-c", "print('done')"))) for _ in range(2)]
    for run in runs:
        ended(run)
    looks = overview.Overviews(root)
    looks.look()
    with runs[0].output.open("a") as log:
        log.write("{'loss': 1.0, 'global_step/max_steps': '7/9'}\n")
    polls.clear()
    found = {one.id: one for one in looks.look()}
    assert set(polls) == {runs[0].id}
    assert found[runs[0].id].view.progress.step == 7
    assert store.remove(runs[0]) is None
    assert [one.id for one in looks.look()] == [runs[1].id]


def test_a_lost_run_is_judged_anew_at_each_look(root):
    run = store.make_folder(root)
    (run.path / "run.json").write_text('{"schema": 1, "recipe": "demo"}')
    looks = overview.Overviews(root)
    before = looks.look()[0].status.state
    (run.path / "exit.json").write_text('{"schema": 1, "exit_code": 0, "signal": null, "error": null, "stop": null}')
    assert before != "finished"
    assert looks.look()[0].status.state == "finished"


def test_an_unseen_end_leaves_out_what_nobody_saw(root):
    run = store.make_folder(root)
    (run.path / "run.json").write_text('{"schema": 1, "recipe": "demo"}')
    [one] = overview.overviews(root)
    assert one.status.seconds is None
    assert watching.ending(one)[0] == f"· {one.status.state}"


@pytest.mark.parametrize(
    ("code", "ended", "said"),
    [
        (3, 70.0, "✗ failed after 1 m 10 s, exit code 3"),
        (3, None, "✗ failed, exit code 3"),
        (None, 70.0, "✗ failed after 1 m 10 s"),
    ],
)
def test_an_end_says_what_is_known_of_it(code, ended, said):
    assert watching.how(state.RunStatus("failed", exit_code=code, started=0.0, ended=ended), "✗ failed") == said


def test_no_descriptor_stays_open_between_two_looks(root):
    import psutil

    for _ in range(3):
        run = store.make_folder(root)
        (run.path / "run.json").write_text('{"schema": 1, "recipe": "demo"}')
        run.output.write_text("something\n")
    before = psutil.Process().num_fds()
    looks = overview.Overviews(root)
    for _ in range(3):
        looks.look()
    assert psutil.Process().num_fds() == before


@pytest.mark.parametrize("code", [3, 255])
def test_a_run_that_failed_without_a_word_says_its_exit_code(root, code):
    ended(launcher.start(root, launcher.Job((sys.executable, "-c", f"raise SystemExit({code})"))))
    [one] = overview.overviews(root)
    assert (one.status.state, overview.reason_or_code(one)) == ("failed", f"exit code {code}")
    assert overview.as_data(one)["detail"] == f"exit code {code}"


def test_a_run_that_went_well_has_no_reason(root):
    ended(launcher.start(root, launcher.Job((sys.executable, "-c", "print('done')"))))
    assert overview.reason_or_code(overview.overviews(root)[0]) == ""


@pytest.fixture
def faulty(monkeypatch):
    """Reading the logs of these runs is a fault of this program itself."""
    broken = set()
    real = RunReader.poll

    def poll(self, *words, **more):
        if self._output_log.parent.name in broken:
            raise ZeroDivisionError("planted")
        return real(self, *words, **more)

    monkeypatch.setattr(RunReader, "poll", poll)
    return broken


def test_a_fault_of_the_reader_is_that_runs_unknown_and_the_others_are_listed(root, faulty, cli, monkeypatch):
    monkeypatch.setattr("prl_tui.machine.paths.runs_dir", lambda: root)
    one, two = (launcher.start(root, launcher.Job((sys.executable, "-c", "print('done')"))) for _ in range(2))
    for run in (one, two):
        ended(run)
    faulty.add(one.id)
    looks = overview.Overviews(root)
    for _ in range(2):
        assert {run.id: run.status.state for run in looks.look()} == {one.id: "unknown", two.id: "finished"}
    told = cli("runs")
    assert told.code == 0
    assert "Its files could not be read: an unexpected fault: ZeroDivisionError; the details are in " in told.out
    assert {run["id"]: run["state"] for run in json.loads(cli("runs", "--json").out)} == {
        one.id: "unknown",
        two.id: "finished",
    }
    assert "planted" in (paths.state_dir() / "crash.log").read_text()
    faulty.clear()
    one.output.open("a").write("more\n")
    assert {run.status.state for run in looks.look()} == {"finished"}


def test_a_folder_that_no_system_takes_as_a_path_is_none(root):
    run = store.make_folder(root)
    (run.path / "run.json").write_text('{"schema": 1, "recipe": "demo", "cwd": "/tmp/a\\u0000b"}')
    run.output.write_text(
        "[INFO:swift] The logging file will be saved in: out/logging.jsonl\n"
        "[INFO:swift] Saving model checkpoint to out/checkpoint-3\n"
    )
    [one] = overview.overviews(root)
    assert "could not be read" not in one.status.detail
    assert [found.step for found in one.view.checkpoints] == [3]
