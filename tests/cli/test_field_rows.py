"""The fields of a recipe in columns; the judge of what was cut is the same data as JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from prl_tui.i18n import cells


def said(language, *words):
    environment = {**os.environ, "PRL_TUI_LANG": language}
    return subprocess.run(
        [sys.executable, "-m", "prl_tui", "presets", *words],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    ).stdout


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_field_begins_its_columns_where_the_others_do(language):
    rows = said(language, "prl-grpo/standard-4gpu").rpartition("\n\n")[2].splitlines()
    fields = json.loads(said(language, "prl-grpo/standard-4gpu", "--json"))["fields"]
    assert len(rows) == len(fields)
    for what in ("label", "variable"):
        places = set()
        for row, field in zip(rows, fields, strict=True):
            behind = row[: row.rindex(f"  {field[what]}") + 2]
            places.add(cells(behind))
        assert len(places) == 1, what
    assert max(map(cells, rows)) < 150


def test_what_a_column_cuts_is_whole_in_json():
    rows = said("en", "prl-grpo/standard-4gpu").splitlines()
    row = next(row for row in rows if row.startswith("stack "))
    assert "swift-3.3-prl, swif…" in row
    fields = {field["key"]: field for field in json.loads(said("en", "prl-grpo/standard-4gpu", "--json"))["fields"]}
    assert "swift-4.4" in fields["stack"]["choices"]
    assert fields["num_generations"]["value"] == 2
    assert fields["dataset"]["value"] == "datasets/original/mr_train.jsonl"
