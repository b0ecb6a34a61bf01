"""Free words in an exported script. Judges: Python's shlex for what is split, bash 5.2 for what reaches the program."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from prl_tui.core import catalog, plan
from prl_tui.core.config import Source, resolve
from prl_tui.export import bash_words
from tests.export.scripts import script

RECIPE = catalog.load(only="custom").recipes["custom"]
TEXTS = st.text(st.sampled_from(list("ab'\"\\ \t\n$*`é中-=~")), max_size=14)


def config(preset="torchrun", **changes):
    return resolve(RECIPE, preset).with_values(changes, Source.SET)


@pytest.mark.slow
@settings(max_examples=25)
@given(st.lists(TEXTS, min_size=20, max_size=60))
@example(["'it' \"a\\\"b\" \\\\ \\' ''", "a\\", '"a\\b"', "'", '"\\', "*", "~ $HOME", "\\\n"])
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_words_are_split_as_shlex_does(tmp_path_factory, locale, texts):
    lines = ["set -euo pipefail", "fail() { exit 9; }", *bash_words.SPLIT]
    for text in texts:
        lines.append(
            f"(split V {shlex.quote(text)}; printf '%s\\1' ${{found[@]+\"${{found[@]}}\"}}; printf '\\2') || printf 'open\\2'"
        )
    path = tmp_path_factory.getbasetemp() / f"words-{locale}.sh"
    path.write_text("\n".join(lines), "utf-8")
    done = subprocess.run(["bash", str(path)], capture_output=True, env={"LC_ALL": locale, "PATH": "/usr/bin:/bin"})
    want = []
    for text in texts:
        try:
            words = shlex.split(text)
        except ValueError:
            want.append("open")
            continue
        want.append("".join(f"{word}\1" for word in words) or "\1")
    assert done.stdout.decode().split("\2")[:-1] == want, done.stderr.decode()


def test_a_script_starts_what_the_plan_says(bench):
    one = config(
        arguments="--name 'a b' '' --x $HOME `id`", environment={"A": "x y"}, launcher_arguments="--max_restarts 1"
    )
    outcome = bench.run(script(one))
    assert outcome.code == 0, outcome.err
    assert outcome.argv == list(plan.build(one).argv)
    assert outcome.env["A"] == "x y"


def test_every_part_can_be_overridden(bench):
    outcome = bench.run(
        script(config(arguments="--a 1")),
        PRL_ARGUMENTS="--b 'c d' \"$(touch canary)\"", PRL_ENVIRONMENT="A=1 'B=2 3'", PRL_MODULE="pkg.train", PRL_NPROC_PER_NODE="4",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    assert outcome.argv[-5:] == ["-m", "pkg.train", "--b", "c d", "$(touch canary)"]
    assert (outcome.env["A"], outcome.env["B"]) == ("1", "2 3")
    assert "--nproc_per_node=4" in outcome.argv


def test_accelerate_counts_the_processes_of_all_machines(bench):
    one = config("accelerate", nnodes=2, node_rank=1, master_addr="10.0.0.1", master_port=29500)
    outcome = bench.run(script(one))
    assert outcome.argv == list(plan.build(one).argv)
    assert outcome.argv[2:7] == [
        "--num_processes=4", "--num_machines=2", "--machine_rank=1", "--main_process_ip=10.0.0.1", "--main_process_port=29500",
    ]  # fmt: skip
    assert "--num_processes=6" in bench.run(script(one), PRL_NPROC_PER_NODE="3").argv


@pytest.mark.parametrize(
    ("env", "word"),
    [
        ({"PRL_ARGUMENTS": "'open"}, "PRL_ARGUMENTS has a quote that is left open"),
        ({"PRL_ENVIRONMENT": "1=2"}, "PRL_ENVIRONMENT needs NAME=VALUE entries; this is not one: 1=2"),
    ],
)
def test_what_cannot_be_read_is_refused(bench, env, word):
    outcome = bench.run(script(config()), **env)
    assert outcome.code == 1
    assert outcome.argv is None
    assert word in outcome.err


def test_a_named_variable_must_be_there(bench):
    one = config(environment="HF_TOKEN")
    refused = bench.run(script(one))
    assert refused.code == 1
    assert "PRL_ENVIRONMENT: this variable is needed and not set: HF_TOKEN" in refused.err
    assert bench.run(script(one), HF_TOKEN="s3cret").env["HF_TOKEN"] == "s3cret"
    assert "s3cret" not in bench.run(script(one), HF_TOKEN="s3cret").out


DPO = catalog.load(only="swift-dpo").recipes["swift-dpo"]
PATHS = ["/data/我 的/a.jsonl", "it's #1.jsonl", "AI-MO/NuminaMath-TIR#5000", 'say "x"', "back\\slash"]


def test_an_item_with_a_blank_stays_one_word_however_it_is_given(bench):
    one = resolve(DPO).with_values({"dataset": PATHS}, Source.SET)
    typed = one.text("dataset")
    assert typed.split(" ")[:2] == ["'/data/我", "的/a.jsonl'"]
    assert resolve(DPO).with_values({"dataset": typed}, Source.FORM).value("dataset") == tuple(PATHS)
    plain = resolve(DPO).with_values({"dataset": "b.jsonl"}, Source.SET)
    for outcome in (bench.run(script(one)), bench.run(script(plain), PRL_DATASET=typed)):
        assert outcome.code == 0, outcome.err
        at = outcome.argv.index("--dataset")
        assert outcome.argv[at + 1 : at + 1 + len(PATHS)] == PATHS


def test_an_open_quote_in_a_list_stops_the_script(bench):
    outcome = bench.run(script(resolve(DPO).with_values({"dataset": "b.jsonl"}, Source.SET)), PRL_DATASET="'/data/x y")
    assert (outcome.code, outcome.argv) == (1, None)
    assert "PRL_DATASET has a quote that is left open: '/data/x y" in outcome.err
