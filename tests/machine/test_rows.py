"""Rows of data files. The parquet file was written by pyarrow (version in its own footer), 437 rows in 5 row groups."""

from __future__ import annotations

import csv
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prl_tui.core import catalog
from prl_tui.core.config import Source, resolve
from prl_tui.machine import rows
from tests.built_in import RECIPES

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
    recipes = RECIPES
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


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that are opened to be counted."""
    seen: list[Path] = []
    real = rows.regular.opened

    def open_it(path: Path):
        seen.append(path)
        return real(path)

    monkeypatch.setattr(rows.regular, "opened", open_it)
    return seen


def test_a_file_is_counted_once_until_it_changes(tmp_path: Path, opened: list[Path]) -> None:
    data = tmp_path / "a.jsonl"
    data.write_text("{}\n{}\n")
    assert [rows.count(data), rows.count(data)] == [2, 2]
    assert opened == [data]
    data.write_text("{}\n{}\n{}\n")
    assert [rows.count(data), rows.count(data)] == [3, 3]
    assert opened == [data, data]


def test_those_who_ask_at_once_wait_for_one_count(tmp_path: Path, opened: list[Path], monkeypatch) -> None:
    data, begun, go = tmp_path / "a.jsonl", threading.Event(), threading.Event()
    data.write_text("{}\n{}\n")
    real = rows._count

    def slowly(path, stale):
        begun.set()
        go.wait(20)
        return real(path, stale)

    monkeypatch.setattr(rows, "_count", slowly)
    found: list[int | None] = []
    threads = [threading.Thread(target=lambda: found.append(rows.count(data))) for _ in range(5)]
    for thread in threads:
        thread.start()
    begun.wait(20)
    with pytest.raises(rows.StaleError):
        rows.count(data, lambda: True)
    go.set()
    for thread in threads:
        thread.join(20)
    assert found == [2] * 5
    assert opened == [data]


@pytest.mark.parametrize(("name", "text"), [("a.jsonl", "{}\n"), ("a.csv", "h\n1\n"), ("b.csv", 'h\n"1"\n')])
def test_a_count_that_nobody_wants_any_more_ends(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(rows.StaleError):
        rows.count(tmp_path / name, lambda: True)
    assert rows.count(tmp_path / name) == 1, "nothing of it is remembered, and the next one has its turn"


def test_the_app_counts_a_file_once_for_all_numbers_of_processes_and_lets_go_of_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The counts are real ones that wait for leave between two of their parts."""
    from prl_tui.machine.gpus import GpuSnapshot
    from prl_tui.tui.feeds import BoxFacts

    for name in ("one.jsonl", "two.jsonl"):
        (tmp_path / name).write_text("{}\n" * 7)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    counted, ended, go = [], [], threading.Event()
    real = rows._count

    def slowly(path, stale):
        counted.append(path.name)
        try:
            while not go.wait(0.01):
                rows._heed(stale)
            return real(path, stale)
        finally:
            ended.append(path.name)

    monkeypatch.setattr(rows, "_count", slowly)
    recipe = catalog.load([], only="prl-grpo").find("prl-grpo")
    monkeypatch.setattr(type(recipe.data.batch), "rows", ("model",), raising=False)
    base = resolve(recipe, "standard-4gpu")
    box, end = BoxFacts(), time.monotonic() + 60

    def ask(name, processes):
        one = base.with_values({"model": name, "nproc_per_node": processes}, Source.FORM)
        box.facts(one, GpuSnapshot(0.0))
        return one

    def wait(predicate):
        while not predicate():
            assert time.monotonic() < end
            time.sleep(0.01)

    ask("one.jsonl", 1)
    wait(lambda: counted)
    for processes in (2, 3, 4):
        ask("one.jsonl", processes)
    ask("two.jsonl", 4)
    wait(lambda: ended == ["one.jsonl"] and counted == ["one.jsonl", "two.jsonl"])
    go.set()
    one = ask("two.jsonl", 4)
    wait(lambda: box.known(ask("two.jsonl", 4)))
    assert box.facts(one, GpuSnapshot(0.0)).rows == 7
    for processes in (1, 2):
        wait(lambda processes=processes: box.known(ask("two.jsonl", processes)))
    assert counted == ["one.jsonl", "two.jsonl"]
