"""Files replaced in one step: their permissions, the longest names, what is left of a failure."""

from __future__ import annotations

import os
import stat
import threading

import pytest

from prl_tui import atomic


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("own", [0o600, 0o640, 0o755, 0o444, 0o666])
def test_a_file_keeps_its_own_permissions(tmp_path, own):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(own)
    atomic.write_text(path, "new", 0o755)
    assert (mode(path), path.read_text()) == (own, "new")


def test_a_new_file_gets_the_permissions_asked_for(tmp_path):
    before = os.umask(0o022)
    try:
        atomic.write_text(tmp_path / "script", "", 0o755)
        atomic.write_text(tmp_path / "secret", "", 0o600)
    finally:
        os.umask(before)
    assert (mode(tmp_path / "script"), mode(tmp_path / "secret")) == (0o755, 0o600)


@pytest.mark.parametrize("name", ["x" * 255, "批" * 85, "x"])
def test_every_name_that_a_file_may_have_can_be_written(tmp_path, name):
    atomic.write_text(tmp_path / name, "text")
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_a_name_that_is_too_long_leaves_nothing(tmp_path):
    with pytest.raises(OSError, match="too long"):
        atomic.write_text(tmp_path / ("x" * 256), "text")
    assert [file.name for file in tmp_path.iterdir()] == []


def test_two_threads_that_write_one_file_leave_one_of_their_texts(tmp_path):
    path = tmp_path / "file"
    texts = ["a" * 100_000, "b" * 100_000]

    def write(text):
        for _ in range(20):
            atomic.write_text(path, text)

    threads = [threading.Thread(target=write, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() in texts
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_the_file_behind_a_link_is_written_and_the_link_stays(tmp_path):
    real, link = tmp_path / "dotfiles" / "real", tmp_path / "link"
    real.parent.mkdir()
    link.symlink_to("dotfiles/real")
    atomic.write_behind(link, "first")  # the link dangles
    real.chmod(0o640)
    atomic.write_behind(link, "second")
    assert link.is_symlink()
    assert (real.read_text(), mode(real)) == ("second", 0o640)
    atomic.write_json(link, [])
    assert (link.is_symlink(), real.read_text()) == (True, "[]\n")


def test_links_that_cannot_be_followed_stay(tmp_path):
    circle, nowhere = tmp_path / "circle", tmp_path / "nowhere"
    circle.symlink_to(circle)
    nowhere.symlink_to(tmp_path / "missing" / "file")
    for link, reason in ((circle, "Too many levels"), (nowhere, "No such file")):
        with pytest.raises(OSError, match=reason):
            atomic.write_behind(link, "text")
        assert link.is_symlink()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["circle", "nowhere"]
