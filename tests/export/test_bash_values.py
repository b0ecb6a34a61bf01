"""Decimals and JSON of an exported script against Python's own decimal and json; the script needs no other program."""

from __future__ import annotations

import json
import shutil
import subprocess
from decimal import Context, Decimal
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from prl_tui.core.config import Source, resolve
from prl_tui.export import bash_values
from tests.built_in import RECIPES
from tests.export.scripts import Bench, script

BASH = shutil.which("bash") or "bash"
HEAD = ["set -euo pipefail", "fail() { printf 'refused\\n'; exit 1; }"]


def run(lines: list[str], *words: str, locale: str = "C.UTF-8") -> subprocess.CompletedProcess[bytes]:
    """A script in a bash that finds no program at all."""
    text = "\n".join([*HEAD, *lines])
    return subprocess.run(
        [BASH, "-c", text, "bash", *words], capture_output=True, env={"PATH": "/nowhere", "LC_ALL": locale}
    )


DIGITS = st.text("0123456789", max_size=12)
NUMBER = st.builds(
    lambda minus, whole, part, power: f"{minus}{whole}{part}{power}",
    st.sampled_from(["", "-"]),
    st.integers(0, 10**20).map(str),
    st.one_of(st.just(""), DIGITS.map(lambda digits: f".{digits}")),
    st.one_of(
        st.just(""), st.builds("{}{}".format, st.sampled_from(["e", "E+", "e-", "e0", "e-00"]), st.integers(0, 400))
    ),
)
EXACT = Context(prec=900, Emax=10**9, Emin=-(10**9))


@given(st.lists(st.tuples(NUMBER, NUMBER), min_size=1, max_size=25))
@example(
    [("0.10", "0.1"), ("1e2", "100"), ("-0", "0"), ("-1", "-1.0"), ("0.01", "1e-2"), ("-2", "-1"), ("0", "1e-300")]
)
@settings(max_examples=30)
def test_decimals_are_compared_as_numbers_are(pairs: list[tuple[str, str]]) -> None:
    lines = bash_values.decimal("no: ")
    lines += ['while (( $# )); do if less "$1" "$2"; then echo yes; else echo no; fi; shift 2; done']
    done = run(lines, *(number for pair in pairs for number in pair))
    assert done.stderr == b""
    expected = [EXACT.compare(Decimal(one), Decimal(other)) < 0 for one, other in pairs]
    assert [word == b"yes" for word in done.stdout.split()] == expected


def is_json(text: str) -> bool:
    def refuse(name: str) -> None:
        raise ValueError(name)

    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:
        return False
    return True


def accepted(text: str, locale: str = "C.UTF-8") -> bool:
    done = run([*bash_values.json("no: "), 'json VARIABLE "$1"'], text, locale=locale)
    assert done.stderr == b""
    return done.returncode == 0


TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(TREES)
@settings(max_examples=40)
def test_what_is_json_is_taken(tree: object) -> None:
    assert accepted(json.dumps(tree))


@pytest.mark.parametrize("char", ["\x7f", "\x85", "\u2028", "\u2029", "\ufeff", "\xa0", "中", "👩\u200d🚀"])
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_json_has_any_character_but_the_controls_below_a_blank(char: str, locale: str) -> None:
    text = json.dumps({"a": f"x{char}y"}, ensure_ascii=False)
    assert is_json(text)
    assert accepted(text, locale)


@pytest.mark.parametrize(
    "text",
    ["", " ", "{", '{"a":}', "{,}", "[1,]", "[1 2]", "01", "tru", '{"a":1,}', '"\\u12"', '"a\tb"', '{"a":1}}', "{a:1}",
     "{'a':1}", "-", "1.", ".5", '"\\q"', '{"a" 1}', '["a":1]', "NaN", "s", "v", "[s]", "sv", "a[$(touch canary)]"],
)  # fmt: skip
def test_what_is_no_json_is_refused(text: str) -> None:
    assert not is_json(text)
    assert not accepted(text)


def test_a_node_without_awk_and_grep_runs_the_script(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    for name in ("bash", "env", "cat"):
        (bench.bin / name).symlink_to(shutil.which(name) or name)
    (bench.bin / "nvidia-smi").write_text("#!/bin/sh\nprintf 'GPU 0: x\\n  MIG 1\\nGPU 1: x\\n'\n")
    (bench.bin / "nvidia-smi").chmod(0o755)
    text = script(resolve(RECIPES["prl-grpo"], "standard-2gpu").with_values({"cuda_visible_devices": None}, Source.SET))
    outcome = bench.run(text, PATH=str(bench.bin), PRL_LEARNING_RATE="2.5e-6")
    assert (outcome.err, outcome.code) == ("", 0)
    assert outcome.argv is not None
    refused = bench.run(text, PATH=str(bench.bin), PRL_NPROC_PER_NODE="3")
    assert "processes 3, visible 2." in refused.err


@pytest.mark.parametrize(
    ("variable", "near"),
    [
        ("PRL_PER_DEVICE_BATCH", "PRL_PER_DEVICE_TRAIN_BATCH_SIZE"),
        ("PRL_BATCH_SIZE", "PRL_PER_DEVICE_TRAIN_BATCH_SIZE"),
        ("PRL_EVAL_BATCH_SIZE", "PRL_PER_DEVICE_EVAL_BATCH_SIZE"),
        ("PRL_NUM_GENRATIONS", "PRL_NUM_GENERATIONS"),
        ("PRL_SAVE_STEP", "PRL_SAVE_STEPS"),
        ("PRL_LR", ""),
        ("PRL_ZZZ", ""),
    ],
)
def test_a_variable_that_nothing_reads_is_named_with_the_nearest_that_something_does(
    bench: Bench, variable: str, near: str
) -> None:
    text = script(resolve(RECIPES["prl-grpo"], "standard-2gpu"))
    told = bench.run(text, **{variable: "2"}).err.splitlines()[0]
    assert told == f"warning: nothing reads this variable: {variable}" + (
        f"; the nearest name is {near}" if near else ""
    )
