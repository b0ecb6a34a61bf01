"""Orphans of earlier runs: found by mark and birth, ended after a yes; nobody else is touched. Real process trees."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pexpect
import pytest

from prl_tui.machine import paths
from prl_tui.runs import adrift, launcher, lock, proctree, records, spawn, stop, store, sweep, turns
from prl_tui.runs.folder import RunFolder, read_started
from prl_tui.runs.place import here
from prl_tui.runs.state import status
from tests.conftest import installed_script
from tests.runs.helpers import PROGRAMS, ended, is_living, marked, members, nothing_left, supervisor_of, until, write

QUICK = stop.Grace(0.2, 0.5)
SLEEP = (sys.executable, "-c", "import time; time.sleep(600)")


def can_unshare(*what):
    return (
        shutil.which("unshare") is not None and subprocess.run(["unshare", *what, "true"], check=False).returncode == 0
    )


def children(pid):
    return [seen.pid for seen in proctree.scan().values() if seen.parent == pid]


def kill_supervisor(folder):
    os.kill(supervisor_of(folder), signal.SIGKILL)
    until(lambda: not lock.held(folder.path / records.LOCK), "the supervisor's death")


@pytest.fixture
def bystander():
    process = subprocess.Popen(SLEEP)
    yield process
    assert process.poll() is None, "a process of nobody's run was ended"
    process.kill()
    process.wait()


@pytest.mark.parametrize("mode", ["polite", "deaf", "nameless"])
def test_what_a_killed_supervisor_left_is_found_and_ended(family, root, bystander, mode):
    folder, pids = family(mode)
    assert sweep.find(root) == [], "a live run has no orphans"
    kill_supervisor(folder)
    (found,) = sweep.find(root)
    assert (found.id, found.why) == (folder.id, "lost")
    known = set(pids.values()) - ({pids["daemon"]} if mode == "nameless" else set())
    assert known <= {left.pid for left in found.processes}
    swept = sweep.end(found, QUICK)
    assert swept.left == 0
    assert not any(map(is_living, known))
    assert sweep.find(root) == []
    if mode == "nameless" and is_living(pids["daemon"]):  # without mark and parent nothing says whose it is
        os.kill(pids["daemon"], signal.SIGKILL)


def test_a_second_sweep_waits_for_the_first_one_and_counts_what_lives(family, root):
    """It said “1 process ended” while that lived on, and a third one that nothing of an earlier run was left."""
    folder, pids = family("deaf")
    kill_supervisor(folder)
    (found,) = sweep.find(root)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(sweep.end, found, stop.Grace(0.2, 3))
        until(lambda: lock.held(folder.path / records.LOCK), "the first one's turn")
        assert sweep.find(root) == []
        assert folder.id in "".join(sweep.notes(root))
        second = sweep.end(found, stop.Grace(0.2, 3))
        assert second.left == 0
        assert not any(map(is_living, pids.values()))
        assert first.result().left == 0
    assert sweep.notes(root) == []


def test_what_outlived_an_exit_record_is_ended_too(family, root):
    folder, pids = family("deaf")
    kill_supervisor(folder)
    write(folder, "exit", {"exit_code": 0, "signal": None, "error": None, "stop": None})
    (found,) = sweep.find(root)
    assert found.why == "ended"
    before = (folder.path / "exit.json").read_text()
    told = []
    assert sweep.end(found, QUICK, told.append).left == 0
    assert told[0] == 3
    assert not any(map(is_living, pids.values()))
    assert (folder.path / "exit.json").read_text() == before, "how the run ended stays as it was"


def test_what_outlived_its_deleted_folder_is_found_by_its_mark(family, root):
    folder, pids = family("polite")
    kill_supervisor(folder)
    shutil.rmtree(folder.path)
    (found,) = sweep.find(root)
    assert (found.id, found.why) == (folder.id, "removed")
    assert sweep.end(found, QUICK).left == 0
    assert not any(map(is_living, pids.values()))


COUNTS = (
    "import signal, sys, time\n"
    "def noted(*_):\n"
    "    with open(sys.argv[1], 'a') as terms: terms.write('TERM\\n')\n"
    "signal.signal(signal.SIGTERM, noted)\n"
    "print('ready', flush=True)\n"
    "while True: time.sleep(60)\n"
)
"""Writes down each TERM and goes on."""


@pytest.fixture(params=["removed", "ended"])
def counting(request, root, python, tmp_path):
    """A lost run with and without its folder that counts what it is sent: the run, its leader, and the file of TERMs."""
    terms = tmp_path / "terms"
    terms.touch()
    folder = python("-c", COUNTS, terms)
    until(lambda: folder.output.read_text() == "ready\n", "its handler")
    kill_supervisor(folder)
    leader = read_started(folder).leader[0]
    if request.param == "removed":
        shutil.rmtree(folder.path)
    else:
        write(folder, "exit", {"exit_code": 0, "signal": None, "error": None, "stop": None})
    return folder, leader, terms


def test_two_sweeps_of_a_run_without_a_record_climb_one_after_the_other(root, counting):
    folder, leader, terms = counting
    (found,) = sweep.find(root)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(sweep.end, found, stop.Grace(0.2, 2))
        until(terms.read_text, "TERM")
        assert sweep.find(root) == [], "somebody is at it"
        assert sweep.notes(root) == [f"what run {folder.id} has left behind is being ended already"]
        assert sweep.notes(root, [found]) == [], "one run is named once"
        second = sweep.end(found, stop.Grace(0.2, 2))
        assert (second.left, first.result().left, is_living(leader)) == (0, 0, False)
    assert terms.read_text() == "TERM\n"
    assert not list((root.parent / turns.FOLDER).iterdir()), "nothing of it stays"


def test_a_sweep_goes_on_where_one_that_was_killed_had_got(root, counting):
    """It sent TERM anew each time: a second one may break off what the first had the program save."""
    _, leader, terms = counting
    code = (
        "import sys; from pathlib import Path; from prl_tui.runs import stop, sweep\n"
        "for one in sweep.find(Path(sys.argv[1])): sweep.end(one, stop.Grace(0, 600))"
    )
    (found,) = sweep.find(root)
    with subprocess.Popen([sys.executable, "-c", code, root]) as first:
        until(terms.read_text, "TERM")
        first.kill()
    assert sweep.end(found, stop.Grace(0, 0.5)).left == 0
    assert not is_living(leader)
    assert terms.read_text() == "TERM\n"
    assert not list((root.parent / turns.FOLDER).iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("how", ["function", "command", "emptied", "made again"])
def test_a_live_run_whose_folder_was_deleted_is_named_and_ended_by_a_stop_alone(family, root, cli, monkeypatch, how):
    monkeypatch.setattr(paths, "runs_dir", lambda: root)
    folder, pids = family("polite")
    shutil.rmtree(folder.path)
    if how == "emptied":
        folder.path.mkdir()
    if how == "made again":  # by torchrun 2.13, which makes the folder of its ranks' logs when it restarts
        (folder.ranks / "none_1" / "attempt_1").mkdir(parents=True)
        folder.output.write_text("a restart\n")
    assert sweep.find(root) == []
    assert sweep.notes(root) == [
        f"run {folder.id} lives, but its folder was deleted, emptied or moved; prl-tui stop {folder.id} ends it"
    ]
    assert status(folder).state == "running"
    if folder.path.exists():
        assert store.remove(folder) is not None, "it lives"
    assert {left.pid for left in stop.progress(folder)} == set(pids.values())
    assert all(map(is_living, pids.values()))
    if how == "command":
        told = cli("sweep", "--yes")
        assert "its folder was deleted, emptied or moved" in told.err
        assert "No process" not in told.err + told.out
        assert json.loads(cli("sweep", "--json").out)["notes"] == sweep.notes(root)
        done = cli("stop", folder.id[:5])
        assert (done.code, done.out) == (0, f"run {folder.id} is stopped; no process of it is left\n")
    else:
        assert stop.stop(folder, QUICK).code == "asked"
        assert stop.wait(folder, 60)
    assert not marked(root)
    assert not any(map(is_living, pids.values()))
    assert sweep.notes(root) == []
    assert status(folder).state == ("stopped" if folder.path.exists() else "unknown")


@pytest.mark.parametrize("module", [False, True])
def test_a_live_run_of_another_installation_is_left_alone(root, tmp_path, module):
    """Two venvs of one account: the supervisor's file lies elsewhere, and its folder was deleted under it."""
    home = tmp_path / "other venv"
    shutil.copytree(Path(spawn.__file__).parents[1], home / "prl_tui", ignore=shutil.ignore_patterns("__pycache__"))
    folder = store.make_folder(root)
    program = ["-m", "prl_tui.runs.supervisor"] if module else ["-I", "-S", str(home / "prl_tui/runs/supervisor.py")]
    order = {"argv": list(SLEEP), "env": {}, "cwd": "/", "lock": None, "recorder": []}
    subprocess.run(
        [sys.executable, *program, str(folder.path)],
        input=json.dumps(order), text=True, check=True, cwd=home,
        env={**os.environ, records.MARKER: str(folder.path)},
    )  # fmt: skip
    until((folder.path / records.STATE).exists, "its state")
    supervisor = supervisor_of(folder)
    before = set(marked(root))
    shutil.rmtree(folder.path)
    assert sweep.find(root) == []
    assert set(marked(root)) == before
    os.kill(supervisor, signal.SIGTERM)
    until(lambda: not marked(root), "the end of it")


@pytest.mark.skipif(not can_unshare("--pid", "--fork"), reason="no PID namespace may be made here")
def test_a_containers_run_whose_folder_only_it_sees_is_left_alone(root, tmp_path):
    """util-linux's unshare makes the namespace; the supervisor's words and mark are all that is seen of it from here."""
    folder = RunFolder(root / "abc123")
    script = tmp_path / "container.sh"
    script.write_text(f"exec '{sys.executable}' -c 'import time; time.sleep(600)' x/prl_tui/runs/supervisor.py run\n")
    outer = subprocess.Popen(
        ["unshare", "--pid", "--fork", "--kill-child", "sh", str(script)],
        env={**os.environ, records.MARKER: str(folder.path)},
    )
    try:
        inner = until(lambda: children(outer.pid), "its process")[0]
        until(lambda: "x/prl_tui/runs/supervisor.py" in proctree.words_of(inner), "its supervisor")
        assert proctree.marked(inner) == folder.path
        assert adrift.find(root) == []
        assert adrift.supervisors(folder) == []
        assert stop.stop(folder).code == "unknown"
        assert is_living(inner)
    finally:
        outer.kill()
        outer.wait()


@pytest.mark.parametrize(
    "place", [{"host": "elsewhere"}, {"boot_id": "another"}, {"pid_namespace": "pid:[1]"}], ids=lambda p: next(iter(p))
)
def test_a_run_of_another_place_is_never_touched(family, root, place):
    folder, pids = family("polite")
    kill_supervisor(folder)
    state = json.loads((folder.path / "state.json").read_text())
    write(folder, "state", {**state, **place})
    assert sweep.find(root) == []
    assert all(map(is_living, pids.values()))
    write(folder, "state", state)
    for one in sweep.find(root):
        sweep.end(one, QUICK)


def test_a_pid_that_came_round_again_is_no_orphan(forged, root, bystander):
    birth = {"pid": bystander.pid, "ticks": 1}
    forged(state={"supervisor": birth, "leader": birth})
    assert sweep.find(root) == []


def test_the_records_of_a_newer_version_allow_no_signal(family, root):
    folder, pids = family("polite")
    kill_supervisor(folder)
    state = (folder.path / "state.json").read_text()
    (folder.path / "state.json").write_text('{"schema": 99}')
    assert sweep.find(root) == []
    assert all(map(is_living, pids.values()))
    (folder.path / "state.json").write_text(state)
    sweep.end(sweep.find(root)[0], QUICK)


def test_a_supervisor_that_has_not_reported_yet_is_no_orphan_where_locks_do_not_work(family, root, monkeypatch):
    folder, _ = family("polite")
    monkeypatch.setattr(lock, "held", lambda path: None)
    state = (folder.path / "state.json").read_text()
    (folder.path / "state.json").unlink()
    assert sweep.find(root) == []
    (folder.path / "state.json").write_text(state)
    monkeypatch.undo()
    stop.stop(folder, QUICK)
    assert stop.wait(folder, 20)


def test_a_mark_that_is_no_run_of_ours_is_left_alone(root, tmp_path):
    root.mkdir(parents=True)
    others = [tmp_path / "runs-of-another" / "abcdef", root / "abcdef" / "deeper", root]
    started = [subprocess.Popen(SLEEP, env={**os.environ, records.MARKER: str(path)}) for path in others]
    try:
        assert sweep.find(root) == []
    finally:
        for one in started:
            one.kill()
            one.wait()


def test_a_sweep_that_a_run_itself_starts_does_not_end_that_run(root, tmp_path):
    out = tmp_path / "out"
    inside = (
        "import os, signal, sys, time\nfrom pathlib import Path\nfrom prl_tui.runs import sweep\n"
        f"root, out = Path({str(root)!r}), Path({str(out)!r})\n"
        "while os.getppid() != 1 and not (out.parent / 'go').exists(): time.sleep(0.02)\n"
        "out.write_text(str(len(sweep.find(root))))\ntime.sleep(600)"
    )
    folder = launcher.start(root, launcher.Job((sys.executable, "-c", inside)))
    kill_supervisor(folder)
    (tmp_path / "go").touch()
    until(lambda: out.exists() and out.read_text(), "the sweep from inside")
    assert out.read_text() == "0"
    (found,) = sweep.find(root)
    sweep.end(found, QUICK)


def test_a_thousand_runs_are_looked_through_in_a_moment(root):
    for n in range(1000):
        path = root / f"a{n:05x}"
        path.mkdir(parents=True)
        (path / "run.json").write_text(json.dumps({"schema": 1, "created": float(n), **here()}))
        (path / "exit.json").write_text('{"schema": 1, "exit_code": 0}')
    begun = time.monotonic()
    assert sweep.find(root) == []
    assert time.monotonic() - begun < 5


# --- the commands -------------------------------------------------------------------------------------------------


@pytest.fixture
def orphan(tmp_path):
    """A run in the person's own root, its supervisor killed."""
    pids = tmp_path / "pids"
    pids.mkdir()
    job = launcher.Job((sys.executable, str(PROGRAMS / "family.py"), "polite", str(pids)), info={"recipe": "demo"})
    folder = launcher.start(paths.runs_dir(), job)
    found = members(pids)
    kill_supervisor(folder)
    yield folder, found
    nothing_left(paths.runs_dir().resolve())


@pytest.mark.slow
def test_without_a_terminal_sweep_lists_and_refuses_and_yes_ends(cli, orphan):
    folder, pids = orphan
    refused = cli("sweep")
    assert refused.code == 2
    assert f"run {folder.id} (demo): its supervisor is gone" in refused.out
    assert f"pid {pids['daemon']}" in refused.out
    assert "--yes" in refused.err
    assert all(map(is_living, pids.values()))
    listed = cli("sweep", "--json")
    assert listed.code == 2
    data = json.loads(listed.out)
    assert {one["pid"] for one in data["orphans"][0]["processes"]} == set(pids.values())
    assert data["swept"] == []
    done = cli("sweep", "--yes", "--json")
    assert done.code == 0
    assert json.loads(done.out)["swept"] == [{"id": folder.id, "ended": 3, "left": 0}]
    assert not any(map(is_living, pids.values()))
    assert cli("sweep").code == 0
    assert json.loads(cli("sweep", "--json").out) == {"orphans": [], "swept": [], "notes": []}


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "code"), [("", 2), ("y", 0)])
def test_on_a_terminal_it_asks_with_no_as_the_default(orphan, answer, code):
    _, pids = orphan
    terminal = pexpect.spawn(installed_script()[0], [*installed_script()[1:], "sweep"], timeout=20)
    terminal.expect(r"End these 3 processes\? \[y/N\]")
    terminal.sendline(answer)
    terminal.expect(pexpect.EOF, timeout=60)
    terminal.close()
    assert terminal.exitstatus == code
    assert any(map(is_living, pids.values())) == (code != 0)
    if code:
        sweep.end(sweep.find(paths.runs_dir())[0], QUICK)


@pytest.mark.slow
def test_rm_refuses_what_lives_or_was_outlived_and_needs_a_yes(cli, orphan):
    folder, _ = orphan
    lost = cli("rm", folder.id, "--yes")
    assert lost.code == 4
    assert "prl-tui sweep" in lost.err
    live = launcher.start(paths.runs_dir(), launcher.Job(SLEEP))
    refused = cli("rm", live.id, "--yes")
    assert refused.code == 4
    assert "is alive; stop it first" in refused.err
    stop.stop(live, QUICK)
    assert stop.wait(live, 20)
    asked = cli("rm", live.id)
    assert asked.code == 2
    assert "--yes deletes it" in asked.err
    assert live.path.is_dir()
    gone = cli("rm", live.id, "--yes", "--json")
    assert (gone.code, json.loads(gone.out)["removed"]) == (0, True)
    assert not live.path.exists()
    assert cli("rm", live.id, "--yes").code == 3
    assert cli("sweep", "--yes").code == 0
    assert cli("rm", folder.id, "--yes").code == 0
    assert store.list_runs(paths.runs_dir()) == []


def test_rm_of_an_ended_run_leaves_its_neighbours(cli):
    both = [launcher.start(paths.runs_dir(), launcher.Job((sys.executable, "-c", "pass"))) for _ in range(2)]
    for folder in both:
        ended(folder)
    assert cli("rm", both[0].id, "--yes").out.strip() == f"run {both[0].id} is deleted"
    assert [one.id for one in store.list_runs(paths.runs_dir())] == [both[1].id]
