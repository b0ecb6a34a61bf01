import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prl_tui.telemetry import console_dicts
from prl_tui.telemetry.console_dicts import find_dicts
from prl_tui.telemetry.metrics import KEPT_ROWS, MetricsFile, row_of

INPUTS = Path(__file__).parents[1] / "fixtures" / "telemetry"


def read(path):
    file = MetricsFile(path)
    file.poll()
    return file.table


def test_every_kind_of_row_is_read_and_a_cut_line_waited_for(tmp_path):
    # C07: rows of ms-swift 3.3, 3.12, 4.x and Megatron, as people posted them.
    path = tmp_path / "logging.jsonl"
    path.write_bytes((INPUTS / "C07.jsonl").read_bytes().rstrip(b"\n"))
    file = MetricsFile(path)
    file.poll()
    rows = file.table.rows
    assert [row.kind for row in rows] == ["train"] * 4 + ["eval", "train", "end", "summary"]
    assert [row.step for row in rows if row.step is not None] == [1, 5, 300, 2, 50, 85]
    assert [row.total for row in rows[:6]] == [84620, 84620, 1296, 10000, 500, 85]
    assert rows[0].remaining == 2661876
    assert rows[0].memory_gib == 72.8
    assert rows[0].seconds_per_step == pytest.approx(1 / 0.009949)
    assert rows[3].seconds_per_step == 19.529944
    assert rows[5].elapsed == 13680
    assert rows[7].values == {"global_step": 94.0}
    assert rows[7].texts["last_model_checkpoint"].endswith("checkpoint-94")
    assert file.unreadable_lines == 0

    with path.open("ab") as more:
        more.write(b'eps": "301/1296"}\n')
    assert file.poll()
    assert file.table.count == 9
    assert file.table.rows[-1].step == 301
    assert file.table.rows[-1].values["loss"] == 0.02


def test_bare_nan_and_infinity_are_numbers():
    rows = read(INPUTS / "C06.jsonl").rows
    assert [row.step for row in rows] == [1, 300, 2]
    assert math.isnan(rows[1].values["kl"])
    assert rows[2].values["grad_norm"] == math.inf


def test_a_series_has_every_point_and_is_the_same_object_until_a_row_comes(tmp_path):
    path = tmp_path / "logging.jsonl"
    path.write_text('{"loss": 1.0, "global_step/max_steps": "1/9"}\n')
    file = MetricsFile(path)
    file.poll()
    before = file.table.series()
    assert file.table.series() is before
    with path.open("a") as more:
        more.write('{"loss": 0.5, "global_step/max_steps": "2/9"}\n{"eval_loss": 3, "global_step/max_steps": "2/9"}\n')
    file.poll()
    after = file.table.series()
    assert list(before["loss"]) == [(1, 1.0)]
    assert list(after["loss"]) == [(1, 1.0), (2, 0.5)]
    assert list(after["eval_loss"]) == [(2, 3.0)]
    assert after["loss"].continues(before["loss"])


def test_rows_without_a_step_get_it_from_their_order(tmp_path):
    path = tmp_path / "logging.jsonl"
    path.write_text('{"loss": 3}\n{"loss": 2}\n{"eval_loss": 2}\n{"loss": 1}\n{"train_runtime": 9}\n')
    assert [(row.kind, row.step) for row in read(path).rows] == [
        ("train", 1),
        ("train", 2),
        ("eval", 2),
        ("train", 3),
        ("end", None),
    ]


def test_a_file_that_is_rewritten_is_read_anew(tmp_path):
    path = tmp_path / "logging.jsonl"
    path.write_text('{"loss": 1, "global_step/max_steps": "1/9"}\n{"loss": 1, "global_step/max_steps": "2/9"}\n')
    file = MetricsFile(path)
    file.poll()
    path.write_text('{"loss": 7, "global_step/max_steps": "1/3"}\n')
    file.poll()
    assert [(row.step, row.total, row.values["loss"]) for row in file.table.rows] == [(1, 3, 7)]


def test_a_line_cut_by_a_crash_and_written_on_yields_the_later_row(tmp_path):
    path = tmp_path / "logging.jsonl"
    path.write_text('{"loss": 1, "glo{"loss": 2, "global_step/max_steps": "5/9"}\n[1]\n"x"\n{}\n')
    file = MetricsFile(path)
    file.poll()
    assert [row.step for row in file.table.rows] == [5]
    assert file.unreadable_lines == 3


def test_the_history_in_a_summary_costs_nothing(tmp_path):
    path = tmp_path / "logging.jsonl"
    history = [{"loss": 1.5, "step": step} for step in range(100_000)]
    path.write_text(
        json.dumps({"last_model_checkpoint": "/x/checkpoint-9", "log_history": history, "memory": 3}) + "\n"
    )
    file = MetricsFile(path)
    while file.poll(1 << 20) or file.behind:
        pass
    assert [row.kind for row in file.table.rows] == ["summary"]
    assert file.table.series() == {}


@pytest.mark.slow
def test_memory_is_bounded_in_rows_names_and_points(tmp_path):
    path = tmp_path / "logging.jsonl"
    lines = [
        json.dumps({"loss": float(n), f"odd/{n}": 1, "global_step/max_steps": f"{n + 1}/40000"}) for n in range(40_000)
    ]
    path.write_text("\n".join(lines) + "\n")
    file = MetricsFile(path)
    while file.poll() or file.behind:
        pass
    assert file.table.count == 40_000
    assert len(file.table.rows) == KEPT_ROWS
    series = file.table.series()
    assert len(series) <= 512
    assert len(series["loss"]) < 33_000
    assert series["loss"][0] == (1, 0.0)
    assert series["loss"][-1] == (40_000, 39_999.0)


def test_huge_and_strange_values_are_no_crash():
    row = row_of({"loss": 10**400, "a": [1], "b": None, "c": True, "d": {"e": {"f": "0.5"}}, "reward": "1e-3"})
    assert row.values == {"d/e/f": 0.5, "reward": 0.001}
    assert row.texts == {"c": "True", "loss": str(10**400)[:200]}
    assert row_of({}) is None
    assert row_of({"note": "x"}) is None


# L24, line by line: how many rows, and what is clear in them (numpy 2, torch 2, transformers 5, plain Python).
L24 = [
    [("train", {"loss": 0.6931, "grad_norm": 1.2345, "learning_rate": 1e-06})],
    [("train", {"loss": math.inf, "grad_norm": -math.inf, "learning_rate": 0.0, "reward": math.nan})],
    [("train", {"loss": 0.6931, "grad_norm": 1.23, "learning_rate": 1e-06})],
    [("eval", {"eval/loss": 0.5, "eval/per_task/mr": 0.9})],
    [
        (
            "train",
            {
                "loss": -0.0,
                "grad_norm": 0.0,
                "reward": 0.64306641,
                "reward_std": 0.15570375,
                "frac_reward_zero_std": 0.390625,
                "kl": 0.0,
            },
        )
    ],
    [],
    [],
    [("train", {"loss": 0.5}), ("train", {"loss": 0.4})],
    [],
]


@pytest.mark.parametrize("number", range(len(L24)))
def test_console_dicts_give_what_is_clear_and_keep_the_rest_as_text(number):
    line = (INPUTS / "L24.log").read_text().splitlines()[number]
    rows = [row for found in find_dicts(line) if (row := row_of(found, needs_known_key=True)) is not None]
    assert [(row.kind, {k: repr(v) for k, v in row.values.items()}) for row in rows] == [
        (kind, {k: repr(v) for k, v in values.items()}) for kind, values in L24[number]
    ]
    if number == 3:
        assert rows[0].texts == {"eval/per_task/sum": "[1, 2]"}
    if number == 4:
        assert (rows[0].step, rows[0].total, rows[0].remaining) == (9, 547, 162647)


def test_nothing_in_a_dict_is_ever_run(tmp_path):
    witness = tmp_path / "ran"
    line = f"{{'loss': __import__('pathlib').Path({str(witness)!r}).touch(), 'reward': [open(x) for x in y]}}"
    found = find_dicts(line)
    assert not witness.exists()
    assert all(isinstance(value, str) for value in found[0].values())


@pytest.mark.parametrize(
    "line",
    [
        "{'" * 5000,
        "{'a': " + "(" * 5000,
        "{'a': '\\" + "'" * 999,
        "{'a': " + "-" * 50_000 + "1}",
        "{'a': \"\\d\"}",
        "{'\x00'}",
    ],
)
def test_braces_that_mean_nothing_are_no_crash(line):
    find_dicts(line)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6)
    | st.sampled_from(["-0", "01", "1_0", "1e400", "9" * 5000, "nan", "a", "'a' 'b'", "{'a'}", "1 # x", "true", "\xa01"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


@given(st.dictionaries(st.text(min_size=1, max_size=4), VALUES, min_size=1, max_size=4), st.booleans())
@settings(max_examples=500)
def test_the_quick_reading_says_what_pythons_own_parser_says(row, bare):
    """Judged by CPython's ast, which reads what the quick one leaves."""
    text = repr(row)
    if bare:  # values as a program prints them that are no Python, or mean something else there
        text = text.replace("'nan'", "nan").replace("'-0'", "-0").replace("'1_0'", "1_0").replace("'01'", "01")
    quick = console_dicts._read_as_json(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(console_dicts, "_read_as_json", lambda _: None)
        slow = console_dicts._read(text)
    assert quick is None or repr(quick) == repr(slow)


def test_a_usual_report_is_read_quickly():
    assert console_dicts._read_as_json("{'loss': 0.5, 'grad_norm': '1.2', 'lr': 1e-05, 'step': '4/20'}") is not None
