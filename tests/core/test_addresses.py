"""Web addresses where files or names on a hub belong: said clearly, by the check and before a launch."""

from __future__ import annotations

from pathlib import Path

import pytest

from prl_tui.core import checks, hub_paths
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.core.findings import Facts
from prl_tui.machine import local_paths
from prl_tui.machine.facts import matches
from tests.built_in import RECIPES

ADDRESS = "https://example.org/data/a.jsonl?download=true"


def config(recipe: str, **values: str) -> RunConfig:
    return resolve(RECIPES[recipe]).with_values(values, Source.SET)


@pytest.mark.parametrize("address", [ADDRESS, "s3://bucket/a.jsonl#500", "http://h/x"])
def test_a_data_set_cannot_be_a_web_address(address: str, tmp_path: Path) -> None:
    changed = config("swift-sft", dataset=f"{address} ./there.jsonl")
    (told,) = checks.check(changed).findings
    assert (told.code, told.severity, told.field) == ("file-address", "error", "dataset")
    assert told.message == f"{address} is a web address; the path of a file or a name on a hub is needed."
    assert "such as ./" in told.why
    (tmp_path / "there.jsonl").write_text("{}")
    assert not local_paths.missing(changed, tmp_path), "that it is no file here is not said beside it"


def test_a_file_of_a_pattern_cannot_be_one_either(tmp_path: Path) -> None:
    changed = config("minionerec-sft", train_file=ADDRESS)
    found = checks.check(changed, Facts(found=matches(changed, tmp_path))).findings
    (told,) = [one for one in found if one.field == "train_file"]
    assert told.message == f"{ADDRESS} is a web address; the path of a file is needed."
    assert told.why.endswith("such as ./a.jsonl.")


def test_a_needed_file_that_is_an_address_is_no_file_that_does_not_exist() -> None:
    changed = config("custom", script="https://example.org/train.py")
    (told,) = checks.check(changed, Facts(missing_files=("https://example.org/train.py",))).findings
    assert (told.field, told.message.endswith("is a web address; the path of a file is needed.")) == ("script", True)


@pytest.mark.parametrize("text", ["a/b", "hf::a/b", "/https://x", "./a:b", "C://x y", "://x", "https://", "模型://x"])
def test_what_is_no_address(text: str) -> None:
    assert hub_paths.is_address(text) is (text == "C://x y")
