"""Judge: PyYAML 6.0's safe_load. What is read is what it reads; what is not read is said."""

from __future__ import annotations

import contextlib

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from prl_tui.core import flat_yaml, scalars

REAL = """# 模型配置
model:
  vision_model_type: "clip"
  language_model_type: "qwen3"  # 0.5B, 0.6B
  image_token_ids: null
  projection_dropout: 0.1

# 训练配置
training:
  stage: "sft"
  batch_size: 36
  learning_rate: 1e-5
  accumulation_steps: 4
  save_dir: ./checkpoints/sft
  use_ddp: false
  eval_every_n_steps:
λ_init: 1.0
β_ori: 0.1
lora:
  r: 16
  target_modules: [q_proj, k_proj]
"""
"""The layout of the files of AnyLLM-to-VLM and mmdpo-alignment."""


def flat(table, place=()):
    found = {}
    for key, value in table.items():
        if isinstance(value, dict):
            found |= flat(value, (*place, key))
        else:
            found[(*place, key)] = value
    return found


def same(ours, theirs):
    return ours == theirs and type(ours) is type(theirs)


def agrees(text):
    """Everything read is what PyYAML reads; everything that it reads and we do not is named."""
    read = flat_yaml.read(text)
    theirs = None
    with contextlib.suppress(yaml.YAMLError, ValueError):
        theirs = yaml.safe_load(text)
    if not isinstance(theirs, dict):
        assert theirs is None or read.rest_from is not None, (text, read)
        return read
    known = flat(theirs)
    for path, value in read.values.items():
        assert path in known, (text, path, read)
        assert same(value, known[path]), (text, path, value, known[path])
    for path in known.keys() - read.values.keys():
        assert read.is_unread(tuple(map(str, path))), (text, path, read)
    return read


def test_a_trainers_config_is_read():
    read = agrees(REAL)
    assert read.values["training", "accumulation_steps"] == 4
    assert read.values["λ_init",] == 1.0
    assert read.values["training", "learning_rate"] == "1e-5"
    assert read.unread == ("lora.target_modules",)
    assert read.rest_from is None


@pytest.mark.parametrize(
    "text",
    ["a:\n- 1\n- 2\nb: 3\n", "a:\n  - x\nb: 1\n", "a: |\n  b: 2\n  c\nd: 1\n", "a: >-\n  x: 1\nb: 2\n", "a: 1\n  b\nc: 2\n",
     "a: &x 1\nb: *x\n", "a: &x {b: 1}\nc:\n  <<: *x\n  d: 2\n", "a: {b: 1}\nc: 1\n", "a: [1,\nb: 2]\n", "a: 'it''s' # c\n",
     "a: \"x\\ty\"\n", "a: \"x\n  b: 1\"\nc: 2\n", "a: 010\nb: 0x1F\nc: 1_000\nd: 1:30\ne: 2026-01-01\nf: .5\ng: .inf\n",
     "a: yes\nb: No\nc: y\nd: ~\ne: NULL\n", "---\na: 1\n---\nb: 2\n", "a: b: c\n", "a: 1\na:\n  b: 2\n", "a:\n  b: 1\na: 2\n",
     "a:\n   b: 1\n  c: 2\n", "  a: 1\n  b: 2\n", "\ta: 1\n", "a:\t1\n", "a: x\ty\n", "yes: 1\n", "1: 2\n", "? a\n: b\n", "- 1\n",
     "a: 1 #c\nb: x#y\n", "a: !!str 1\n", "a: @x\n", "a: `x`\n", "a: -\n", "a: - 1\n", "a: 5.e+1\nb: 5.0e7\nc: 1e5\nd: +1\n",
     "a: '\n'\n", "a:1\n", "a: \x85\n", "a: x\u2028b: 1\n", "a: 1\n...\n", "a: 1\nb\n", "%YAML 1.1\n---\na: 1\n", "a: \"\\ud83d\"\n",
     "a:\n\n  # c\n  b: 1\n", "\"a b\": 1\n'c': 2\n", "a: \"\"\nb: ''\n", "a: x: \n", "a: 'x' y\n", "\ufeffa: 1\n", "a: 1\r\nb: 2\r\n",
     "a:\n  b:\n    c: 1\n  d: 2\ne: 3\n", "a: #c\n  b: 1\n", "a: [1, 2] # c\n", "a: ,x\n", "a: =\n", "a: <<\n"],
)  # fmt: skip
def test_odd_files_are_never_misread(text):
    agrees(text)


LINES = st.lists(
    st.tuples(
        st.sampled_from(["", "  ", "    ", " "]),
        st.sampled_from(["a", "b", "λ_init", "num_processes", "'q'", '"d"', "no", "- a"]),
        st.sampled_from([":", ": ", " : ", ""]),
        st.sampled_from(["", "1", "x", "'it''s'", '"a\\nb"', "[1]", "{a: 1}", "|", "1e-5", "0.5", "no", "~", "x # c", "&a 1", "*a", "'"]),
    ),
    max_size=7,
)  # fmt: skip


@given(LINES)
def test_files_of_such_lines_are_never_misread(lines):
    agrees("".join(f"{''.join(parts)}\n" for parts in lines))


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8),
                       st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=4))  # fmt: skip
@example({"a": "中文: # x"})
def test_what_this_tool_writes_is_never_misread(table):
    agrees("".join(f"{scalars.key(key)}: {scalars.text(value)}\n" for key, value in table.items()))


def test_json_is_read_whole():
    read = flat_yaml.read_json('{"a": {"b": 1, "c": [1]}, "d": "auto"}')
    assert read.values == {("a", "b"): 1, ("d",): "auto"}
    assert read.unread == ("a.c",)


def test_a_key_below_a_scalar_is_no_yaml() -> None:
    """PyYAML 6.0: ScannerError, mapping values are not allowed here."""
    text = "training:\n  batch_size: 22\n    accumulation_steps: 2\n"
    with pytest.raises(yaml.YAMLError):
        yaml.safe_load(text)
    read = flat_yaml.read(text)
    assert (read.values, read.rest_from) == ({}, 3)
