"""GPUs and ports that runs reserve: real runs, real launches, the real NVML binding on the stub library."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from prl_tui.machine import paths
from prl_tui.machine.gpu_feed import once
from prl_tui.runs import claims, launcher, lock, stop, store
from prl_tui.runs.folder import RunFolder
from tests.runs.helpers import ended, marked, nothing_left, supervisor_of, until

SLEEP = (sys.executable, "-c", "import time; time.sleep(600)")
FOUR = {"GPU-a": 0, "GPU-b": 1}


def job(gpus=FOUR, port=None, argv=SLEEP, **more):
    return launcher.Job(argv, gpus=gpus, port=port, info={"recipe": "demo", "preset": "two-ranks"}, **more)


def written(root, folder, port=None):
    """The claim's file of a run that is not there any more."""
    path = root.parent / claims.FOLDER
    path.mkdir()
    claims._write(root, folder, "demo", FOUR, port)
    return path / f"{folder.id}.json"


def test_a_second_run_on_the_same_gpu_is_refused_and_told_who_has_it(root):
    first = launcher.start(root, job())
    with pytest.raises(launcher.LaunchError) as refused:
        launcher.start(root, job({"GPU-b": 1, "GPU-c": 2}))
    assert refused.value.sentence.startswith(f"GPU 1 is reserved by run {first.id}, demo/two-ranks, since ")
    assert [one.id for one in store.list_runs(root)] == [first.id], "the refused one left nothing"
    assert [claim.run for claim in claims.held(root)] == [first.id]
    second = launcher.start(root, job({"GPU-c": 2}))
    shared = launcher.start(root, job(share=True))
    for folder in (first, second, shared):
        stop.stop(folder)


def test_a_claim_ends_with_its_run_and_its_file_goes_by_itself(root):
    folder = launcher.start(root, job(argv=(sys.executable, "-c", "pass")))
    ended(folder)
    until(lambda: claims.held(root) == [], "the end of the claim")
    assert list((root.parent / claims.FOLDER).glob("*.json")) == []
    again = launcher.start(root, job())
    stop.stop(again)


def test_a_claim_outlives_a_killed_supervisor_as_long_as_the_processes_do(family, root):
    folder, _ = family("deaf")
    assert claims.reserve(root, folder, "demo", FOUR, None) is None
    os.kill(supervisor_of(folder), signal.SIGKILL)
    until(lambda: not lock.held(folder.path / "lock"), "the supervisor's death")
    assert [claim.run for claim in claims.held(root)] == [folder.id]
    for pid in marked(root):
        os.kill(pid, signal.SIGKILL)
    until(lambda: claims.held(root) == [], "the end of the claim")


def test_a_launch_that_was_killed_before_its_run_began_holds_nothing(root):
    program = (
        "import os, sys\nfrom pathlib import Path\nfrom prl_tui.runs import launcher\n"
        f"launcher.create(Path({str(root)!r}), launcher.Job(('true',), gpus={FOUR!r}))\n"
        "print('made', flush=True)\nsys.stdin.read()"
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"made\n"
    assert len(claims.held(root)) == 1, "before its supervisor has reported the launching process counts"
    child.kill()
    child.wait()
    child.stdin.close()
    child.stdout.close()
    assert claims.held(root) == []


def test_a_reused_pid_keeps_no_claim(root, forged):
    """The claimer's number lives, with another birth; so do the supervisor's and the leader's."""
    folder = forged(state={key: {"pid": os.getpid(), "ticks": 1} for key in ("supervisor", "leader")})
    path = written(root, folder)
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "claimer": {"pid": os.getpid(), "ticks": 1}}))
    assert claims.held(root) == []


@pytest.mark.parametrize(("beat", "holds"), [(1.0, True), (600.0, False)])
def test_a_claim_of_another_pod_holds_while_its_heartbeat_is_fresh(root, forged, beat, holds):
    there = {"host": "another-pod", "boot_id": "b", "pid_namespace": "pid:[1]"}
    folder = forged(state=there, heartbeat=beat)
    path = written(root, folder, 29500)
    path.write_text(json.dumps({**json.loads(path.read_text()), **there}))
    os.utime(path, (time.time() - 600,) * 2)
    found = claims.held(root)
    assert bool(found) == holds
    assert path.exists(), "another pod's file is not ours to remove"
    assert claims.of_port(found, 29500) is None, "a port of another host is free here"


def test_of_two_launches_at_one_moment_one_starts(root):
    results = []

    def start():
        try:
            results.append(launcher.start(root, job()))
        except launcher.LaunchError:
            results.append(None)

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    started = [folder for folder in results if folder is not None]
    assert len(started) == 1
    stop.stop(started[0])


def test_where_locks_do_not_work_two_launches_never_both_start(root, monkeypatch):
    """A network file system without flock, as its caller sees it: ENOLCK."""

    def refuse(path):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(claims.lock, "take", refuse)
    monkeypatch.setattr(claims, "held", _slowly(claims.held))
    folders = [launcher.create(root, launcher.Job(("true",))) for _ in range(3)]
    refusals = []
    threads = [
        threading.Thread(target=lambda one=one: refusals.append(claims.reserve(root, one, "demo", FOUR, None)))
        for one in folders
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(refusal is None for refusal in refusals) <= 1


def _slowly(function):
    def later(root):
        time.sleep(0.1)  # both have written by the time that one looks
        return function(root)

    return later


def test_a_claims_folder_that_cannot_be_used_stops_no_launch(root):
    root.parent.mkdir(exist_ok=True)
    (root.parent / claims.FOLDER).write_text("a file in its place")
    told = []
    stop.stop(launcher.start(root, job(), told.append))
    (note,) = told
    assert note.startswith("The GPUs and the port of this run are not reserved, another launch may take them: ")
    assert str(root.parent / claims.FOLDER) in note


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 99}', '{"schema": 1, "run": 5, "gpus": []}'])
def test_a_damaged_claim_is_none(root, text):
    (root.parent / claims.FOLDER).mkdir(parents=True)
    (root.parent / claims.FOLDER / "abcdef.json").write_text(text)
    assert claims.held(root) == []


# --- through the command line, on a box whose driver is the stub ------------------------------------------------------


@pytest.fixture
def box(tmp_path, nvml_stub, monkeypatch):
    """A working directory with a program that needs nothing; the launches of one test end with it."""
    for name in ("LD_LIBRARY_PATH", "FAKE_NVML_STATE"):
        monkeypatch.setenv(name, nvml_stub.environment()[name])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("import time; time.sleep(600)")
    yield nvml_stub
    for folder in store.list_runs(paths.runs_dir()):
        stop.stop(folder)
        stop.wait(folder, 20)
    nothing_left(paths.runs_dir().resolve())


def launch(cli, gpus, *more):
    sets = [f"cuda_visible_devices={gpus}", "training_env=this", "script=train.py"]
    words = [word for one in sets for word in ("--set", one)]
    return cli("launch", "custom/python", *words, "--no-probe", "--detach", *more)


def only_run():
    (folder,) = store.list_runs(paths.runs_dir())
    return folder


@pytest.mark.parametrize("fault", ["lost 1", "refuse 15", "refuse 4"])
def test_a_card_that_does_not_work_is_an_error_and_no_way_out(cli, box, fault):
    """A lost GPU passed, was offered instead of a reserved one, and a launch on it began without a word."""
    box.set("* count 3", f"1 {fault}")
    words = ("check", "custom/python", "--here", "--json", "--set", "script=train.py", "--set", "training_env=this")
    done = cli(*words, "--set", "cuda_visible_devices=1")
    found = {one["code"]: one for one in json.loads(done.out)["findings"]}
    assert done.code == 1
    told = json.loads(cli("gpus", "--json").out)["gpus"][1]["problem"]
    assert found["gpu-unusable"]["message"] == f"{told}."
    assert [fix["set"] for fix in found["gpu-unusable"]["fixes"]] == [{"cuda_visible_devices": "0"}]
    assert launch(cli, "1").code == 1
    assert cli(*words, "--set", "cuda_visible_devices=2").code == 0


@pytest.mark.slow
def test_a_second_launch_on_reserved_cards_is_refused_before_anything_starts(cli, box):
    assert launch(cli, "0,1").code == 0
    first = only_run()
    second = launch(cli, "1,2")
    assert second.code == 1
    assert f"GPU 1 (run {first.id}, custom/python, since " in second.err
    assert "is reserved." in second.err
    assert only_run().id == first.id
    data = json.loads(cli("check", "custom/python", "--set", "cuda_visible_devices=1,2", "--here", "--json").out)
    (found,) = [one for one in data["findings"] if one["code"] == "gpu-claimed"]
    assert found["severity"] == "error"
    assert found["fixes"][0]["set"] == {"cuda_visible_devices": "2"}
    assert launch(cli, "2").code == 0, "free ones are free"
    assert launch(cli, "1", "--share-gpus").code == 0


def test_busy_cards_are_refused_with_the_pid_and_the_user_of_who_uses_them(cli, box):
    process = subprocess.Popen(SLEEP)
    try:
        box.set(f"0 pid {process.pid} 2000")
        refused = launch(cli, "0")
        assert refused.code == 1
        assert f"pid {process.pid}" in refused.err
        assert "--share-gpus" in refused.err
        assert store.list_runs(paths.runs_dir()) == []
    finally:
        process.kill()
        process.wait()


def test_a_process_of_a_run_on_a_card_is_named_as_the_run(cli, box):
    folder = launcher.start(paths.runs_dir(), launcher.Job(SLEEP))
    (pid,) = [one for one in marked(paths.runs_dir().resolve()) if one != supervisor_of(folder)]
    box.set(f"0 pid {pid} 2000")
    assert f"run {folder.id}, pid {pid}" in launch(cli, "0").err


def test_a_mig_instance_is_reserved_alone_and_its_whole_card_is_not_to_be_had(cli, box):
    box.set("0 mig 2")
    one, other = (found.uuid for found in once(60).gpus[0].mig_instances)
    assert launch(cli, one).code == 0
    first = only_run()
    (claim,) = claims.held(paths.runs_dir())
    assert dict(claim.gpus) == {one: 0}
    same = launch(cli, one)
    assert same.code == 1
    assert f"GPU 0 MIG 0 (run {first.id}, custom/python, since " in same.err
    assert f"use GPU {other}" in same.err + same.out
    whole = launch(cli, "0")
    assert whole.code == 1
    assert f"GPU 0 (run {first.id}" in whole.err
    assert launch(cli, other).code == 0, "the card's other instance is free"


def test_of_several_instances_only_the_first_counts_as_a_process_sees_it(cli, box):
    box.set("0 mig 2")
    one, other = (found.uuid for found in once(60).gpus[0].mig_instances)
    assert launch(cli, other).code == 0
    both = launch(cli, f"{one},{other}")
    assert both.code == 0, both.err
    assert "a process sees only the first one" in both.err


def test_a_uuid_that_the_box_does_not_have_is_refused_and_reserves_nothing(cli, box):
    """Such a launch began: torch saw no GPU, and the run died."""
    card = "GPU-00000000-0000-4000-8000-00000000000"
    words = ("check", "custom/python", "--set", "script=train.py", "--set", "training_env=this")
    for gpus, code, usable in (
        ("GPU-1", "devices-unknown", 0),
        ("GPU-0000", "devices-ambiguous", 0),
        (f"{card}1,{card}1", "devices-repeated", 0),
        ("MIG-1", "devices-unknown", 0),
    ):
        here = json.loads(cli(*words, "--set", f"cuda_visible_devices={gpus}", "--here", "--json").out)
        assert here["devices"]["usable"] == usable
        [found] = [one for one in here["findings"] if one["severity"] == "error"]
        assert found["code"] == code
        assert [fix["set"] for fix in found["fixes"]] == [{"cuda_visible_devices": None}]
        refused = launch(cli, gpus)
        assert refused.code == 1
        assert found["message"] in refused.err
        anywhere = cli(*words, "--set", f"cuda_visible_devices={gpus}", "--json")
        assert anywhere.code == (1 if code == "devices-repeated" else 0), "another node may have it"
    assert store.list_runs(paths.runs_dir()) == []


def test_a_uuid_cut_short_reserves_the_cards_that_torch_uses(cli, box, monkeypatch):
    """Where one fits several, the first of them was reserved, and whatever followed."""
    box.set("* count 3")
    card = "GPU-00000000-0000-4000-8000-00000000000"
    told = launch(cli, f"{card}2,{card},{card}1")
    assert told.code == 0, told.err
    assert f"“{card}” in CUDA_VISIBLE_DEVICES fits several GPUs of the node (3)" in told.err
    (claim,) = claims.held(paths.runs_dir())
    assert dict(claim.gpus) == {f"{card}2": 2}


def test_a_card_that_is_cut_is_no_way_out_for_a_whole_one(cli, box):
    process = subprocess.Popen(SLEEP)
    try:
        box.set("* count 3", "1 mig 2", f"0 pid {process.pid} 5000")
        told = cli("check", "custom/python", "--set", "cuda_visible_devices=0", "--set", "training_env=this", "--here")
        assert "use GPU 2" in told.out
        assert "use GPU 1" not in told.out
    finally:
        process.kill()
        process.wait()


def test_a_busy_card_is_one_of_those_that_are_inherited(cli, box, monkeypatch):
    process = subprocess.Popen(SLEEP)
    try:
        box.set(f"0 pid {process.pid} 5000")
        for visible, busy in (("3", False), ("0", True), ("", False), ("-1", False)):
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
            told = cli("check", "custom/python", "--set", "training_env=this", "--set", "script=train.py", "--here")
            assert ("GPU 0 (" in told.out) == busy, (visible, told.out)
    finally:
        process.kill()
        process.wait()


def test_only_the_processes_of_an_instance_make_it_busy(cli, box):
    process = subprocess.Popen(SLEEP)
    try:
        box.set("0 mig 2", f"0 pid {process.pid} 2000 8")
        idle, busy = once(60).gpus[0].mig_instances
        refused = launch(cli, busy.uuid)
        assert refused.code == 1
        assert "GPU 0 MIG 1 (" in refused.err
        assert f"pid {process.pid}" in refused.err
        assert launch(cli, idle.uuid).code == 0
    finally:
        process.kill()
        process.wait()


@pytest.mark.slow
def test_without_nvml_nothing_is_reserved_and_nothing_said(cli, box, monkeypatch):
    monkeypatch.setenv("LD_LIBRARY_PATH", box.without_library()["LD_LIBRARY_PATH"])
    for _ in range(2):
        done = launch(cli, "0")
        assert done.code == 0, done.err
        assert "reserve" not in done.err
    assert claims.held(paths.runs_dir()) == [] or all(not claim.gpus for claim in claims.held(paths.runs_dir()))


@pytest.mark.slow
def test_a_taken_port_is_named_with_its_owner_and_one_of_a_run_with_the_run(cli, box):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        refused = cli("check", "demo/two-ranks", "--set", f"master_port={port}", "--here")
        assert refused.code == 1
        assert f"Port {port} is taken by" in refused.out + refused.err
        assert f"pid {os.getpid()}" in refused.out + refused.err
    serve = f"import socket, time\ns = socket.socket(); s.bind(('', {port})); s.listen(); time.sleep(600)"
    folder = launcher.start(paths.runs_dir(), launcher.Job((sys.executable, "-c", serve)))

    def named():
        said = cli("check", "demo/two-ranks", "--set", f"master_port={port}", "--here")
        return said.code == 1 and f"run {folder.id}: python" in said.out + said.err

    until(named, "the run's port")


@pytest.mark.slow
def test_a_port_that_a_starting_run_has_fixed_is_taken_before_it_listens(cli, box):
    words = ("--set", "training_env=this", "--set", "script=train.py", "--set", "master_port=29431")
    started = cli("launch", "custom/torchrun", *words, "--no-probe", "--detach", "--set", "cuda_visible_devices=5,6")
    assert started.code == 0, started.err
    first = RunFolder(paths.runs_dir() / started.out.strip())
    refused = cli("check", "demo/two-ranks", "--set", "master_port=29431", "--here")
    assert refused.code == 1
    assert f"Port 29431 is taken by run {first.id}" in refused.out + refused.err
