import math

from hypothesis import given, settings
from hypothesis import strategies as st

from prl_tui.telemetry.series import Series, SeriesBuffer


def test_a_view_stays_true_while_its_buffer_grows():
    buffer = SeriesBuffer()
    buffer.append(1, 0.5)
    view = buffer.view()
    buffer.append(2, 0.25)
    assert list(view) == [(1, 0.5)]
    assert list(buffer.view()) == [(1, 0.5), (2, 0.25)]
    assert buffer.view() is buffer.view()
    assert buffer.view()[-1] == (2, 0.25)
    assert list(buffer.view().steps(1)) == [2]


def test_thinning_out_keeps_spikes_nan_and_both_ends():
    buffer = SeriesBuffer(capacity=64)
    for step in range(1000):
        buffer.append(step, 9.0 if step == 500 else math.nan if step == 700 else math.sin(step))
    view = buffer.view()
    values = list(view.values())
    assert len(values) < 64
    assert max(value for value in values if not math.isnan(value)) == 9.0
    assert any(math.isnan(value) for value in values)
    assert list(view.steps()) == sorted(view.steps())
    assert view[-1][0] == 999


def test_a_view_from_before_thinning_out_is_no_beginning_of_one_after():
    buffer = SeriesBuffer(capacity=8)
    for step in range(7):
        buffer.append(step, float(step))
    before = buffer.view()
    buffer.append(7, 7.0)
    assert not buffer.view().continues(before)
    assert list(before) == [(step, float(step)) for step in range(7)]


def test_a_resumed_run_is_not_ascending():
    assert Series.of([(1, 0.0), (2, 0.0)]).ascending
    assert not Series.of([(5, 0.0), (2, 0.0)]).ascending


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=300))
def test_the_extremes_survive_any_number_of_thinnings(values):
    buffer = SeriesBuffer(capacity=16)
    for step, value in enumerate(values):
        buffer.append(step, value)
    finite = [value for value in values if math.isfinite(value)]
    kept = [value for value in buffer.view().values() if math.isfinite(value)]
    assert len(buffer.view()) <= 16
    if finite:
        assert (min(kept), max(kept)) == (min(finite), max(finite))
