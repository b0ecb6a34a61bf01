"""The example that a script's head gives is one that this very script takes. Judges: bash 5.2 and dash 0.5.12 with a
recording launcher, and the plan that the core makes of the overridden config.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from prl_tui.core import checks, plan
from prl_tui.core.config import RunConfig, Source, from_environment, resolve
from prl_tui.export import supervised
from prl_tui.export.formats import FORMATS
from tests.built_in import RECIPES
from tests.export import platforms
from tests.export.scripts import Bench, Outcome
from tests.export.test_slurm import JOB, SRUN

PRESETS = [pytest.param(r.name, name, id=f"{r.name}-{name}") for r in RECIPES.values() for name in ("", *r.presets)]
SCRIPTS = ["bash", "slurm", *(pytest.param(name, marks=pytest.mark.slow) for name in platforms.NAMES)]
NAMED = re.compile(r"for example ([A-Z][A-Z0-9_]*=[\w.,=+/-]+)")


def startable(recipe: str, preset: str, folder: Path) -> RunConfig:
    """The preset with nothing that only its author's box has: no environment, no folder, and its patterns find a file."""
    config = resolve(RECIPES[recipe], preset)
    changes: dict[str, object] = {key: None for key in ("training_env", "workdir") if key in config.settings}
    for field in config.recipe.fields:
        if field.glob:
            path = folder / f"{field.key}.csv"
            path.touch()
            changes[field.key] = str(path)
    changed = config.with_values(changes, Source.SET)
    if any(finding.severity == "error" for finding in checks.check(changed).findings):
        pytest.skip("a draft: its script stops for what is missing")
    return changed


def examples(text: str) -> set[str]:
    return set(NAMED.findall(text))


def run(bench: Bench, name: str, config: RunConfig, cwd: Path, shell: str = "bash", **env: str) -> Outcome:
    made = plan.build(config)
    text = FORMATS[name](made).text
    cards = config.number("nproc_per_node") or 1
    if name == "bash":
        outcome = bench.run(text, cwd, shell, **env)
    elif name == "slurm":
        (bench.bin / "srun").write_text(SRUN)
        (bench.bin / "srun").chmod(0o755)
        gpus = ",".join(map(str, range(max(cards, len(config.text("cuda_visible_devices").split(","))))))
        nodes = str(config.number("nnodes") or 1)
        outcome = bench.run(
            text, cwd, shell, **JOB | {"CUDA_VISIBLE_DEVICES": gpus, "SLURM_JOB_NUM_NODES": nodes} | env
        )
    else:
        around = {**platforms.given(name, 1, 0, cards, 64), **env}
        outcome = bench.run_words(platforms.started(name, text, around), cwd, HOME=str(bench.bin), **around)
    kept = [line for line in outcome.err.splitlines(keepends=True) if line.startswith("error")]
    return replace(outcome, err="".join(kept))


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize(("recipe", "preset"), PRESETS)
def test_the_script_starts_its_engine_with_the_value_of_its_own_example(
    recipe: str, preset: str, name: str, bench: Bench, tmp_path: Path
) -> None:
    config = startable(recipe, preset, tmp_path)
    made = plan.build(config)
    if FORMATS[name].refused(made):
        pytest.skip("this format has no script for it")
    found = examples(FORMATS[name](made).text)
    assert len(found) == 1 or (recipe == "safe-mm-dpo" and not found)  # its file has nearly everything
    for example in found:
        [word] = shlex.split(example)
        variable, _, value = word.partition("=")
        for shell in ("bash", "dash") if name == "bash" else ("bash",):
            outcome = run(bench, name, config, tmp_path, shell, **{variable: value})
            assert (outcome.err, outcome.code) == ("", 0)
            new = reached(outcome, variable) - reached(run(bench, name, config, tmp_path, shell), variable)
            assert any(one.endswith(value) for one in new), new


def reached(outcome: Outcome, variable: str) -> set[str]:
    """The words and variables that the engine got, but the overriding variable itself; each word with the one before it."""
    assert outcome.argv is not None
    words = [f"{one} {two}" for one, two in zip(outcome.argv, outcome.argv[1:], strict=False)]
    return {*words, *(f"{key}={value}" for key, value in outcome.env.items() if key not in {variable, "_"})}


@pytest.mark.parametrize(("recipe", "preset"), PRESETS)
def test_a_supervised_script_names_one_that_prl_tui_itself_takes(recipe: str, preset: str, tmp_path: Path) -> None:
    config = startable(recipe, preset, tmp_path)
    [example] = examples(supervised.FORMAT(plan.build(config)).text)
    [word] = shlex.split(example)
    variable, _, value = word.partition("=")
    changed = from_environment(config, {variable: value})
    assert checks.broken(changed) <= checks.broken(config)
    assert (plan.build(changed).argv, plan.build(changed).env) != (plan.build(config).argv, plan.build(config).env)


REFUSED = re.compile(r"^# Not these, for which it refuses another value than its own:\n((?:#   .*\n)+)", re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
def test_exactly_the_values_that_a_script_refuses_to_change_are_named(
    recipe: str, bench: Bench, tmp_path: Path
) -> None:
    config = startable(recipe, RECIPES[recipe].data.default_preset or "", tmp_path)
    text = FORMATS["bash"](plan.build(config)).text
    found = REFUSED.search(text)
    named = set(found[1].replace("#", " ").split()) if found else set()
    for field in config.recipe.fields:
        code = bench.run(text, tmp_path, **{field.override: "no such value"})
        told = f"{field.override} cannot be changed here", f"{field.override} has no effect"
        assert (field.override in named) == any(one in code.err for one in told), field.override
