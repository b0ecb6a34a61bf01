"""The demo's parts that need no torch: ranks, folders, data order, checkpoints on disk, and the failures it plays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from prl_tui.demo import corpus
from prl_tui.demo.checkpoint import checkpoints_in, forget_old, read_state, write_checkpoint
from prl_tui.demo.data import Order, positions, read_corpus
from prl_tui.demo.faults import Faults, FaultSwitches, start_daemon
from prl_tui.demo.folder import make_run_folder, next_version
from prl_tui.demo.ranks import Place, accumulation, choose_device, place_in
from prl_tui.demo.tally import Tally

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 11, 27, 21, 49, 47)
STATE = {"global_step": 5, "samples_seen": 80, "log_history": []}


# --- ranks


def test_torchruns_variables_give_the_place():
    place = place_in({"RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2"})
    assert place == Place(3, 1, 4, 2, launched=True)
    assert str(place) == "rank: 3, local_rank: 1, world_size: 4, local_world_size: 2"


def test_a_single_process_says_minus_one_as_ms_swift_does():
    assert str(place_in({})) == "rank: -1, local_rank: -1, world_size: 1, local_world_size: 1"
    assert place_in({}).first


@pytest.mark.parametrize(("world", "quotient"), [(1, 4), (2, 2), (4, 1)])
def test_accumulation_is_the_quotient(world, quotient):
    assert accumulation(16, 4, world) == quotient


def test_an_indivisible_batch_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match=r"^global_batch_size \(16\) must be divisible by per_device_train_batch_size"):
        accumulation(16, 3, 2)


@pytest.mark.parametrize(
    ("wanted", "gpus", "ranks", "device"),
    [
        ("auto", 2, 2, "cuda"),
        ("auto", 1, 2, "cpu"),
        ("auto", 0, 1, "cpu"),
        ("cpu", 8, 2, "cpu"),
        ("cuda", 8, 2, "cuda"),
    ],
)
def test_gpus_are_taken_if_each_local_rank_has_one(wanted, gpus, ranks, device):
    assert choose_device(wanted, gpus, Place(0, 0, ranks, ranks, launched=True)) == device


def test_demanded_gpus_that_do_not_suffice_are_an_error():
    with pytest.raises(ValueError, match="1 usable for 2 ranks"):
        choose_device("cuda", 1, Place(0, 0, 2, 2, launched=True))


# --- folders


def test_a_version_folder_is_named_as_ms_swift_names_it(tmp_path):
    assert make_run_folder(str(tmp_path / "out"), True, NOW) == tmp_path / "out" / "v0-20261127-214947"


def test_the_next_version_counts_any_entry_that_begins_like_one(tmp_path):
    # ms-swift 4.5.2: files and hand-made names count too
    (tmp_path / "v3-20260101-000000").mkdir()
    (tmp_path / "v31-resume-final").touch()
    (tmp_path / "other-v99").mkdir()
    assert next_version(tmp_path) == 32


def test_two_runs_in_one_second_get_two_folders(tmp_path, monkeypatch):
    monkeypatch.setattr("prl_tui.demo.folder.next_version", lambda _: 0)  # both looked at the same moment
    first, second = (make_run_folder(str(tmp_path), True, NOW) for _ in range(2))
    assert (first.name, second.name) == ("v0-20261127-214947", "v1-20261127-214947")


def test_without_versions_the_folder_is_the_one_that_was_named(tmp_path):
    assert make_run_folder(str(tmp_path / "out"), False, NOW) == tmp_path / "out"


# --- data


def test_the_shipped_text_is_what_its_program_tells():
    text = corpus.CORPUS.read_text(encoding="utf-8")
    assert text == corpus.make_text()
    assert text.isascii()
    assert 60_000 < len(text) < 150_000


def test_rows_hold_the_text_and_one_character_more():
    cut = read_corpus("abcdefghij" * 20, block=10)
    assert len(cut.train) == 17
    assert [cut.characters[token] for token in cut.train.row(1)] == list("abcdefghija")
    assert cut.train.length_text() == "10.000000±0.000000, min=10.000000, max=10.000000, size=17"


def test_a_text_too_short_for_a_row_is_refused():
    with pytest.raises(ValueError, match=r"block_size \(64\) is too long"):
        read_corpus("abc" * 100, block=64)


def test_an_epoch_has_every_row_once_and_the_next_another_order():
    order = Order(50, seed=42)
    epochs = [[order.row_at(epoch * 50 + place) for place in range(50)] for epoch in range(2)]
    assert sorted(epochs[0]) == sorted(epochs[1]) == list(range(50))
    assert epochs[0] != epochs[1]
    assert Order(50, seed=42).row_at(73) == epochs[1][23]  # the same without the way there
    assert [Order(50, seed=1).row_at(place) for place in range(50)] != epochs[0]


def test_ranks_share_a_step_without_gap_or_overlap():
    taken = [at for micro in range(2) for rank in range(3) for at in positions(100, micro, 4, rank, 3)]
    assert sorted(taken) == list(range(100, 124))


def test_a_period_is_weighed_over_ranks_and_the_mean_over_steps():
    class Twice:
        def sums(self, values):
            return [2 * value for value in values]

    tally = Tally()
    for steps, loss in ((1, 4.0), (3, 2.0)):
        for _ in range(steps):
            tally.add(loss, correct=5, tokens=10)
            tally.close_step(grad_norm=loss)
        period = tally.take(Twice())
        assert (period.steps, period.loss, period.own_loss, period.accuracy) == (steps, loss, loss, 0.5)
    assert tally.mean_loss == 2.5


# --- checkpoints on disk


def fill_with(text):
    return lambda folder: (folder / "weights").write_text(text)


def test_a_checkpoint_appears_whole_and_replaces_an_older_one(tmp_path):
    write_checkpoint(tmp_path, 5, STATE, fill_with("old"))
    path = write_checkpoint(tmp_path, 5, STATE, fill_with("new"))
    assert path == tmp_path / "checkpoint-5"
    assert (path / "weights").read_text() == "new"
    assert read_state(path)["samples_seen"] == 80
    assert [entry.name for entry in tmp_path.iterdir()] == ["checkpoint-5"]


def test_a_checkpoint_that_fails_half_way_is_not_taken_for_one(tmp_path):
    def fill(folder):
        (folder / "weights").write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        write_checkpoint(tmp_path, 5, STATE, fill)
    assert checkpoints_in(tmp_path) == []
    write_checkpoint(tmp_path, 5, STATE, fill_with("whole"))  # what is left of it is no hindrance
    assert [path.name for path in checkpoints_in(tmp_path)] == ["checkpoint-5"]


def test_the_limit_keeps_the_newest_and_the_best(tmp_path):
    for step in (9, 10, 20, 30):
        write_checkpoint(tmp_path, step, STATE, fill_with("x"))
    gone = forget_old(tmp_path, 2, best=tmp_path / "checkpoint-9")
    assert [path.name for path in gone] == ["checkpoint-10", "checkpoint-20"]
    assert [path.name for path in checkpoints_in(tmp_path)] == ["checkpoint-9", "checkpoint-30"]
    assert forget_old(tmp_path, None, best=None) == []


KILLED_HALFWAY = """
import os, shutil, sys
from pathlib import Path
from prl_tui.demo import checkpoint

def half(folder):
    os.unlink(Path(folder) / "weights")
    os.kill(os.getpid(), 9)

shutil.rmtree = half
folder = Path(sys.argv[1])
if sys.argv[2] == "forget":
    checkpoint.forget_old(folder, 1, best=None)
else:
    checkpoint.write_checkpoint(folder, 1, {"global_step": 1, "samples_seen": 8, "log_history": []},
                                lambda new: (new / "weights").write_text("new"))
"""


@pytest.mark.parametrize("deed", ["forget", "replace"])
def test_what_is_named_a_checkpoint_is_whole_also_where_its_deletion_was_killed(tmp_path, deed):
    for step in (1, 2):
        write_checkpoint(tmp_path, step, STATE, fill_with("whole"))
    done = subprocess.run([sys.executable, "-c", KILLED_HALFWAY, tmp_path, deed], cwd=ROOT)
    assert done.returncode == -signal.SIGKILL
    named = sorted(tmp_path.glob("checkpoint-*"))
    assert named[-1].name == "checkpoint-2"
    for path in named:
        assert read_state(path)
        assert (path / "weights").read_text() in {"whole", "new"}
    forget_old(tmp_path, None, best=None)
    assert sorted(tmp_path.iterdir()) == named, "the next process deletes the rest"


@pytest.mark.parametrize("content", [None, "", "{}", "[]", '{"global_step": "x"}'])
def test_what_is_no_checkpoint_is_refused_by_name(tmp_path, content):
    if content is not None:
        (tmp_path / "trainer_state.json").write_text(content)
    with pytest.raises(ValueError, match=r"resume_from_checkpoint: no usable trainer_state\.json in "):
        read_state(tmp_path)


# --- failures


def play(program: str) -> subprocess.CompletedProcess[str]:
    """Run lines about `Faults` in a process of their own."""
    head = "from prl_tui.demo.faults import Faults, FaultSwitches\n"
    return subprocess.run(
        [sys.executable, "-c", head + program],
        capture_output=True,
        text=True,
        timeout=30,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_without_switches_nothing_happens(capsys):
    faults = Faults(FaultSwitches(), rank=0)
    faults.check(world_size=1)
    faults.at_start()
    faults.at_step(1)
    faults.at_end()
    assert capsys.readouterr().out == ""


def test_a_failure_strikes_its_rank_and_step_only():
    switches = FaultSwitches(fail_rank=1, fail_step=3)
    Faults(switches, rank=0).at_step(3)
    faults = Faults(switches, rank=1)
    faults.at_step(2)
    with pytest.raises(RuntimeError, match=r"^simulated failure on rank 1 at step 3$"):
        faults.at_step(3)


def test_a_rank_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match=r"^hang_rank \(2\) does not exist with world_size \(2\)$"):
        Faults(FaultSwitches(hang_rank=2), rank=0).check(world_size=2)


def test_an_exit_code_is_left_without_a_word_and_with_what_was_printed():
    done = play(
        "faults = Faults(FaultSwitches(exit_code_rank=0, exit_code=7, exit_code_step=2), 0)\n"
        "faults.at_step(1); print('step 1 done'); faults.at_step(2); print('never')\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (7, "step 1 done\n", "")


def test_memory_is_really_taken_and_no_more_than_asked():
    done = play(
        "def mib(): return int(open('/proc/self/statm').read().split()[1]) * 4096 / 2**20\n"
        "faults = Faults(FaultSwitches(eat_memory_rank=0, eat_memory_mib=67, eat_memory_step=2), 0)\n"
        "faults.at_step(1); before = mib(); faults.at_step(2); after = mib(); faults.at_step(3)\n"
        "print(after - before, mib() - after)\n"
    )
    told, figures = done.stdout.splitlines()
    taken, later = map(float, figures.split())
    assert told == "rank 0 took 67 MiB of host memory"
    assert 66 <= taken <= 72
    assert later < 2


def test_a_deaf_rank_survives_sigterm_and_sigint():
    done = play(
        "import os, signal\n"
        "Faults(FaultSwitches(ignore_sigterm=True), 0).at_start()\n"
        "os.kill(os.getpid(), signal.SIGTERM); os.kill(os.getpid(), signal.SIGINT); print('alive')\n"
    )
    assert (done.returncode, done.stdout) == (0, "alive\n")


def test_the_crash_at_the_end_is_a_segmentation_fault_after_all_output():
    done = play("print('all done')\nFaults(FaultSwitches(crash_at_exit=True), 0).at_end()\n")
    assert (done.returncode, done.stdout) == (-signal.SIGSEGV, "all done\n")


def test_the_flood_has_as_many_lines_as_asked(capsys):
    Faults(FaultSwitches(flood_lines=500), rank=1).at_step(4)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 500
    assert lines[-1].startswith("rank 1 step 4 line 500/500 ")


def test_the_daemon_lives_in_its_own_session_without_us_as_parent():
    pid = start_daemon()
    try:
        assert os.getsid(pid) == pid != os.getsid(0)
        parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        assert parent != os.getpid()
    finally:
        os.kill(pid, signal.SIGKILL)
