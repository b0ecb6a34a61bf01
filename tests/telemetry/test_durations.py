import pytest

from prl_tui.telemetry.durations import format_duration, format_speed, parse_clock, parse_duration


# Texts as ms-swift prints them (3.3 and 4.6); 60s is 3.12.5's.
@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30d 19h 24m 36s", 2661876),
        ("2m 19s", 139),
        ("0s", 0),
        ("60s", 60),
        ("3h 48m", 13680),
        ("", None),
        ("soon", None),
        ("1:02", None),
    ],
)
def test_engine_durations(text, seconds):
    assert parse_duration(text) == seconds


# tqdm 4.70: hours without limit, ? before it knows.
@pytest.mark.parametrize(("text", "seconds"), [("00:14", 14), ("8:16:53", 29813), ("100:00:00", 360000), ("?", None)])
def test_bar_clocks(text, seconds):
    assert parse_clock(text) == seconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (41.4, "41 s"),
        (59.6, "1 m 00 s"),
        (245, "4 m 05 s"),
        (29040, "8 h 04 m"),
        (86399.7, "1 d 00 h"),
        (2661876, "30 d 19 h"),
        (None, "–"),
        (float("nan"), "–"),
        (float("inf"), "–"),
        (-1, "–"),
    ],
)
def test_durations_are_written_one_way(seconds, text):
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("pace", "text"),
    [
        (3.1, "3.1 s/it"),
        (161.1, "161 s/it"),
        (1, "1.0 s/it"),
        (0.2083, "4.8 it/s"),
        (0.001, "1,000 it/s"),
        (0, "–"),
        (None, "–"),
        (float("inf"), "–"),
    ],
)
def test_speeds_are_written_one_way(pace, text):
    assert format_speed(pace) == text
