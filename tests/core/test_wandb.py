"""wandb in a job without a terminal (case E18).

Judge: wandb 0.31.0, asked without a key, a mode and a terminal: it raises `UsageError` at `wandb.init`; with WANDB_MODE=offline
it runs.
"""

from __future__ import annotations

import pytest

from prl_tui.core import checks
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.core.findings import Facts, Finding
from prl_tui.core.plan import build
from prl_tui.export import bash
from prl_tui.machine.facts import wandb_key
from tests.built_in import RECIPES

WITH_MODE = [name for name, recipe in RECIPES.items() if "WANDB_MODE" in recipe.by_key]


def config(name: str, **values: object) -> RunConfig:
    own = {"report_to": "wandb"} if "report_to" in RECIPES[name].by_key else {}
    return resolve(RECIPES[name], RECIPES[name].data.default_preset).with_values({**own, **values}, Source.SET)


def told(of: RunConfig, facts: Facts = Facts()) -> list[Finding]:  # noqa: B008
    return [one for one in checks.check(of, facts).findings if one.code.startswith("wandb-")]


@pytest.mark.parametrize("name", WITH_MODE)
def test_without_a_mode_the_job_gets_one_and_the_verdict_says_so(name: str) -> None:
    unset = config(name, WANDB_MODE=None)
    (found,) = told(unset)
    assert (found.severity, found.field) == ("warning", "WANDB_MODE")
    assert found.message == "WANDB_MODE is not set: the job gets WANDB_MODE=offline."
    assert dict(build(unset).env)["WANDB_MODE"] == "offline"
    assert "v_WANDB_MODE='offline'" in bash.export(build(unset)).text.replace("=offline", "='offline'")
    assert told(unset.with_values(found.fixes[0].changes, Source.FIX)) == []


@pytest.mark.parametrize("name", WITH_MODE)
def test_online_without_a_key_is_a_warning_with_a_way_out(name: str) -> None:
    online = config(name, WANDB_MODE="online")
    (found,) = told(online)
    assert found.message == "wandb online needs WANDB_API_KEY in the job's environment."
    assert told(online.with_values(found.fixes[0].changes, Source.FIX)) == []
    assert told(online, Facts(wandb_key=True)) == []
    assert dict(build(online).env)["WANDB_MODE"] == "online"


@pytest.mark.parametrize("values", [{}, {"WANDB_MODE": "disabled"}, {"report_to": "none", "WANDB_MODE": None}])
def test_a_mode_that_asks_nobody_and_curves_that_go_elsewhere_need_nothing(values: dict[str, object]) -> None:
    assert told(config("prl-grpo", **values)) == []


def test_curves_that_go_elsewhere_leave_the_mode_unset() -> None:
    assert "WANDB_MODE" not in dict(build(config("prl-grpo", report_to="none", WANDB_MODE=None)).env)


ARGUMENTS = "--report_to tensorboard wandb --max_steps 3"


@pytest.mark.parametrize(("environment", "asks"), [
    (None, True), ("A=1", True), ("WANDB_MODE=online", True), ("WANDB_MODE=", True),
    ("WANDB_MODE=offline", False), ("WANDB_API_KEY", False), ("WANDB_MODE=online WANDB_API_KEY", False), ("WANDB_MODE", False),
])  # fmt: skip
def test_a_command_of_one_s_own_with_wandb_among_its_arguments(environment: str | None, asks: bool) -> None:
    own = resolve(RECIPES["custom"], "torchrun").with_values(
        {"arguments": ARGUMENTS, "environment": environment}, Source.SET
    )
    found = told(own)
    assert [(one.severity, one.field) for one in found] == ([("warning", "environment")] if asks else [])
    for one in found:
        mended = own.with_values(one.fixes[0].changes, Source.FIX)
        assert told(mended) == []
        assert dict(build(mended).env)["WANDB_MODE"] == "offline"


def test_wandb_elsewhere_among_arguments_is_nothing() -> None:
    own = resolve(RECIPES["custom"], "torchrun").with_values({"arguments": "--report_to none --run wandb"}, Source.SET)
    assert told(own) == []


def test_a_key_is_seen_where_wandb_looks_for_it(tmp_path) -> None:
    place = tmp_path / "netrc"
    assert not wandb_key({"NETRC": str(place)})
    place.write_text("machine api.wandb.ai\n  login user\n  password not-a-real-key\n")
    place.chmod(0o600)
    assert wandb_key({"NETRC": str(place)})
    assert wandb_key({"NETRC": "/nowhere", "WANDB_API_KEY": "x"})
    place.write_bytes(b"\xff\xfe machine")
    assert not wandb_key({"NETRC": str(place)})
