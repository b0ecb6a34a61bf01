"""The exported bash script against a recording launcher: what it starts, what it refuses, what it says."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from prl_tui import i18n
from prl_tui.core import plan
from prl_tui.core.config import RunConfig, Source, resolve
from tests.built_in import RECIPES
from tests.export.scripts import Bench, recipe, script, stub, text_field

PRL = RECIPES["prl-grpo"]
PRESETS = [pytest.param(r, name, id=f"{r.name}-{name}") for r in RECIPES.values() for name in ("", *r.presets)]
CASES = Path(__file__).parent.parent / "fixtures" / "cases"


def config(preset: str = "standard-4gpu", **changes: object) -> RunConfig:
    return resolve(PRL, preset).with_values(changes, Source.SET)


@pytest.fixture(scope="module")
def standard() -> str:
    return script(config())


def refused(outcome: object, *names: str) -> None:
    """Exit 1, one line that names the variable, nothing started."""
    assert outcome.argv is None  # type: ignore[attr-defined]
    assert outcome.code == 1  # type: ignore[attr-defined]
    lines = outcome.err.splitlines()  # type: ignore[attr-defined]
    assert len(lines) == 1, lines
    assert lines[0].startswith("error: ")
    assert any(name in lines[0] for name in names), lines


def found_by(command: list[str], one: object, name: str, language: str, folder: Path) -> str:
    i18n.set_language(language)
    path = folder / "run.sh"
    path.write_text(script(resolve(one, name)), "utf-8")  # type: ignore[arg-type]
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    done = subprocess.run([*command, str(path)], capture_output=True, text=True, timeout=60, env=environment)
    return f"{done.returncode}{done.stdout}{done.stderr}"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(("one", "name"), PRESETS)
def test_bash_finds_nothing(one: object, name: str, language: str, tmp_path: Path) -> None:
    assert found_by(["bash", "-n"], one, name, language, tmp_path) == "0"


def shellcheck() -> str:
    return shutil.which("shellcheck") or pytest.skip("shellcheck is part of the test extra")


@pytest.mark.slow
@pytest.mark.parametrize("one", RECIPES.values(), ids=lambda one: one.name)
def test_shellcheck_finds_nothing(one: object, tmp_path: Path) -> None:
    assert found_by([shellcheck()], one, one.data.default_preset, "en", tmp_path) == "0"  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(("one", "name"), PRESETS)
def test_shellcheck_finds_nothing_in_any_preset(one: object, name: str, language: str, tmp_path: Path) -> None:
    assert found_by([shellcheck()], one, name, language, tmp_path) == "0"


@pytest.mark.parametrize(("one", "name"), [p for p in PRESETS if not any(field.glob for field in p.values[0].fields)])
def test_the_launcher_gets_the_plans_words_and_variables(one: object, name: str, bench: Bench) -> None:
    made = plan.build(resolve(one, name))  # type: ignore[arg-type]
    outcome = bench.run_config(resolve(one, name))  # type: ignore[arg-type]
    if outcome.code == 1 and not name:
        pytest.skip("the bare defaults are not a right config")
    assert outcome.err == ""
    assert outcome.argv == list(made.argv)
    for key, value in made.env:
        assert outcome.env[key] == value
    extra = set(outcome.env) - dict(made.env).keys() - {"PATH", "LC_ALL", "PWD", "SHLVL", "_", "OLDPWD"}
    assert extra == set()


def test_several_nodes_reach_the_launcher(bench: Bench) -> None:
    several = config(nnodes=2, node_rank=1, master_addr="10.0.0.1")
    assert bench.run_config(several).argv == list(plan.build(several).argv)
    swift = config("single-gpu", nnodes=2, node_rank=1, master_port=29501)
    outcome = bench.run_config(swift)
    assert outcome.env.items() >= dict(plan.build(swift).env).items()


def test_overriding_the_number_of_nodes_changes_the_command_as_the_plan_would(standard: str, bench: Bench) -> None:
    outcome = bench.run(standard, PRL_NNODES="2", PRL_NODE_RANK="1")
    assert outcome.argv == list(plan.build(config(nnodes=2, node_rank=1)).argv)
    assert outcome.argv[2:5] == ["--nnodes=2", "--node_rank=1", "--master_addr=127.0.0.1"]


HOSTILE = ["0", "1", "-2", "2abc", "08", "007", "2+2", "4.0", "1_000", "a[$(touch canary)]", "$(touch canary)", "`touch canary`",
           "４", "٤", " 2", "2 ", "2\n3", "0x2", "1e1", "9" * 20, "; touch canary", "v_seed", "-"]  # fmt: skip


@pytest.mark.parametrize("value", HOSTILE)
def test_a_number_of_generations_that_is_not_a_plain_one_is_refused(value: str, standard: str, bench: Bench) -> None:
    refused(bench.run(standard, cwd=bench.bin, PRL_NUM_GENERATIONS=value), "PRL_NUM_GENERATIONS")
    assert not (bench.bin / "canary").exists()


@pytest.mark.parametrize(
    "env",
    [
        {"PRL_NPROC_PER_NODE": "8"},
        {"PRL_NUM_GENERATIONS": "8", "PRL_PER_DEVICE_EVAL_BATCH_SIZE": "1"},
        {"PRL_NUM_INFER_WORKERS": "5"},
        {"PRL_CUDA_VISIBLE_DEVICES": "0,1,1,2"},
        {"PRL_CUDA_VISIBLE_DEVICES": "0-3"},
        {"PRL_CUDA_VISIBLE_DEVICES": "0,1,2,x"},
        {"PRL_CUDA_VISIBLE_DEVICES": "1 2,3,4,5"},
        {"PRL_CUDA_VISIBLE_DEVICES": "0,1,2,3\n4"},
        {"PRL_CUDA_VISIBLE_DEVICES": "-1"},
        {"PRL_CUDA_VISIBLE_DEVICES": "GPU-a,GPU-b,GPU-c,3"},
        {"PRL_CUDA_VISIBLE_DEVICES": "0,GPU-b,GPU-c,GPU-d"},
        {"PRL_VLLM_GPU_MEMORY_UTILIZATION": "1.5"},
        {"PRL_VLLM_GPU_MEMORY_UTILIZATION": "0"},
        {"PRL_VLLM_GPU_MEMORY_UTILIZATION": "0.4;1"},
        {"PRL_LEARNING_RATE": "1e400"},
        {"PRL_LEARNING_RATE": "nan"},
        {"PRL_LEARNING_RATE": "1.0000001"},
        {"PRL_LEARNING_RATE": "-1e-9"},
        {"PRL_GRADIENT_CHECKPOINTING_KWARGS": "{use_reentrant: false}"},
        {"PRL_GRADIENT_CHECKPOINTING_KWARGS": '{"a": 1,}'},
        {"PRL_GRADIENT_CHECKPOINTING_KWARGS": "a[$(touch canary)]"},
        {"PRL_LEARNING_RATE": '1}; system("touch canary"); {1'},
        {"PRL_MASTER_PORT": "66660"},
        {"PRL_USE_VLLM": "True"},
        {"DATASET": "imdb"},
        {"REASONING": "true"},
        {"ADVERSARIAL": "2"},
        {"WANDB_MODE": "on line"},
        {"PRL_LAUNCHER": "swift"},
        {"PRL_TRAINING_ENV": "conda:x"},
    ],
    ids=str,
)
def test_a_config_that_cannot_work_is_refused(env: dict[str, str], standard: str, bench: Bench) -> None:
    refused(bench.run(standard, cwd=bench.bin, **env), *env)
    assert not (bench.bin / "canary").exists()


def test_eight_processes_on_four_cards_are_refused_also_when_the_file_itself_says_so(bench: Bench) -> None:
    refused(bench.run_config(config(nproc_per_node=8)), "PRL_NPROC_PER_NODE")


def test_a_wrong_value_that_was_exported_all_the_same_is_refused(bench: Bench) -> None:
    refused(bench.run_config(config(num_generations="a[$(touch /nowhere)]")), "PRL_NUM_GENERATIONS")


def test_a_large_batch_is_refused_at_once(standard: str, bench: Bench) -> None:
    refused(
        bench.run(standard, PRL_PER_DEVICE_TRAIN_BATCH_SIZE="4096", PRL_NUM_GENERATIONS="60001"), "PRL_NUM_GENERATIONS"
    )


def test_a_rule_whose_value_is_not_set_is_skipped_and_not_divided_by(bench: Bench) -> None:
    outcome = bench.run_config(config(num_generations=""))
    assert outcome.err == ""
    assert outcome.argv == list(plan.build(config(num_generations="")).argv)


def test_an_empty_variable_takes_the_default_and_says_so(standard: str, bench: Bench) -> None:
    outcome = bench.run(standard, PRL_PER_DEVICE_TRAIN_BATCH_SIZE="")
    assert outcome.code == 0
    assert outcome.shown["per_device_train_batch_size"] == ("4", "file, PRL_PER_DEVICE_TRAIN_BATCH_SIZE is empty")


def test_a_lost_environment_keeps_the_chosen_values(tmp_path: Path, bench: Bench) -> None:
    bench.file.write_text(script(config(num_generations=4)), "utf-8")
    line = f'exec env -i PATH="{bench.bin}:{os.defpath}" bash {bench.file}'
    wrapper = tmp_path / "wrapper.sh"
    wrapper.write_text(line)
    outcome = bench.run_file(wrapper, PRL_NUM_GENERATIONS="2")
    assert outcome.shown["num_generations"] == ("4", "file")
    assert outcome.argv == list(plan.build(config(num_generations=4)).argv)


@pytest.mark.parametrize("code", [0, 1, 3, 77, 143])
def test_the_engines_exit_code_is_the_scripts(code: int, standard: str, bench: Bench) -> None:
    bench.code = code
    assert bench.run(standard).code == code


def test_a_missing_engine_is_exit_127(standard: str, bench: Bench) -> None:
    (bench.bin / "torchrun").unlink()
    outcome = bench.run(standard, PATH=f"{bench.bin}:/usr/bin:/bin")
    assert outcome.code == 127
    assert "torchrun" in outcome.err


@pytest.mark.parametrize(
    ("variable", "value", "flag"),
    [
        ("PRL_NUM_GENERATIONS", "8", "--num_generations"),
        ("PRL_TEMPERATURE", ".7", "--temperature"),
        ("PRL_LEARNING_RATE", "2E-6", "--learning_rate"),
        ("PRL_USE_LMDEPLOY", "true", "--use_lmdeploy"),
        ("PRL_TORCH_DTYPE", "float16", "--torch_dtype"),
        ("PRL_MODEL", "/models/千问 2.5/it's $HOME `x`", "--model"),
        ("PRL_SYSTEM", "-leading-dash", "--system"),
        ("PRL_GRADIENT_CHECKPOINTING_KWARGS", '{"a": "$(x)"}', "--gradient_checkpointing_kwargs"),
        ("PRL_REWARD_FUNCS", " accuracy\n*  format ", "--reward_funcs"),
        ("PRL_MAX_STEPS", "10", "--max_steps"),
        ("PRL_RESUME_FROM_CHECKPOINT", "output/a b/checkpoint-1", "--resume_from_checkpoint"),
    ],
)
def test_a_variable_overrides_its_field_and_is_shown_as_such(
    variable: str, value: str, flag: str, standard: str, bench: Bench
) -> None:
    outcome = bench.run(standard, **{variable: value})
    assert outcome.err == ""
    assert outcome.argv is not None
    expected = value.split() if flag == "--reward_funcs" else [value]
    at = outcome.argv.index(flag) + 1
    assert outcome.argv[at : at + len(expected)] == expected
    assert outcome.shown[flag[2:]][1] == f"environment {variable}"
    assert outcome.shown["seed"] == ("5", "file")


def test_the_gpu_list_and_the_programs_own_variables_can_be_overridden(standard: str, bench: Bench) -> None:
    outcome = bench.run(standard, PRL_CUDA_VISIBLE_DEVICES="4,5,6,7", DATASET="sim", REASONING="False")
    assert outcome.argv is not None
    assert outcome.env["CUDA_VISIBLE_DEVICES"] == "4,5,6,7"
    assert outcome.env["REASONING"] == "False"
    assert outcome.env["DATASET"] == "sim"
    assert outcome.argv[outcome.argv.index("--dataset") + 1] == "datasets/original/sim_train.jsonl"
    assert "(file, follows DATASET)" in outcome.out


@pytest.mark.parametrize("spec", ["GPU-1a,GPU-2b,GPU-3c,GPU-4d", "0, 1, 2, 3", "3,2,1,0"])
def test_other_right_gpu_lists_pass(spec: str, standard: str, bench: Bench) -> None:
    assert bench.run(standard, PRL_CUDA_VISIBLE_DEVICES=spec).env.get("CUDA_VISIBLE_DEVICES") == spec


def test_without_a_port_the_command_is_standalone_and_an_override_sets_one(bench: Bench) -> None:
    text = script(config(master_port=""))
    assert bench.run(text).argv[2] == "--standalone"  # type: ignore[index]
    assert bench.run(text, PRL_MASTER_PORT="31000").argv[2] == "--master_port=31000"  # type: ignore[index]


def test_a_control_character_cannot_forge_a_line(standard: str, bench: Bench) -> None:
    outcome = bench.run(standard, PRL_MODEL="x\n  seed                             6  (file)\x1b[2J")
    assert outcome.shown["seed"] == ("5", "file")
    assert "\x1b" not in outcome.out


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
@pytest.mark.parametrize(
    "value", ["a\nb", "a\tb c", "a\r\nb", "\x1b[2Jx", "\x7f\x01", "中\n文", 'it\'s\n"x" \\ $y', "-\n&", "\n"]
)
def test_a_value_with_control_characters_is_told_as_readable_text(
    standard: str, bench: Bench, value: str, locale: str
) -> None:
    """It was bash's own quoting of the whole sentence: `error: $'PRL_NUM_GENERATIONS needs … a\\nb'`."""
    outcome = bench.run(standard, PRL_NUM_GENERATIONS=value, LC_ALL=locale)
    [line] = outcome.err.splitlines()
    assert line.startswith("error: PRL_NUM_GENERATIONS needs a whole number")
    assert line.endswith(f": {i18n.visible(value)}")
    shown = bench.run(standard, PRL_MODEL=f"m{value}", LC_ALL=locale)
    assert shown.shown["model"][0] == f"m{i18n.visible(value)}".strip()
    assert f"m{value}" in (shown.argv or [])


def test_sh_hands_over_to_bash(standard: str, bench: Bench) -> None:
    assert bench.run(standard, shell="sh").argv == list(plan.build(config()).argv)


@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_arguments_are_refused_since_nothing_reads_them(shell: str, standard: str, bench: Bench) -> None:
    bench.file.write_text(standard, "utf-8")
    done = bench.run_words([shell, str(bench.file), "--num_generations", "8"])
    assert (done.code, done.argv) == (1, None)
    assert "takes no arguments; a variable changes a value, for example PRL_PER_DEVICE_TRAIN_BATCH_SIZE=8" in done.err


# --- working directory and activation ---


@pytest.mark.parametrize("name", ["plain", "with space", "引号'\"和中文", "-", "-x", "$(touch canary)", "a\nb", "~"])
def test_the_command_runs_in_the_working_directory(name: str, tmp_path: Path, bench: Bench) -> None:
    start = tmp_path / "start"
    (start / name).mkdir(parents=True)
    text = script(config(workdir=name))
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / name).mkdir(parents=True)
    outcome = bench.run(text, cwd=start, CDPATH=str(elsewhere))
    assert outcome.cwd == str(start / name)
    assert not (start / "canary").exists()


@pytest.mark.parametrize("width", ["97", "96", "100"])
def test_a_width_that_its_heads_do_not_divide_is_refused(bench: Bench, width: str) -> None:
    outcome = bench.run_config(resolve(RECIPES["demo"], "two-ranks"), PRL_HIDDEN_SIZE=width)
    assert (outcome.argv is None) == (width == "97")
    assert ("PRL_HIDDEN_SIZE must be a multiple of 4: 97" in outcome.err) == (width == "97")


@pytest.mark.parametrize("spec", ["0,1,2,3,", "0,1,2,3,-1", "00,1,2,3", "10000,1,2,3", "GPU-a,GPU-b,GPU-c,GPU-d"])
def test_a_list_that_passed_the_check_passes_in_its_own_script(bench: Bench, spec: str) -> None:
    assert bench.run_config(config(cuda_visible_devices=spec)).argv is not None
    assert bench.run_config(config(cuda_visible_devices=spec), PRL_CUDA_VISIBLE_DEVICES="0,1,2,x").argv is None


def test_mig_instances_count_as_one(bench: Bench) -> None:
    """CUDA gives a process the first of them (NVIDIA's MIG user guide)."""
    assert bench.run_config(config(cuda_visible_devices="MIG-a,MIG-b,MIG-c,MIG-d")).argv is None


def test_a_tilde_is_the_home(tmp_path: Path, bench: Bench) -> None:
    (tmp_path / "my proj").mkdir()
    assert bench.run_config(config(workdir="~/my proj"), HOME=str(tmp_path)).cwd == str(tmp_path / "my proj")
    odd = tmp_path / "a & b\\&"  # bash 5.2 reads a bare & in a replacement as what was found
    (odd / "my proj").mkdir(parents=True)
    assert bench.run_config(config(workdir="~/my proj"), HOME=str(odd)).cwd == str(odd / "my proj")


def test_a_working_directory_that_is_not_there_is_refused(bench: Bench) -> None:
    refused(bench.run_config(config(workdir="/no/such place")), "PRL_WORKDIR")


CONDA = """
conda() {
  echo "$@" >>"%(log)s"
  [ "$UNBOUND_IN_CONDA" = x ] || true
  if [ "$2" = broken ]; then echo "EnvironmentNameNotFound" >&2; return 1; fi
  PATH="%(env)s:$PATH"
}
"""


@pytest.fixture
def conda(tmp_path: Path, bench: Bench) -> Path:
    """A conda.sh that activates as conda does: a function that changes PATH, and is careless with unset variables."""
    env = tmp_path / "env bin"
    env.mkdir()
    for name in ("torchrun", "code"):
        shutil.copy(bench.bin / name, env / name) if (bench.bin / name).exists() else (env / name).write_text("0")
    hook = tmp_path / "conda 目录" / "etc" / "profile.d" / "conda.sh"
    hook.parent.mkdir(parents=True)
    hook.write_text(CONDA % {"log": tmp_path / "log", "env": env})
    return hook


def test_conda_is_activated_before_the_command(conda: Path, tmp_path: Path, bench: Bench) -> None:
    outcome = bench.run_config(config(training_env="conda:prl clean", conda_hook=str(conda)))
    assert outcome.err == ""
    assert (tmp_path / "log").read_text() == "activate prl clean\n"
    assert outcome.argv is None  # the stub on the old PATH was not the one that ran
    assert (tmp_path / "env bin" / "argv").exists()


def test_conda_is_found_by_asking_it(conda: Path, tmp_path: Path, bench: Bench) -> None:
    program = bench.bin / "conda"
    program.write_text(f'#!/bin/sh\n[ "$1 $2" = "info --base" ] && echo "{conda.parents[2]}"\n')
    program.chmod(0o755)
    assert bench.run_config(config(training_env="conda:x")).code == 0
    assert (tmp_path / "env bin" / "argv").exists()


@pytest.mark.parametrize("name", ["conda:broken", "conda:x"])
def test_an_activation_that_fails_stops_the_script(name: str, conda: Path, bench: Bench) -> None:
    hook = str(conda) if name == "conda:broken" else "/no/conda.sh"
    outcome = bench.run_config(config(training_env=name, conda_hook=hook))
    assert outcome.code == 1
    assert outcome.argv is None
    assert "error: " in outcome.err


def test_a_venv_is_activated_before_the_command(tmp_path: Path, bench: Bench) -> None:
    folder = tmp_path / "虚拟 env"
    (folder / "bin").mkdir(parents=True)
    stub(folder / "bin", "torchrun")
    (folder / "bin" / "code").write_text("0")
    (folder / "bin" / "activate").write_text(f'PATH="{folder}/bin:$PATH"\n: "$UNSET_IN_VENV"\n')
    assert bench.run_config(config(training_env=str(folder))).code == 0
    assert (folder / "bin" / "argv").exists()
    refused(bench.run_config(config(training_env=str(folder / "nothing"))), "no virtual environment")


# --- a person's own recipe ---


def test_a_recipe_without_the_shared_fields_exports(bench: Bench) -> None:
    own = resolve(recipe(text_field("name", default="x")))
    assert bench.run_config(own).argv == ["python", "train.py", "--name", "x"]


def test_what_is_required_and_missing_is_refused(bench: Bench) -> None:
    refused(bench.run_config(resolve(recipe(text_field("name", required=True)))), "PRL_NAME")


@pytest.mark.parametrize(
    ("files", "pattern", "chosen"),
    [
        (["a 1.csv", "b.txt"], "a*.csv", "a 1.csv"),
        (["中文.csv"], "*.csv", "中文.csv"),
        (["plain.csv"], "plain.csv", "plain.csv"),
        (["-x.csv"], "-*.csv", "-x.csv"),
        ([], "a*.csv", None),
        (["a1.csv", "a2.csv"], "a*.csv", None),
        ([], "$(touch canary).csv", None),
    ],
)
def test_a_pattern_becomes_the_one_file_that_matches_or_is_refused(
    files: list[str], pattern: str, chosen: str | None, tmp_path: Path, bench: Bench
) -> None:
    for name in files:
        (tmp_path / name).touch()
    own = resolve(recipe(text_field("data", "path", glob=True, default=pattern)))
    outcome = bench.run(script(own), cwd=tmp_path)
    if chosen is None:
        refused(outcome, "PRL_DATA")
        assert not (tmp_path / "canary").exists()
    else:
        assert outcome.argv == ["python", "train.py", "--data", chosen]
