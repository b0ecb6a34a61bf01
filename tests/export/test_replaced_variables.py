"""A variable of the shell that a script sets itself is not replaced in silence. Judge: bash, and what the launcher got."""

from __future__ import annotations

import pytest

from prl_tui.core import catalog, plan
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.export.formats import FORMATS
from tests.export.scripts import Bench

CATALOG = catalog.load()
OWN, OVER = "CUDA_VISIBLE_DEVICES", "PRL_CUDA_VISIBLE_DEVICES"


def config(recipe: str, preset: str, **changes: object) -> RunConfig:
    return resolve(CATALOG.recipes[recipe], preset).with_values(changes, Source.SET)


STANDARD = config("prl-grpo", "standard-4gpu")


@pytest.mark.parametrize("given", ["4,5,6,7", "0,1,2", "", "4\n5", "GPU-1", "$(id)", "[red]"])
def test_another_list_of_gpus_is_told_in_one_line(bench: Bench, given: str) -> None:
    done = bench.run_config(STANDARD, CUDA_VISIBLE_DEVICES=given)
    [line] = done.err.splitlines()
    assert f"warning: {OWN}={given}".encode("unicode_escape").decode() in line
    assert "sets 0,1,2,3" in line
    assert OVER in line
    assert (done.code, done.env[OWN]) == (0, "0,1,2,3")


@pytest.mark.parametrize("env", [{}, {OWN: "0,1,2,3"}, {OWN: "4,5,6,7", OVER: "4,5,6,7"}])
def test_the_same_list_is_not_told(bench: Bench, env: dict[str, str]) -> None:
    done = bench.run_config(STANDARD, **env)
    assert (done.err, done.env[OWN]) == ("", env.get(OVER, "0,1,2,3"))


def test_a_list_that_the_script_leaves_alone_is_not_told(bench: Bench) -> None:
    done = bench.run_config(
        config("prl-grpo", "standard-4gpu", cuda_visible_devices=None), CUDA_VISIBLE_DEVICES="4,5,6,7"
    )
    assert (done.code, done.err, done.env[OWN]) == (0, "", "4,5,6,7")


def test_the_launchers_own_variables_are_told_too(bench: Bench) -> None:
    done = bench.run_config(config("swift-grpo", CATALOG.recipes["swift-grpo"].data.default_preset, launcher="swift"),
                            NPROC_PER_NODE="7", WANDB_MODE="offline")  # fmt: skip
    [line] = done.err.splitlines()
    assert "NPROC_PER_NODE=7" in line
    assert "PRL_NPROC_PER_NODE" in line
    assert done.env["WANDB_MODE"] == "offline"  # its bare name overrides: nothing is replaced


@pytest.mark.parametrize("name", ["slurm", "dlc", "trainjob", "pytorchjob", "skypilot", "dstack"])
def test_where_the_platforms_gpus_are_kept_nothing_is_said(name: str) -> None:
    text = FORMATS[name](plan.build(STANDARD)).text
    assert f'{OVER}="$CUDA_VISIBLE_DEVICES"' in text.replace("''", "")
    assert "replaced" not in text
