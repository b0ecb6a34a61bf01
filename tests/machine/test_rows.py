"""Rows of data files. The parquet file was written by pyarrow (version in its own footer), 437 rows in 5 row groups."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prl_tui.core import catalog
from prl_tui.core.config import Source, resolve
from prl_tui.machine import rows

PARQUET = Path(__file__).parent.parent / "fixtures" / "rows" / "made_by_pyarrow.parquet"


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("a.jsonl", '{"a": 1}\n{"a": 2}\n', 2),
        ("a.jsonl", '{"a": 1}\n\n{"a": 2}', 2),
        ("a.jsonl", "\n\n\n", 0),
        ("a.jsonl", "", 0),
        ("a.jsonl", "{}\n  \t\n \r\n{}\n   ", 2),
        ("a.tsv", "h\ti\n\t\n", 1),
        ("a.jsonl", '{"a": 1}\r\n{"a": 2}\r\n', 2),
        ("a.csv", "h\n1\n2\n", 2),
        ("a.csv", 'h,i\n1,"two\nlines"\n3,4', 2),
        ("a.tsv", "h\ti\n1\t2\n", 1),
        ("a.txt", "x\n", None),
    ],
)
def test_text_files(tmp_path: Path, name: str, text: str, count: int | None) -> None:
    (tmp_path / name).write_text(text, "utf-8", newline="")
    assert rows.count(tmp_path / name) == count


def test_parquet_rows_come_from_the_footer() -> None:
    assert rows.count(PARQUET) == 437


def test_a_cut_parquet_file_and_a_missing_one_are_not_counted(tmp_path: Path) -> None:
    (tmp_path / "cut.parquet").write_bytes(PARQUET.read_bytes()[:-20])
    assert rows.count(tmp_path / "cut.parquet") is None
    assert rows.count(tmp_path / "none.jsonl") is None
    assert rows.count(tmp_path) is None


@given(lines=st.lists(st.sampled_from(["", "{}", '{"a": "b"}']), max_size=20), end=st.booleans())
def test_blank_lines_never_count(tmp_path_factory: pytest.TempPathFactory, lines: list[str], end: bool) -> None:
    path = tmp_path_factory.mktemp("rows") / "a.jsonl"
    path.write_text("\n".join(lines) + ("\n" if end else ""), "utf-8")
    assert rows.count(path) == sum(bool(line) for line in lines)


@given(table=st.lists(st.lists(st.text('a\n",', max_size=4), min_size=2, max_size=2), min_size=1, max_size=8))
def test_csv_records_are_those_of_the_csv_module(
    tmp_path_factory: pytest.TempPathFactory, table: list[list[str]]
) -> None:
    path = tmp_path_factory.mktemp("rows") / "a.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["h", "i"], *table])
    assert rows.count(path) == len(table)


def test_a_config_is_counted_in_its_own_files_or_not_at_all(tmp_path: Path) -> None:
    recipes = catalog.load().recipes
    folder = tmp_path / "datasets" / "original"
    folder.mkdir(parents=True)
    (folder / "mr_train.jsonl").write_text('{"a": 1}\n' * 7, "utf-8")
    config = resolve(recipes["prl-grpo"])
    assert rows.training(config, tmp_path) == 7
    assert rows.validation(config, tmp_path) is None
    assert rows.training(config.with_values({"DATASET": "cr"}, Source.SET), tmp_path) is None
    (tmp_path / "data" / "Amazon" / "train").mkdir(parents=True)
    (tmp_path / "data" / "Amazon" / "train" / "Sports_5_11.csv").write_text("h\n1\n2\n3\n", "utf-8")
    sports = resolve(recipes["minionerec-sft"]).with_values({"category": "Sports"}, Source.SET)
    assert rows.training(sports, tmp_path) is None  # it joins three data sets made from its files (sft.py)
    assert rows.of_fields(sports, sports.recipe.data.smoke.rows, tmp_path) == 3
    named = resolve(recipes["swift-grpo"])
    assert rows.training(named, tmp_path) is None  # a data set by name is not here
