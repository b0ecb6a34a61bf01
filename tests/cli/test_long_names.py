"""Names that no file can have, in every field that names one: a verdict or one sentence, never a fault."""

from __future__ import annotations

import pytest

LONG = "a" * 5000
"""Linux takes 255 bytes in a name and 4,096 in a path."""


@pytest.mark.parametrize(
    "words",
    [
        ("check", "prl-grpo", "--set", f"dataset={LONG}"),
        ("check", "prl-grpo", "--set", f"workdir={LONG}"),
        ("check", "prl-grpo", "--here", "--set", f"training_env={LONG}"),
        ("check", "prl-grpo", "--here", "--set", f"training_env=conda:{LONG}", "--set", f"conda_hook={LONG}"),
        ("check", "minionerec-sft", "--set", f"train_file={LONG}*"),
        ("check", "minionerec-rl", "--here", "--set", f"config_file={LONG}"),
        ("check", "vlm-sft", "--here", "--set", f"config={LONG}"),
        ("check", "prl-grpo", "--set", f"cuda_visible_devices={'1' * 5000}"),
        ("check", LONG),
        ("export", "prl-grpo", "--format", "bash", "--set", f"dataset={LONG}"),
        ("launch", "prl-grpo", "--dry-run", "--set", f"workdir={LONG}"),
        ("doctor", "--env", LONG),
    ],
)
def test_a_name_that_is_too_long_is_no_fault(cli, words: tuple[str, ...]) -> None:
    done = cli(*words)
    assert done.code in {0, 1, 2}
    assert "unexpected" not in done.err
