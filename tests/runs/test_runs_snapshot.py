"""What a run was made of and what changed since the last one: real git repositories, real environments, real launches.

Git here is 2.39.5; its exit codes and words are what `machine.checkout` reads.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import venv
from pathlib import Path

import pytest

from prl_tui.core.plan import Activation
from prl_tui.core.value import plain
from prl_tui.machine import checkout, paths
from prl_tui.runs import changes, launcher, overview, snapshot, stop, store
from tests.conftest import installed_script
from tests.runs.helpers import ended, nothing_left, until

TOKEN = "hf_" + "a" * 34


def git(folder, *words):
    told = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *told, *words], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "code"
    folder.mkdir()
    git(tmp_path, "init", "-q", "-b", "main", str(folder))
    (folder / "train.py").write_text("print('one')\n")
    (folder / ".gitignore").write_text("outputs/\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def made(root, folder, environment=None, **info):
    """A run folder with its record and its snapshot, collected here."""
    run = store.make_folder(root)
    kept = {"recipe": "custom", "preset": "python", "values": {}, "cwd": str(folder), "argv": ["python", "train.py"],
            "env": {"OWN": "1"}, "activation": plain(Activation("python", sys.executable)), "created": time.time(), **info}  # fmt: skip
    (run.path / "run.json").write_text(json.dumps({"schema": 1, **kept}))
    snapshot.collect(run, dict(os.environ) if environment is None else environment)
    return run


def test_a_clean_checkout_is_its_commit(repository):
    found = checkout.look(repository)
    assert len(found.commit) == 40
    assert (found.root, found.branch) == (str(repository), "main")
    assert (found.dirty, found.diff_sha256, found.patch, found.untracked) == ((), "", b"", ())


def test_what_is_not_committed_is_a_hash_and_a_patch_that_applies(repository, tmp_path):
    (repository / "train.py").write_text("print('two')\n")
    (repository / "new file.py").write_text("x = 1\n")
    (repository / "outputs").mkdir()
    (repository / "outputs" / "ignored.py").write_text("")
    found = checkout.look(repository)
    assert found.dirty == ("train.py",)
    assert [name for name, _ in found.untracked] == ["new file.py"]
    git(repository, "checkout", "-q", "--", "train.py")
    (tmp_path / "patch").write_bytes(found.patch)
    git(repository, "apply", str(tmp_path / "patch"))
    assert (repository / "train.py").read_text() == "print('two')\n"
    assert checkout.look(repository).diff_sha256 == found.diff_sha256


def test_a_huge_diff_is_hashed_whole_and_kept_in_part(repository):
    (repository / "train.py").write_text("x = 1\n" * 1_000_000)
    found = checkout.look(repository)
    assert len(found.patch) == checkout.PATCH_MOST < found.diff_bytes
    (repository / "train.py").write_text("x = 1\n" * 999_999 + "x = 2\n")
    assert checkout.look(repository).diff_sha256 != found.diff_sha256


def test_looking_changes_nothing_and_runs_nothing_that_the_repository_names(repository, tmp_path):
    ran = tmp_path / "ran"
    git(repository, "config", "diff.external", f"touch {ran}")
    git(repository, "config", "core.fsmonitor", f"touch {ran}; false")
    (repository / "train.py").write_text("print('two')\n")
    before = (repository / ".git" / "index").read_bytes()
    assert checkout.look(repository).dirty == ("train.py",)
    assert not ran.exists()
    assert (repository / ".git" / "index").read_bytes() == before


def test_a_folder_without_a_repository_a_new_one_and_no_git_are_no_errors(tmp_path, monkeypatch):
    assert checkout.look(tmp_path) is None
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "train.py").write_text("1\n")
    git(tmp_path, "add", "-A")
    found = checkout.look(tmp_path)
    assert (found.commit, found.dirty) == ("", ("train.py",))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert checkout.look(tmp_path) is None


def test_the_snapshot_has_code_packages_host_and_environment_without_secrets(root, repository):
    (repository / "train.py").write_text(f"TOKEN = '{TOKEN}'\n")
    given = {
        **os.environ,
        "OWN": "1",
        "HF_TOKEN": TOKEN,
        "WANDB_API_KEY": "k" * 40,
        "NCCL_DEBUG": "INFO",
        "URL": f"x {TOKEN}",
    }
    run = made(root, repository, given)
    found = snapshot.read(run)
    (code,) = [one for one in found["code"] if one["root"] == str(repository)]
    assert code["dirty"] == ["train.py"]
    assert "TOKEN = '…'" in (run.path / code["patch"]).read_text()
    assert {"torch", "pytest"} <= found["packages"]["versions"].keys() | {"torch"}
    assert found["packages"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert found["host"]["name"] == os.uname().nodename
    assert found["environment"]["NCCL_DEBUG"] == "INFO"
    assert found["environment"]["HF_TOKEN"] == "…"
    assert "OWN" not in found["environment"], "the plan's own variables are in run.json"
    for file in run.path.iterdir():
        text = file.read_bytes()
        assert TOKEN.encode() not in text, file
        assert b"k" * 40 not in text, file
        assert file.stat().st_mode & 0o077 == 0 or file.name == "run.json"


def test_what_changed_since_the_last_run_is_told_for_each_part(root, repository):
    first = made(
        root,
        repository,
        {"NCCL_DEBUG": "INFO", "PWD": "/a", "PRL_TUI_LANG": "zh"},
        values={"num_generations": "3", "lr": "1e-5"},
    )
    (repository / "train.py").write_text("print('two')\n")
    (repository / "helper.py").write_text("")
    other = made(root, repository, {"PWD": "/b"}, recipe="another", created=time.time() + 1)
    second = made(
        root, repository, {"PWD": "/c"}, values={"num_generations": "2", "lr": "1e-5"}, created=time.time() + 2
    )
    record = json.loads((second.path / "snapshot.json").read_text())
    record["packages"]["versions"]["trl"] = "0.18.0"
    (second.path / "snapshot.json").write_text(json.dumps(record))
    assert changes.previous(root, second).id == first.id, f"not {other.id}, of another recipe"
    found = changes.since_last(root, second)
    assert [one.words() for one in found.parts["settings"]] == ["num_generations 3 → 2"]
    assert [one.key for one in found.parts["code"]] == ["code: uncommitted changes", "code/helper.py"]
    assert [one.words() for one in found.parts["packages"]] == ["trl – → 0.18.0"]
    assert found.parts["host"] == ()
    assert [one.words() for one in found.parts["environment"]] == ["NCCL_DEBUG INFO → –"]
    assert found.short(2).startswith(f"since run {first.id}: num_generations 3 → 2, code: uncommitted changes")
    assert changes.since_last(root, first) is None


def test_each_run_of_a_list_is_compared_with_its_recipes_run_before_and_only_once(root, repository, monkeypatch):
    shape = [
        ("demo", "1", False),
        ("custom", "1", False),
        ("demo", "2", True),
        ("demo", "3", False),
        ("demo", "4", True),
    ]
    made_runs = []
    for at, (recipe, steps, smoke) in enumerate(shape):
        more = {"smoke": {"steps": 2}} if smoke else {}
        made_runs.append(made(root, repository, recipe=recipe, values={"max_steps": steps}, created=float(at), **more))
    one, custom, smoke_a, three, smoke_b = (run.id for run in made_runs)
    runs = overview.overviews(root)
    memory = changes.Memory()
    found = memory.of(runs)
    assert {run: found[run].before for run in found} == {three: one, smoke_b: three, smoke_a: one} | {}
    assert found[three].brief() == "max_steps 1 → 3"
    assert custom not in found
    for run in runs:
        alone = changes.since_last(root, run.folder)
        assert alone == found.get(run.id), "as the run alone is compared"
    monkeypatch.setattr(changes, "between", None)
    assert memory.of(runs) == found


def test_a_run_without_a_snapshot_is_not_called_the_same(root, repository):
    first, second = made(root, repository), made(root, repository, created=time.time() + 1)
    (second.path / "snapshot.json").write_text("{")
    found = changes.since_last(root, second)
    assert found.parts.keys() == {"settings"}
    assert found.unknown.keys() == {"code", "packages", "host", "environment"}
    assert "not known" in found.short()
    assert first.id in found.short()


def test_another_environments_packages_are_those_of_its_own_interpreter(root, repository, tmp_path):
    venv.create(tmp_path / "env", with_pip=False)
    place = next((tmp_path / "env" / "lib").glob("python*/site-packages"))
    info = place / "trl-0.17.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: trl\nVersion: 0.17.0\n")
    (info / "direct_url.json").write_text(json.dumps({"url": f"file://{repository}", "dir_info": {"editable": True}}))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    run = made(root, elsewhere, activation=plain(Activation("venv", str(tmp_path / "env"))))
    found = snapshot.read(run)
    assert found["packages"]["versions"] == {"trl": "0.17.0"}
    assert [one["root"] for one in found["code"]] == [str(repository)], "the code of an editable package counts"


def test_a_run_outside_of_any_checkout_has_no_uncommitted_changes_to_compare(root, repository, tmp_path):
    """One in a clean checkout, one in none: the commit is what differs."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    inside, outside = made(root, repository), made(root, elsewhere)
    for pair in ((inside, outside), (outside, inside)):
        found = changes.between(*pair)
        keys = [one.key for one in found.parts["code"]]
        assert keys[0] == f"{repository.name}: commit"
        assert not [key for key in keys if "uncommitted" in key]
        assert not [line for line in changes.lines(found) if line.endswith("– → –")]


# --- a launch -----------------------------------------------------------------------------------------------------


@pytest.fixture
def here(repository, monkeypatch, nvml_stub):
    for name in ("LD_LIBRARY_PATH", "FAKE_NVML_STATE"):
        monkeypatch.setenv(name, nvml_stub.environment()[name])
    monkeypatch.chdir(repository)
    yield repository
    nothing_left(paths.runs_dir().resolve())


def prl(*words):
    return subprocess.run([*installed_script(), *words], capture_output=True, text=True, timeout=60)


def launched(*sets):
    words = [word for one in ("training_env=this", "script=train.py", *sets) for word in ("--set", one)]
    started = prl("launch", "custom/python", *words, "--no-probe", "--detach")
    assert started.returncode == 0, started.stderr
    folder = store.RunFolder(paths.runs_dir() / started.stdout.strip())
    ended(folder)
    until(lambda: (snapshot.read(folder) or {}).get("gpus"), "the whole snapshot")
    return folder


@pytest.mark.slow
def test_a_launch_writes_it_and_compare_tells_what_changed(here):
    first = launched()
    (here / "train.py").write_text("print('two')\n")
    second = launched("environment=NOTE=1")
    assert len(snapshot.read(second)["gpus"]["list"]) == 8
    told = prl("compare", second.id)
    assert told.returncode == 0, told.stderr
    assert "environment – → NOTE=1" in told.stdout
    assert "code: uncommitted changes – → train.py (" in told.stdout
    assert "the same: packages, host, environment" in told.stdout
    data = json.loads(prl("compare", first.id, second.id, "--json").stdout)
    assert (data["before"], data["after"], data["packages"], data["unknown"]) == (first.id, second.id, [], {})
    assert data["code"][0]["before"] is None
    chinese = prl("--lang", "zh", "compare", second.id)
    assert "未提交" in chinese.stdout
    alone = prl("compare", first.id)
    assert alone.returncode == 2, "the run exists: another one must be named"
    assert "first of its recipe" in alone.stderr


@pytest.mark.slow
def test_the_launch_does_not_wait_for_a_driver_that_hangs(root, repository, monkeypatch, nvml_stub):
    for name in ("LD_LIBRARY_PATH", "FAKE_NVML_STATE"):
        monkeypatch.setenv(name, nvml_stub.environment()[name])
    nvml_stub.set("* init_ms 20000")
    info = {"recipe": "custom", "activation": plain(Activation("this"))}
    begun = time.monotonic()
    job = launcher.Job((sys.executable, "-c", "import time; time.sleep(600)"), cwd=repository, recorded=True, info=info)
    folder = launcher.start(root, job)
    assert time.monotonic() - begun < 5
    until(lambda: (snapshot.read(folder) or {}).get("packages"), "all but the GPUs")
    assert "gpus" not in snapshot.read(folder)
    stop.stop(folder)
    assert stop.wait(folder, 20), "nor does a stop"


def test_no_process_of_the_snapshot_counts_as_one_of_the_run(root, repository):
    info = {"recipe": "custom", "activation": plain(Activation("this"))}
    job = launcher.Job((sys.executable, "-c", "import time; time.sleep(600)"), cwd=repository, recorded=True, info=info)
    folder = launcher.start(root, job)
    own = [f"{sys.executable} -c import time; time.sleep(600)"]
    until(
        lambda: [left.command for left in stop.progress(folder)] == own, "the program alone"
    )  # forked is not yet another
    until(lambda: Path(folder.path / "snapshot.json").exists(), "the snapshot")
    assert [left.command for left in stop.progress(folder)] == own
    stop.stop(folder)
    assert stop.wait(folder, 20)
