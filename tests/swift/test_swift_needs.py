"""What swift recipes' `needs` say, against the real ms-swift 4.6.0: its own parser refuses what is refused here."""

from __future__ import annotations

from pathlib import Path

import pytest

from prl_tui.core import trial as trials
from prl_tui.core.config import Source, resolve
from prl_tui.core.plan import build
from prl_tui.runs import trial
from tests.built_in import RECIPES
from tests.swift.swift_runs import Bench

TAKEN = {"vllm_mode": "server", "vllm_server_host": "10.0.0.2", "vllm_server_port": 8001}


@pytest.mark.parametrize(("name", "values", "said"), [
    ("swift-sft", {"packing": True}, 'The "packing" feature requires a flash attention implementation.'),
    ("swift-grpo", {"vllm_mode": "server"}, "AssertionError"),
    ("swift-grpo", TAKEN, ""),
])  # fmt: skip
def test_the_real_parser_refuses_what_a_need_names(
    bench: Bench, name: str, values: dict[str, object], said: str
) -> None:
    """The server of the last one is not there: the probe reads the command and calls nobody."""
    given = dict(word.split("=", 1) for word in bench.options(name) if "=" in word)
    config = resolve(RECIPES[name], "").with_values(given, Source.SET)
    if name == "swift-grpo":
        given_vllm = {"use_vllm": True}
        config = config.with_values(given_vllm, Source.SET)
    config = config.with_values({**values, "training_env": str(bench.python)}, Source.SET)
    done = trial.run(build(config), Path(bench.here))
    refusals = [one.message for one in trials.findings(config, done) if one.code == "probe-arguments"]
    if said:
        assert any(said in message for message in refusals) or any(said in step.kind for step in done.steps)
    else:
        assert refusals == []
        assert done.end == "done"
