"""The mode for wandb that a script fills in. Judged by real bash with a stub engine, and by the plan of the same values."""

from __future__ import annotations

import pytest

from prl_tui.core.config import RunConfig, Source, from_environment, resolve
from prl_tui.core.plan import build
from prl_tui.export.formats import FORMATS
from tests.built_in import RECIPES
from tests.export.scripts import Bench, script

BOTH = [name for name, one in RECIPES.items() if {"WANDB_MODE", "report_to"} <= one.by_key.keys()]


def without_a_mode(name: str, report_to: str | None = "tensorboard") -> RunConfig:
    config = resolve(RECIPES[name], RECIPES[name].data.default_preset)
    more = {"dataset": "a/b"} if "dataset" in config.settings and config.value("dataset") is None else {}
    return config.with_values({"WANDB_MODE": None, "report_to": report_to, **more}, Source.SET)


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("report_to", ["tensorboard", None])
def test_curves_that_a_variable_sends_to_wandb_ask_nobody(bench: Bench, name: str, report_to: str | None) -> None:
    config = without_a_mode(name, report_to)
    env = {RECIPES[name].by_key["report_to"].override: "wandb"}
    outcome = bench.run_config(config, **env)
    assert outcome.argv is not None, outcome.err
    assert outcome.env["WANDB_MODE"] == dict(build(from_environment(config, env)).env)["WANDB_MODE"] == "offline"
    assert "\nWANDB_MODE is not set: the job gets WANDB_MODE=offline.\n" in outcome.out
    assert outcome.err == ""


@pytest.mark.parametrize("name", BOTH)
def test_a_mode_that_somebody_gave_stays(bench: Bench, name: str) -> None:
    config, target = without_a_mode(name), RECIPES[name].by_key["report_to"].override
    for variable in {"WANDB_MODE", RECIPES[name].by_key["WANDB_MODE"].override}:
        outcome = bench.run_config(config, **{target: "wandb", variable: "online"})
        assert outcome.env["WANDB_MODE"] == "online"
        assert "the job gets" not in outcome.out
        assert outcome.err == ""


@pytest.mark.parametrize("env", [{}, {"PRL_REPORT_TO": "none"}])
def test_curves_that_go_elsewhere_need_no_mode(bench: Bench, env: dict[str, str]) -> None:
    outcome = bench.run_config(without_a_mode("swift-sft"), **env)
    assert outcome.argv is not None
    assert "WANDB_MODE" not in outcome.env


def test_a_mode_of_the_file_needs_no_other(bench: Bench) -> None:
    config = without_a_mode("swift-sft").with_values({"WANDB_MODE": "online"}, Source.SET)
    assert "the job gets" not in script(config)
    assert bench.run_config(config, PRL_REPORT_TO="wandb").env["WANDB_MODE"] == "online"


@pytest.mark.parametrize("name", ["slurm", "dlc"])
def test_the_platforms_have_it_too(name: str) -> None:
    assert "the job gets WANDB_MODE=offline" in FORMATS[name](build(without_a_mode("swift-sft"))).text
