"""Paths that a field of a hub names. Judge of the readings: DatasetSyntax of ms-swift 3.3.0, 3.5.3 and 4.6.0, read and run."""

from __future__ import annotations

import pytest

from prl_tui.core import checks, hub_paths
from prl_tui.core.config import Source, resolve
from prl_tui.core.findings import Facts
from prl_tui.core.value import replace
from prl_tui.machine import facts, local_paths
from tests.built_in import RECIPES


def config(recipe="swift-sft", **changes):
    return resolve(RECIPES[recipe]).with_values(changes, Source.SET)


def found(one, here):
    base = facts.base_of(one, here)
    told = Facts(missing_values=local_paths.missing(one, base), cut_paths=local_paths.cut(one, base))
    return [one for one in checks.check(one, told).findings if one.code == "file-missing"]


@pytest.mark.parametrize("name", [
    "AI-MO/NuminaMath-TIR", "AI-MO/NuminaMath-TIR#5000", "ms::AI-ModelScope/alpaca-gpt4-data-zh#500", "hf::a/b:sub/two#3",
    "self-cognition", "swift/self-cognition#500", "AI-ModelScope/ms-swift.v2",
])  # fmt: skip
def test_a_name_on_a_hub_is_left_alone(name, tmp_path):
    assert not hub_paths.is_path(name)
    assert local_paths.missing(config(dataset=[name]), tmp_path) == {}


@pytest.mark.parametrize("name", [
    "/nope/a.jsonl", "/nope", "./a", "../b#7", "~/c", "data/a.jsonl", "a.json#500", "a.csv", "a.parquet:train#2", "a.txt",
])  # fmt: skip
@pytest.mark.parametrize("recipe", ["swift-sft", "swift-grpo", "swift-dpo", "swift-rm"])
def test_a_path_that_is_not_there_is_an_error_of_its_field(recipe, name, tmp_path):
    for key in ("dataset", "val_dataset"):
        told = found(config(recipe, **{key: [name]}), tmp_path)
        assert [(one.severity, one.field, one.message) for one in told] == [("error", key, f"{name} does not exist.")]


@pytest.mark.parametrize(
    "name", ["{here}/a b.jsonl", "./a b.jsonl#3", "a b.jsonl:train#2", "x#1.jsonl", "x#1.jsonl#9", "./"]
)
def test_what_is_there_is_no_finding(name, tmp_path):
    for file in ("a b.jsonl", "x#1.jsonl"):
        (tmp_path / file).write_text("{}")
    assert found(config(dataset=[name.format(here=tmp_path)]), tmp_path) == []


def test_relative_paths_start_in_the_working_directory(tmp_path):
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "a.jsonl").write_text("{}")
    one = config(dataset="a.jsonl", workdir=str(tmp_path / "job"))
    assert found(one, tmp_path) == []
    assert found(config(dataset="a.jsonl"), tmp_path)[0].why == "A relative path starts in the working directory."


def test_a_path_cut_at_its_blank_is_joined_by_the_way_out(tmp_path):
    (tmp_path / "my 的").mkdir()
    (tmp_path / "my 的" / "a.jsonl").write_text("{}")
    one = config(dataset=f"hub/name {tmp_path}/my 的/a.jsonl ./other.jsonl")
    told = found(one, tmp_path)
    assert [finding.message for finding in told] == [
        f"{tmp_path}/my does not exist.",
        "的/a.jsonl does not exist.",
        "./other.jsonl does not exist.",
    ]
    fix = told[0].fixes[0]
    assert fix.changes == {"dataset": f"hub/name '{tmp_path}/my 的/a.jsonl' ./other.jsonl"}
    mended = one.with_values(fix.changes, Source.FIX)
    assert [finding.message for finding in found(mended, tmp_path)] == ["./other.jsonl does not exist."]


@pytest.mark.parametrize(("recipe", "key"), [(name, key) for name, one in RECIPES.items() for key in one.data.hub])
def test_every_hub_field_is_looked_at(recipe, key, tmp_path):
    one = config(recipe, **{key: "/nope/x.json"})
    assert local_paths.missing(one, tmp_path)[key] == ("/nope/x.json",)
    assert [(told.field, told.message) for told in found(one, tmp_path)] == [(key, "/nope/x.json does not exist.")]


def test_the_files_of_prls_task_are_asked_for_with_their_reason(tmp_path):
    (tmp_path / "mine.jsonl").write_text("{}")
    one = config("prl-grpo", dataset="mine.jsonl", model="/nope/model")
    known = facts.look_up(one, tmp_path)
    told = Facts(missing_files=known.missing_files, missing_values=known.missing_values)
    told = {one.message: one for one in checks.check(one, told).findings}
    assert told["/nope/model does not exist."].field == "model"
    one = told["datasets/original/mr_train.jsonl does not exist."]
    assert one.field == "DATASET"
    assert "by the task in DATASET, whatever dataset says" in one.why
    assert "workdir" in one.why
    assert told["examples/train/grpo/prompt.txt does not exist."].field == "system"


def test_a_reason_is_given_for_a_file_that_is_asked_for():
    from prl_tui.core.recipe import EMPTY, build

    data = replace(RECIPES["demo"].data, reasons={"x": EMPTY}, shared=(), defaults={}, presets={}, default_preset="")
    with pytest.raises(ValueError, match="reasons: there is no x"):
        build(data, {}, "")


@pytest.mark.parametrize(
    ("typed", "whole"),
    [
        ("my data.jsonl", ("my data.jsonl",)),
        ("d/my data.jsonl#10", ("d/my data.jsonl#10",)),
        ("./d/my data.jsonl my data.jsonl", ("./d/my data.jsonl", "my data.jsonl")),
        ("AI-MO/x my data.jsonl", ("AI-MO/x", "my data.jsonl")),
    ],
)
def test_a_path_with_a_blank_is_quoted_wherever_it_stands(typed, whole, tmp_path):
    (tmp_path / "d").mkdir()
    for name in ("my data.jsonl", "d/my data.jsonl"):
        (tmp_path / name).write_text("{}\n")
    one = config(dataset=typed)
    for finding in found(one, tmp_path):
        mended = one.with_values(finding.fixes[0].changes, Source.FIX)
        assert mended.value("dataset") == whole
        assert not found(mended, tmp_path)
    assert found(one, tmp_path)


def test_a_long_list_that_is_not_there_is_looked_at_once_each(tmp_path):
    one = config(dataset=[f"nope{n}.jsonl" for n in range(3000)])
    assert len(local_paths.missing(one, tmp_path)["dataset"]) == 3000
    assert local_paths.cut(one, tmp_path) == {}
