"""What is said of a launch's port, judged by the job that a launch makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from prl_tui.core import launch_port, plan
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.runs import plans
from tests.built_in import RECIPES


def config_of(recipe: str, preset: str = "", **values: object) -> RunConfig:
    return resolve(RECIPES[recipe], preset or next(iter(RECIPES[recipe].presets))).with_values(values, Source.FORM)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (config_of("demo", "two-ranks"), "Launched here: --master_port=PORT, a free one, not --standalone"),
        (config_of("prl-grpo", "standard-4gpu"), "Launched here: --master_port=PORT, a free one, not 29500"),
        (
            config_of("minionerec-rl", "eight-gpu", train_file="a.csv", eval_file="a.csv", info_file="a.csv"),
            "Launched here: --main_process_port=PORT, a free one, not 29503",
        ),
        (config_of("demo", "two-ranks", master_port=30000), ""),
        (config_of("custom", launcher="python"), ""),
    ],
)
def test_what_is_said_of_the_port_is_what_a_launch_runs(tmp_path: Path, config: RunConfig, said: str) -> None:
    """The preview showed `--standalone`, and what ran had `--master_port`."""
    planned = plan.build(config)
    words = launch_port.words(planned)
    assert words == said
    (tmp_path / "a.csv").touch()
    job = plans.job(planned, tmp_path, {"PATH": "/bin"})
    new = [str(word) for word in job.argv if word not in planned.argv and f"={job.port}" in str(word)]
    assert [word.replace(str(job.port), "PORT") for word in new] == [
        one for one in words.replace(",", "").split() if "=PORT" in one
    ]
