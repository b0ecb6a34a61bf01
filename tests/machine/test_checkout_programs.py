"""Which programs of a repository run when a checkout is looked at. The judge is git itself: each program leaves a file."""

from __future__ import annotations

import os
import subprocess
import time

import pytest

from prl_tui.machine import checkout
from tests.runs.helpers import is_living, until


@pytest.fixture
def repository(tmp_path):
    """A repository with one committed file of each kind of attribute, all of them changed since."""
    root = tmp_path / "repository"
    root.mkdir()

    def git(*words):
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True)

    git("init", "-q")
    (root / ".gitattributes").write_text("*.up filter=up\n*.odd diff=odd\n")
    for name in ("a.up", "b.odd", "c.txt"):
        (root / name).write_text("one\n")
    git("add", ".")
    git("commit", "-qm", "one")
    return root, git


def test_no_hook_monitor_or_driver_of_a_diff_runs(repository):
    root, git = repository
    ran = f"touch {root.parent}/ran"
    for key in ("core.fsmonitor", "diff.odd.command", "diff.odd.textconv", "diff.external", "core.pager", "pager.diff"):
        git("config", key, ran)
    (root / "b.odd").write_text("two\n")
    found = checkout.look(root)
    assert found.dirty == ("b.odd",)
    assert b"-one\n+two\n" in found.patch
    assert not (root.parent / "ran").exists()


def test_a_filter_keeps_an_unchanged_file_out_of_the_diff(repository):
    root, git = repository
    git("config", "filter.up.clean", "tr A-Z a-z")
    (root / "a.up").write_text("ONE\n")
    found = checkout.look(root)
    assert (found.dirty, found.diff_bytes, found.problem) == ((), 0, "")


def test_a_filter_that_hangs_ends_in_time_with_git(repository, monkeypatch):
    root, git = repository
    monkeypatch.setattr(checkout, "TIMEOUT", 1.0)
    git("config", "filter.up.clean", f"echo $$ > {root.parent}/pid; sleep 600 & wait")
    (root / "a.up").write_text("two\n")
    began = time.monotonic()
    found = checkout.look(root)
    assert time.monotonic() - began < 10
    assert found.problem == "git diff: no answer within 1 s"
    pid = int((root.parent / "pid").read_text())
    until(lambda: not is_living(pid), "the filter's end")


def test_nothing_is_fetched(repository, tmp_path):
    """A partial clone whose other side is a program: git would start it for a blob that it lacks."""
    root, _ = repository
    clone = tmp_path / "clone"
    subprocess.run(["git", "config", "uploadpack.allowFilter", "true"], cwd=root, check=True)
    subprocess.run(
        ["git", "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{root}", clone],
        check=True, capture_output=True,
    )  # fmt: skip
    program = tmp_path / "upload"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 1\n")
    program.chmod(0o755)
    subprocess.run(["git", "config", "remote.origin.uploadpack", str(program)], cwd=clone, check=True)
    subprocess.run(["git", "read-tree", "HEAD"], cwd=clone, check=True, env={**os.environ, "GIT_NO_LAZY_FETCH": "1"})
    (clone / "c.txt").write_text("two\n")
    found = checkout.look(clone)
    assert found.problem
    assert not (tmp_path / "ran").exists()
