"""A verdict as text: each error, and its ways out once. The judge of a way out is the check itself."""

from __future__ import annotations

import re
import shlex

from prl_tui.core import checks, words
from prl_tui.core.config import Source, resolve
from prl_tui.core.findings import Finding
from prl_tui.core.value import replace
from prl_tui.tui.session import Verdict
from prl_tui.tui.widgets import verdict_view
from tests.built_in import RECIPES

RECIPE = RECIPES["prl-grpo"]


def report_of(**values):
    return checks.check(resolve(RECIPE).with_values(values, Source.SET))


def typed(lines):
    """The `--set` words of each line that shows some."""
    shown = [re.search(r"\((--set .*)\)$", line) for line in lines]
    return [dict(word.split("=", 1) for word in shlex.split(one[1])[1::2]) for one in shown if one]


def test_several_errors_have_their_common_ways_out_once_at_the_end():
    wrong = {"num_generations": 3, "train_type": "x", "per_device_eval_batch_size": 5}
    lines = words.findings(report_of(**wrong))
    head = lines.index("ways out, each mends all of them:")
    ways = typed(lines[head + 1 :])
    assert len(ways) == len(lines) - head - 1 > 1
    for way in ways:
        assert report_of(**{**wrong, **way}).ok
    assert typed(lines[:head]) == [{"train_type": "lora"}]
    assert sum("num_generations=2" in line for line in lines) == 1


def test_an_error_that_stands_alone_keeps_its_ways_out_behind_it():
    lines = words.findings(report_of(train_type="x"))
    assert [line for line in lines if "--set" in line] == ["    way out: tuning “x” → lora (--set train_type=lora)"]
    assert not any(line.startswith("way") for line in lines)


def test_one_common_way_out_is_no_plural():
    lines = words.findings(report_of(train_type="x", torch_dtype="y"))
    assert lines[-2] == "way out, which mends all of them:"
    assert typed(lines[-1:]) == [{"torch_dtype": "bfloat16", "train_type": "lora"}]


def test_a_sound_config_has_no_ways_out():
    assert not any("way" in line for line in words.findings(report_of()) if line.startswith(("way", "    way")))


def test_a_reason_that_several_findings_share_is_said_once():
    """PRL's three data files had the same two sentences below each of them."""
    names = ("a.jsonl", "b.jsonl", "c.jsonl")
    told = [Finding("missing-file", "error", "dataset", f"{name} does not exist.", "PRL opens it.") for name in names]
    other = Finding("other", "error", "", "Something else.", "For another reason.")
    report = replace(checks.check(resolve(RECIPE)), findings=(*told[:2], other, told[2]))
    lines = words.findings(report)
    assert [line for line in lines if line.startswith("    ")] == ["    PRL opens it.", "    For another reason."]
    assert sum("does not exist" in line for line in lines) == 3
    verdict = Verdict(report.config, None)
    verdict.__dict__["report"] = report
    assert sum("PRL opens it." in line.text for line in verdict_view.lines(verdict, 70)) == 1
