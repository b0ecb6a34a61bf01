"""Answers in completions.jsonl: written by ms-swift 3.5.3 and 4.5.2 here; the shape of 3.3 is PRL's fork's (its v26 run)."""

import json
from pathlib import Path

from prl_tui.telemetry import completions

FIXTURES = Path(__file__).parents[1] / "fixtures" / "telemetry"


def test_answers_of_ms_swift_4_have_step_rewards_and_advantage():
    found = completions.read(FIXTURES / "swift452_completions.jsonl")
    assert len(found) == 16
    assert {one.step for one in found} == {1, 2}
    assert all(set(one.rewards) == {"Format"} and one.advantage is not None for one in found)
    assert "<|im_start|>user" in found[0].prompt
    assert found[0].text


def test_answers_of_ms_swift_3_5_have_rewards_and_no_advantage():
    found = completions.read(FIXTURES / "swift353_completions.jsonl")
    assert {one.step for one in found} == {1, 2}
    assert all(one.rewards and one.advantage is None for one in found)


def test_answers_of_prl_s_fork_have_messages_and_one_reward():
    row = {
        "step": ["1", "1"],
        "messages": [[{"role": "user", "content": "hi"}]] * 2,
        "completion": ["a", "b"],
        "reward": [2.5, 0],
    }
    first, second = completions.of_line(json.dumps(row).encode())
    assert (first.step, first.prompt, first.text, dict(first.rewards)) == (1, "user: hi", "a", {"reward": 2.5})
    assert dict(second.rewards) == {"reward": 0.0}


def test_columns_of_other_kinds_are_kept_apart_from_rewards():
    row = {
        "gen_step": [3],
        "prompt": ["p"],
        "completion": ["c"],
        "F": [1],
        "solution": ["9"],
        "num_turns": [2],
        "advantages": [0.5],
    }
    (one,) = completions.of_line(json.dumps(row).encode())
    assert (one.step, dict(one.rewards), one.advantage) == (3, {"F": 1.0}, 0.5)
    assert dict(one.extra) == {"solution": "9", "num_turns": 2}


def test_what_is_no_report_is_skipped(tmp_path):
    file = tmp_path / "completions.jsonl"
    good = {"step": ["1"], "prompt": ["p"], "completion": ["c"]}
    file.write_text("\n".join(['{"step": ["1"', "[]", '{"completion": "x"}', "nonsense", json.dumps(good), ""]))
    assert [one.text for one in completions.read(file)] == ["c"]
    assert completions.read(file, 0) == []


def test_a_short_column_gives_nothing_for_the_missing_rows():
    (one, other) = completions.of_line(b'{"completion": ["a", "b"], "F": [1.0], "step": []}')
    assert (one.step, dict(one.rewards), dict(other.rewards)) == (None, {"F": 1.0}, {})


def test_numbers_beyond_belief_are_none():
    """The judge is Python: a float ends at 1e308, `int()` refuses more than 4,300 digits."""
    huge = 10**400
    line = {"step": ["9" * 5000], "completion": ["a"], "reward": [huge], "advantages": [huge], "Format": [0.5]}
    [one] = completions.of_line(json.dumps(line).encode())
    assert (one.step, one.advantage, one.rewards["Format"]) == (None, None, 0.5)
    assert "reward" not in one.rewards
