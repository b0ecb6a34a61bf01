"""Deleting a run of which something cannot be deleted. The judge is the system: an immutable file (as root) or a shut folder."""

from __future__ import annotations

import os
import subprocess

import pytest

from prl_tui.runs import removal, store
from prl_tui.runs.state import status

EXIT = {"exit_code": 0, "signal": None, "error": None, "stop": None}


@pytest.fixture
def stuck():
    """Make a file that nobody can delete, until the test is over."""
    undo = []

    def make(path):
        if os.geteuid():
            path.parent.chmod(0o500)
            undo.append(lambda: path.parent.chmod(0o700))
            return
        made = subprocess.run(["chattr", "+i", path], capture_output=True, text=True)
        if made.returncode:
            pytest.skip(f"no file can be made immutable here: {made.stderr.strip()}")
        undo.append(lambda: subprocess.run(["chattr", "-i", path], check=True))

    yield make
    for one in undo:
        one()


@pytest.fixture
def run(forged):
    """An ended run with logs of ranks and more."""
    folder = forged(exit=EXIT, stop={"by": "x"})
    folder.output.write_text("step 1\n")
    for rank in "01":
        (folder.ranks / rank).mkdir(parents=True)
        (folder.ranks / rank / "stdout.log").write_text("hello")
    (folder.path / "link").symlink_to("/")
    (folder.path / "zzz").write_text("last by name")
    return folder


def test_what_cannot_be_deleted_leaves_a_run_that_can_be_read(run, stuck, root):
    file = run.ranks / "0" / "stdout.log"
    stuck(file)
    kept = store.remove(run)
    assert isinstance(kept, store.Kept)
    assert kept.sentence.startswith(f"{file} cannot be removed: ")
    assert f"Run {run.id} stays with its records and its log in {run.path};" in kept.sentence
    assert store.list_runs(root) == [run]
    assert status(run).state == "finished"
    assert run.output.read_text() == "step 1\n"
    left = {str(path.relative_to(run.path)) for path in run.path.rglob("*")}
    assert left == {"run.json", "state.json", "exit.json", "output.log", "ranks", "ranks/0", "ranks/0/stdout.log"}


def test_the_next_try_deletes_the_rest(run, stuck, root):
    file = run.ranks / "0" / "stdout.log"
    file.parent.chmod(0o700)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(removal, "_delete_others", lambda folder: OSError(1, "Operation not permitted", str(folder)))
        assert isinstance(store.remove(run), store.Kept)
    assert store.remove(run) is None
    assert list(root.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make one file of a folder immutable")
def test_a_log_that_cannot_be_deleted_is_named_with_its_place(run, stuck, root):
    stuck(run.output)
    kept = store.remove(run)
    assert isinstance(kept, store.Kept)
    assert kept.sentence.startswith(f"{run.output} cannot be removed: ")
    assert kept.sentence.endswith(f"What is left of run {run.id} is in {run.path}; the rest is gone")
    assert status(run).state == "finished"


def test_a_folder_that_is_written_into_meanwhile_goes_too(tmp_path, monkeypatch):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.json").write_text("{}")
    real, late = removal._delete_others, ["late"]

    def others(path):
        found = real(path)
        if late:
            (path / late.pop()).write_text("x")
        return found

    monkeypatch.setattr(removal, "_delete_others", others)
    assert removal.delete(folder) is None
    assert not folder.exists()
