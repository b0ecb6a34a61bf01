"""What the demo writes and prints, checked against a log of ms-swift 4.5.2 (transformers 5.16.1, torch 2.13)."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from prl_tui.demo.journal import Journal, console_text, duration_text, speed_metrics
from prl_tui.demo.progress import ProgressBar, bar_text, clock_text, rate_text

SAMPLE = Path(__file__).parents[1] / "fixtures" / "engine_samples" / "swift452_sft_logging.jsonl"


class Clock:
    """A clock that the test turns."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.49, "0s"),
        (59.6, "1m 0s"),
        (139, "2m 19s"),
        (3600, "1h 0m 0s"),
        (86_400, "1d 0h 0m 0s"),
        (2_346_102, "27d 3h 41m 42s"),
        (-1, "0s"),
    ],
)
def test_durations_drop_leading_zero_units_only(seconds, text):
    assert duration_text(seconds) == text


def test_a_train_line_has_the_keys_order_and_rounding_of_ms_swift(tmp_path):
    clock = Clock()
    journal = Journal(tmp_path / "logging.jsonl", max_steps=8, clock=clock)
    clock.now += 0.059865
    values = {"loss": 6.31778621673584, "grad_norm": 3.1516590118408203, "learning_rate": 9.619397662556434e-06}
    journal.write(1, 0.125, {**values, "token_acc": 0.0})
    written = (tmp_path / "logging.jsonl").read_text().splitlines()
    assert written == SAMPLE.read_text().splitlines()[:1]
    assert journal.history == [{**values, "token_acc": 0.0, "epoch": 0.125, "step": 1}]
    assert journal.history == json.loads(SAMPLE.read_text().splitlines()[-1])["log_history"][:1]


def test_speed_of_a_resumed_run_counts_only_its_own_steps(tmp_path):
    clock = Clock()
    journal = Journal(tmp_path / "logging.jsonl", max_steps=100, first_step=50, clock=clock)
    clock.now += 20
    line = journal.write(60, 1.0, {"loss": 1.0})
    assert line["train_speed(s/it)"] == 2.0
    assert (line["elapsed_time"], line["remaining_time"]) == ("20s", "1m 20s")


def test_gpu_memory_stands_before_the_speed_and_is_left_out_on_the_cpu(tmp_path):
    journal = Journal(tmp_path / "logging.jsonl", max_steps=2)
    assert "memory(GiB)" not in journal.write(1, 0.5, {"loss": 1.0})
    assert list(journal.write(2, 1.0, {"loss": 1.0}, memory_gib=1.234))[-2:] == ["memory(GiB)", "train_speed(s/it)"]
    assert json.loads((tmp_path / "logging.jsonl").read_text().splitlines()[1])["memory(GiB)"] == 1.23


def test_the_console_quotes_floats_with_four_digits():
    # transformers 5.16.1 prints so
    line = {"loss": 6.31778622, "learning_rate": 9.62e-06, "token_acc": 0.0, "global_step/max_steps": "1/8"}
    assert (
        console_text(line)
        == "{'loss': '6.318', 'learning_rate': '9.62e-06', 'token_acc': '0', 'global_step/max_steps': '1/8'}"
    )


def test_speed_figures_have_the_names_and_places_of_transformers():
    assert speed_metrics("train", 1.11253, 64, 8) == {
        "train_runtime": 1.1125,
        "train_samples_per_second": 57.527,
        "train_steps_per_second": 7.191,
    }


@pytest.mark.parametrize(("seconds", "text"), [(0, "00:00"), (75.9, "01:15"), (3_725, "1:02:05")])
def test_bar_times(seconds, text):
    assert clock_text(seconds) == text


@pytest.mark.parametrize(
    ("rate", "text"), [(None, "?it/s"), (23.61, "23.61it/s"), (8.63, " 8.63it/s"), (0.4, " 2.50s/it")]
)
def test_bar_rates_turn_into_seconds_below_one_a_second(rate, text):
    assert rate_text(rate) == text


@pytest.mark.parametrize(
    ("done", "bar"),
    [(0, "          "), (1, "█▎        "), (2, "██▌       "), (3, "███▊      "), (6, "███████▌  "), (8, "██████████")],
)
def test_the_bar_has_the_cells_that_tqdm_paints(done, bar):
    # tqdm as ms-swift 4.5.2 runs it: 10 cells of 8 parts
    assert bar_text(done / 8) == bar


def test_the_whole_bar_line_is_tqdms():
    clock, stream = Clock(), io.StringIO()
    bar = ProgressBar("Train", 8, stream, clock=clock)
    assert stream.getvalue() == "\rTrain:   0%|          | 0/8 [00:00<?, ?it/s]"
    clock.now += 2 / 23.61
    bar.advance(2)
    assert bar.text() == "Train:  25%|██▌       | 2/8 [00:00<00:00, 23.61it/s]"


def test_a_bar_is_painted_ten_times_a_second_at_most_and_at_its_end():
    clock, stream = Clock(), io.StringIO()
    bar = ProgressBar("Train", 1000, stream, clock=clock)
    for _ in range(1000):
        clock.now += 0.001
        bar.advance()
    assert 10 <= stream.getvalue().count("\r") <= 12
    assert "1000/1000" in stream.getvalue().split("\r")[-1]


def test_a_wiped_bar_leaves_blanks_and_a_shorter_one_covers_a_longer_one():
    clock, stream = Clock(), io.StringIO()
    bar = ProgressBar("Train", 8, stream, clock=clock)
    bar.clear()
    assert re.fullmatch(r"\r.{44}\r +\r", stream.getvalue())
    clock.now += 1
    bar.advance(3)
    long = len(bar.text())
    bar._label = "T"
    bar.paint()
    assert len(stream.getvalue().split("\r")[-1]) == long


def test_a_hidden_bar_writes_nothing():
    stream = io.StringIO()
    bar = ProgressBar("Train", 2, stream, shown=False)
    bar.advance(2)
    bar.clear()
    bar.close()
    assert stream.getvalue() == ""


def test_a_stream_that_cannot_write_blocks_gets_digits():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    bar = ProgressBar("Train", 8, stream)
    bar.advance(3)
    assert "|###7      |" in bar.text()
