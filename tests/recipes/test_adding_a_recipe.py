"""The page on adding a recipe: its example, taken from the page itself, loads, checks, and gives a command."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from prl_tui.core import catalog, checks, plan, words
from prl_tui.core.config import Source, resolve
from prl_tui.core.findings import Facts
from prl_tui.core.value import plain
from prl_tui.runs import plans
from prl_tui.telemetry.console import ConsoleFormat, ConsoleReader
from prl_tui.telemetry.milestones import Anchor

PAGE = Path(__file__).parent.parent.parent / "docs" / "adding-a-recipe.md"


EXAMPLES = re.findall(r"^```toml\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture
def recipe(tmp_path):
    example, _ = EXAMPLES
    (tmp_path / "tiny-lm.toml").write_text(example, "utf-8")
    found = catalog.load([tmp_path])
    assert found.problems == ()
    return found.recipes["tiny-lm"]


def test_the_example_loads_and_checks_without_an_error(recipe):
    found = checks.check(resolve(recipe, "two-gpu"), Facts(rows=160))
    assert found.findings == ()
    assert found.batch.formula == "8 × 2 = 16"
    assert (found.steps.per_epoch, found.steps.total) == (10, 10)
    assert words.length(found) == "10 steps, 10 an epoch"


def test_the_example_runs_without_gpus_where_its_cpu_field_says_so(recipe):
    config = resolve(recipe)
    [finding] = checks.check(config, Facts(node_gpus=0)).findings
    assert finding.code == "node-without-gpu"
    assert checks.check(config.with_values({"use_cpu": True}, Source.SET), Facts(node_gpus=0)).findings == ()


def test_the_example_gives_its_command(recipe):
    made = plan.build(resolve(recipe, "two-gpu"))
    assert made.command_line() == (
        "CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=2 --master_port=29500 train.py"
        " --batch 8 --data data/train.jsonl --save_dir out/batch-8 --epochs 1"
    )


def test_the_examples_patterns_read_a_log(recipe, tmp_path):
    log = tmp_path / "log"
    log.write_text("step 3/9 loss=1.5 accuracy=0.25\nsaved out/step-3\ntraining is over\n")
    outputs = recipe.data.outputs
    anchors = tuple(Anchor(one.key, one.pattern) for one in outputs.anchors)
    reader = ConsoleReader([log], ConsoleFormat(outputs.bars, anchors, outputs.metric_lines))
    reader.poll(ended=True)
    assert reader.table.total == 9
    assert reader.table.last["train"].values == {"loss": 1.5, "accuracy": 0.25}
    assert list(reader.milestones.checkpoints) == ["out/step-3"]
    assert "done" in reader.milestones.lines
    reader.close()


def test_a_runs_record_keeps_the_patterns(recipe):
    kept = json.loads(json.dumps(plain(recipe.data.outputs)))
    assert plans.outputs_of({"outputs": kept}) == recipe.data.outputs


def test_a_recipe_with_the_pages_written_file_writes_it(tmp_path):
    example, write = EXAMPLES
    field = """
[[field]]
key = "{}"
type = "{}"
group = "data"
label = {{ en = "{}" }}
default = "{}"
{}
"""
    more = [("config", "path", "a.yaml", 'flag = "--config"'), ("config_source", "str", "generate", ""),
            ("accumulation", "int", "1", ""), ("lambda_init", "float", "5e-2", "")]  # fmt: skip
    fields = "".join(field.format(key, kind, key, default, rest) for key, kind, default, rest in more)
    (tmp_path / "tiny-lm.toml").write_text(example + fields + write, "utf-8")
    found = catalog.load([tmp_path])
    assert found.problems == ()
    made = plan.build(resolve(found.recipes["tiny-lm"], "two-gpu"))
    [file] = made.files
    assert yaml.safe_load(file.text("")) == {
        "λ_init": 0.05,
        "training": {"batch_size": 8, "save_dir": "out/8", "use_ddp": True},
    }
    at = made.argv.index("--config")
    assert made.argv[at + 1] == "prl-files/tiny-lm.yaml"


def test_the_page_is_one_page():
    assert len(PAGE.read_text("utf-8").splitlines()) <= 140
