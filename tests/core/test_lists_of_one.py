"""A list of one where a single value is wanted: quoted alike everywhere, and its item is offered where that is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from prl_tui.core import checks, config_file
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.core.findings import Finding
from tests.built_in import CATALOG

PRL = CATALOG.recipes["prl-grpo"]


def of(**values: object) -> RunConfig:
    return resolve(PRL, "standard-4gpu").with_values(values, Source.FILE)


def told(config: RunConfig) -> Finding:
    [finding] = [one for one in checks.check(config).findings if one.severity == "error"]
    return finding


@pytest.mark.parametrize(
    ("key", "raw", "quoted", "item"),
    [
        ("num_generations", [4], "“[4]”", 4),
        ("num_generations", "[4]", "“[4]”", 4),
        ("num_generations", ["4"], '“["4"]”', 4),
        ("learning_rate", [2e-5], "“[2e-5]”", 2e-5),
        ("save_steps", [50], "“[50]”", 50),
        ("use_vllm", [True], "“[true]”", True),
        ("model", ["Qwen/Qwen3-4B"], '“["Qwen/Qwen3-4B"]”', "Qwen/Qwen3-4B"),
    ],
)
def test_its_item_is_offered(key: str, raw: object, quoted: str, item: object) -> None:
    finding = told(of(**{key: raw}))
    fix = finding.fixes[0]
    assert quoted in finding.message
    assert quoted in fix.label
    assert dict(fix.changes) == {key: item}
    assert checks.check(of(**{key: raw}).with_values(fix.changes, Source.FIX)).ok


@pytest.mark.parametrize(
    ("key", "raw"),
    [("num_generations", [0.5]), ("num_generations", [4, 4]), ("num_generations", []), ("num_generations", [[4]]),
     ("num_generations", "[" * 5000), ("save_steps", [-1]), ("save_steps", {"a": 1}), ("learning_rate", [1e-5, 2])],
)  # fmt: skip
def test_what_does_not_fit_is_not_offered_and_quoted_alike(key: str, raw: object) -> None:
    finding = told(of(**{key: raw}))
    assert finding.fixes
    quoted = finding.message[finding.message.index("“") : finding.message.index("”") + 1]
    for fix in finding.fixes:
        assert quoted in fix.label
        assert fix.changes[key] == resolve(PRL, "standard-4gpu").value(key)


def test_a_number_that_breaks_a_rule_is_not_the_way_out() -> None:
    assert [dict(fix.changes) for fix in told(of(num_generations=[3])).fixes] == [{"num_generations": 2}]


@pytest.mark.parametrize(("key", "raw", "quoted"), [("num_generations", [4], "“[4]”"), ("model", ["a"], '“["a"]”')])
def test_a_saved_file_keeps_the_list_wrong(key: str, raw: object, quoted: str, tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(config_file.dump(of(**{key: raw})), "utf-8")
    again = config_file.read(path, CATALOG, tmp_path)
    assert quoted in told(again).message


@pytest.mark.parametrize(
    "text", ["[null]", "[NaN]", '["\\ud800"]', "[", "[4", "[[4]]", '[{"a": 1}]', "[4] ", "[1e400]"]
)
def test_a_text_that_looks_like_a_list_survives_a_file(text: str, tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(config_file.dump(of(num_generations=text)), "utf-8")
    assert told(config_file.read(path, CATALOG, tmp_path)) == told(of(num_generations=text))
