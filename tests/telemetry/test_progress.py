import pytest

from prl_tui.telemetry.metrics import row_of
from prl_tui.telemetry.progress import Bar, TrainingBar, pace_of, progress_of, read_bar


def bar(text):
    return read_bar(text, nested=text.endswith("\x1b[A"))


# Bars as tqdm 4.67 to 4.70 drew them in captured runs.
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Train:   0%|          | 0/2046 [00:00<?, ?it/s]", ("Train", 0, 2046, None, None)),
        ("Train:   0%|     | 1/2046 [00:14<8:16:53, 14.58s/it]", ("Train", 1, 2046, 14.58, 29813)),
        ("Train:  97%|█████████▋| 29/30 [00:05<00:00,  4.00it/s]", ("Train", 29, 30, 0.25, 0)),
        (" 43%|████▎     | 13/30 [00:00<00:00, 43.08it/s]", ("", 13, 30, 1 / 43.08, 0)),
        ("Epoch 2/3:  50%|██ | 5/10 [00:01<00:01, 4.00it/s, loss=2.3, lr=1e-3]", ("Epoch 2/3", 5, 10, 0.25, 1)),
        ("Train: 25%|██▌ | 3/12 [00:00<00:02,  4.00it/s][rank1]: Traceback", ("Train", 3, 12, 0.25, 2)),
    ],
)
def test_bars_are_read_whatever_their_unit_and_what_is_glued_to_them(text, wanted):
    found = bar(text)
    assert (found.description, found.step, found.total, found.seconds_per_step, found.remaining) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "Loading safetensors checkpoint shards:  25% Completed | 1/4 [00:01<00:03,  1.0it/s]",
        "memory 43% | 13/30",
        "Train: 10%|█",
        "999%|███| 3/4 [00:00<00:00, 1.0it/s]",
    ],
)
def test_what_is_no_whole_bar_is_none(text):
    assert bar(text) is None


def test_noise_bars_never_count():
    training = TrainingBar()
    for text in (
        "Loading weights: 100%|██████████| 26/26 [00:00<00:00, 24583.39it/s]",
        "Map:  50%|█████     | 5/10 [00:00<00:00, 4.00it/s]",
        "Capturing CUDA graphs (decode, FULL): 50%|█████     | 5/10 [00:00<00:00, 4.00it/s]",
        "Fetching 10 files: 50%|█████     | 5/10 [00:00<00:00, 4.00it/s]",
        "Val:  58%|█████▊    | 37/64 [00:00<00:00, 4.00it/s]",
        "Writing model shards: 100%|██████████| 1/1 [00:00<00:00, 418.34it/s]",
    ):
        assert not training.observe(bar(text))
    assert training.current is None


def test_a_bar_without_description_is_ignored_once_a_named_one_was_seen():
    training = TrainingBar()
    training.observe(bar("Train:   7%|▋ | 2/30 [00:00<00:01, 17.47it/s]"))
    assert not training.observe(bar("100%|██| 5/5 [00:00<00:00, 4.00it/s]"))
    assert training.current.step == 2


def test_the_trainers_nested_evaluation_bar_is_not_the_training():
    training = TrainingBar()
    training.observe(bar(" 33%|███▎ | 10/30 [00:00<00:00, 40.93it/s]"))
    assert not training.observe(bar("  0%|          | 0/64 [00:00<?, ?it/s]\x1b[A"))
    assert (training.current.step, training.current.total) == (10, 30)


def test_a_bar_before_training_gives_way_and_one_after_it_does_not():
    training = TrainingBar()
    training.observe(bar("100%|██| 5/5 [00:00<00:00, 4.00it/s]"))  # reading files
    training.observe(bar("  3%|▎ | 1/30 [00:00<00:00, 4.00it/s]"))
    training.confirm()  # a train row
    training.observe(bar("100%|██| 30/30 [00:00<00:00, 4.00it/s]"))
    assert not training.observe(bar(" 50%|██ | 32/64 [00:00<00:00, 4.00it/s]"))  # the last evaluation
    assert (training.current.step, training.current.total) == (30, 30)


def test_bars_over_epochs_count_over_the_whole_training():
    training = TrainingBar()
    training.observe(bar("Epoch 2/3:  50%|██ | 5/10 [00:01<00:01, 4.00it/s]"))
    assert (training.current.step, training.current.total, training.epoch) == (15, 30, 1.5)


def test_accepted_descriptions_are_a_parameter():
    training = TrainingBar(("steps",))
    assert not training.observe(bar("Train: 97%|███| 29/30 [00:05<00:00,  4.00it/s]"))
    assert not training.observe(bar("97%|███| 29/30 [00:05<00:00,  4.00it/s]"))
    assert training.observe(bar("steps: 97%|███| 29/30 [00:05<00:00,  4.00it/s]"))


def train(step, elapsed, **more):
    return row_of({"loss": 1, "global_step/max_steps": f"{step}/1000", "elapsed_time": f"{elapsed}s", **more})


def test_speed_is_the_recent_one_not_the_average():
    slow_start = [train(step, step * 20) for step in range(1, 10)]
    fast = [train(9 + step, 180 + step * 2) for step in range(1, 100)]
    assert pace_of(slow_start + fast).seconds_per_step() == 2
    assert pace_of(slow_start).seconds_per_step() == 20


def test_whole_second_times_are_too_coarse_below_ten_seconds_and_a_resume_starts_anew():
    assert pace_of([train(1, 0), train(30, 9)]).seconds_per_step() is None
    assert pace_of([train(1, 0), train(100, 500), train(90, 5), train(95, 20)]).seconds_per_step() == 3


def test_eta_is_from_recent_speed_then_average_then_the_bar_then_the_trainers_word():
    row = train(100, 500, **{"train_speed(s/it)": 5.0, "remaining_time": "9h"})
    fast = Bar("Train", 100, 1000, 0.5, None, nested=False)
    assert progress_of(row, 1000, 2.0, fast).eta_seconds == 1800
    assert progress_of(row, 1000, None, fast).eta_seconds == 4500
    assert progress_of(train(100, 500), 1000, None, fast).eta_seconds == 450
    assert progress_of(train(100, 500, remaining_time="1m 5s"), 1000, None, None).eta_seconds == 65
    assert progress_of(train(1000, 500), 1000, None, None).eta_seconds == 0
    assert progress_of(train(100, 500), 1000, None, None).eta_seconds is None


def test_the_bar_is_ahead_of_rows_that_come_every_tenth_step():
    row = train(100, 500)
    ahead = progress_of(row, 1000, None, Bar("Train", 107, 1000, 1.0, None, nested=False))
    assert (ahead.step, ahead.total, ahead.source) == (107, 1000, "bar")
    other = progress_of(row, 1000, None, Bar("", 300, 400, 1.0, None, nested=False))
    assert (other.step, other.total, other.source) == (100, 1000, "metrics")
    assert progress_of(None, None, None, None) is None
