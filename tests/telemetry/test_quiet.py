"""When silence is told: the rule alone, on the ages of real files."""

import os

import pytest

from prl_tui import i18n
from prl_tui.telemetry import quiet
from prl_tui.telemetry.run_view import RunReader

START = 1_000_000.0


@pytest.fixture
def reader(tmp_path):
    """A reader of a log that was written to at a moment of the test's choice."""
    log = tmp_path / "output.log"
    reading = RunReader(log)

    def read(text, at):
        with log.open("a") as file:
            file.write(text)
        os.utime(log, (at, at))
        return reading.poll()

    yield read
    reading.close()


def row(step, elapsed, total=100):
    # the shape of ms-swift 3.3 to 4.6 on the console
    return f"{{'loss': 1.2, 'global_step/max_steps': '{step}/{total}', 'elapsed_time': '{elapsed}s'}}\n"


def test_a_quick_run_is_told_after_five_minutes_of_silence_and_not_before(reader):
    view = reader("".join(row(n, 3 * n) for n in range(1, 20)), START + 60)
    assert quiet.quiet_for(view, START + 60 + 299, START) is None
    assert quiet.quiet_for(view, START + 60 + 301, START) == pytest.approx(301)


def test_a_slow_run_gets_ten_of_its_steps(reader):
    view = reader("".join(row(n, 60 * n) for n in range(1, 20)), START + 60)
    assert view.step_seconds == pytest.approx(60)
    assert quiet.quiet_for(view, START + 60 + 599, START) is None
    assert quiet.quiet_for(view, START + 60 + 601, START) == pytest.approx(601)


def test_one_long_evaluation_does_not_make_it_more_patient(reader):
    view = reader("".join(row(n, 3 * n + (1000 if n > 15 else 0)) for n in range(1, 20)), START)
    assert quiet.limit(view) == 300


def test_a_trainer_that_reports_rarely_is_waited_for(reader):
    view = reader("".join(row(n, 3 * n, 10_000) for n in range(100, 2000, 100)), START)  # every 100 steps of 3 s
    assert (view.step_seconds, view.report_seconds) == (3.0, 300.0)
    assert quiet.limit(view) == 900


def test_a_bar_alone_gives_the_pace(reader):
    view = reader("\rTrain:  10%|█ | 10/100 [10:00<1:30:00, 60.00s/it]", START)
    assert quiet.limit(view) == 600


@pytest.mark.parametrize(
    "text", ["", "W1127 torchrun banner\n", "\rTrain:   0%|  | 0/100 [00:00<?, ?it/s]", "loss 0.3\n"]
)
def test_before_the_first_step_loading_may_take_a_quarter_of_an_hour(reader, text):
    view = reader(text, START)
    assert quiet.quiet_for(view, START + 899, START) is None
    assert quiet.quiet_for(view, START + 901, START) == pytest.approx(901)


def test_after_the_last_step_it_may_save_and_merge_as_long(reader):
    view = reader("".join(row(n, n) for n in range(1, 101)), START)
    assert quiet.limit(view) == 900


def test_without_any_output_the_silence_began_with_the_run(tmp_path):
    view = RunReader(tmp_path / "nothing.log").poll()
    assert quiet.quiet_for(view, START + 901, START) == pytest.approx(901)
    assert quiet.quiet_for(view, START + 901, None) is None


def test_a_file_older_than_the_run_is_not_its_silence(reader):
    view = reader("from another day\n", START - 90_000)
    assert quiet.quiet_for(view, START + 10, START) is None


def test_output_ends_the_silence(reader):
    view = reader("".join(row(n, 3 * n) for n in range(1, 20)), START)
    assert quiet.quiet_for(view, START + 1000, START)
    assert quiet.quiet_for(reader(row(20, 60), START + 999), START + 1000, START) is None


@pytest.mark.parametrize(
    ("pace", "shift"),
    [(0.3, 15), (1, 15), (3, 30), (60, 600)],  # seconds a step, seconds that it may be silent
)
def test_a_step_is_late_after_ten_of_them_and_never_before_a_quarter_of_a_minute(reader, pace, shift):
    view = reader("".join(row(n, round(pace * n), 10_000) for n in range(1, 200)), START)
    assert quiet.late_for(view, START + shift - 1, START) is None
    assert quiet.late_for(view, START + shift + 1.7, START) == shift + 1
    assert quiet.late_for(reader(row(210, 700, 10_000), START + shift), START + shift + 2, START) is None


def test_rows_that_come_rarely_are_waited_for_before_a_step_is_late(reader):
    view = reader("".join(row(n, 3 * n, 10_000) for n in range(100, 2000, 100)), START)  # every 100 steps of 3 s
    assert quiet.late_for(view, START + 899, START) is None


@pytest.mark.parametrize("text", ["", "loading\n", row(1, 1), "".join(row(n, n) for n in range(1, 101))])
def test_without_a_pace_and_after_the_last_step_nothing_is_late(reader, text):
    assert quiet.late_for(reader(text, START), START + 800, START) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (42, "no output for 42 s"),
        (360, "no output for 6 min"),
        (5999, "no output for 99 min"),
        (7300, "no output for 2 hours"),
    ],
)
def test_the_silence_in_words(seconds, text):
    i18n.set_language("en")
    assert quiet.words(seconds) == text


def test_the_age_of_the_last_output_in_words():
    i18n.set_language("en")
    assert quiet.late_words(40.0) == "last output 40 s ago"
    assert quiet.late_words(250.0) == "last output 4 m 10 s ago"
