import os
from pathlib import Path

from prl_tui.telemetry.rank_logs import find_rank_logs

CAPTURE = Path(__file__).parents[1] / "fixtures" / "engine_runs" / "ddp_np2_logdir_tee" / "log_dir"


def test_the_layout_of_torchrun_2_13_is_read():
    logs = find_rank_logs(CAPTURE)
    assert [(log.rank, log.attempt) for log in logs] == [(0, 0), (1, 0)]
    pane = logs[0].open()
    pane.update()
    assert pane.read_lines(0, 2) == [
        b"[rank 0/2] pid 23147 local_rank 0 ready",
        b"step 1/12 loss 13.3465 grad_norm 7.208 lr 5.00e-03 73.71 it/s",
    ]
    pane.close()


def test_the_newest_start_and_its_newest_attempt_count(tmp_path):
    for start, attempt, rank, age in (("a_1", 0, 0, 500), ("b_2", 2, 0, 10), ("b_2", 10, 0, 10), ("b_2", 10, 11, 10)):
        (tmp_path / start / f"attempt_{attempt}" / str(rank)).mkdir(parents=True)
        os.utime(tmp_path / start, (1e9 - age, 1e9 - age))
    (tmp_path / "b_2" / "attempt_10" / "notes").mkdir()
    logs = find_rank_logs(tmp_path)
    assert [log.rank for log in logs] == [0, 11]
    assert {log.attempt for log in logs} == {10}
    assert logs[0].stderr == tmp_path / "b_2" / "attempt_10" / "0" / "stderr.log"


def test_no_folder_and_an_empty_one_have_no_ranks(tmp_path):
    assert find_rank_logs(tmp_path / "absent") == ()
    assert find_rank_logs(tmp_path) == ()
    (tmp_path / "file").write_text("x")
    assert find_rank_logs(tmp_path / "file") == ()
