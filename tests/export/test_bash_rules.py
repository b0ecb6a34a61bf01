"""The rules of an exported script against those of `core`, on values that come by environment variables.

Deliberate differences, each with its test: a script refuses where `core` only warns that torch reads a GPU list in an
odd way (nobody would read the warning), and it compares decimals digit by digit where `core` compares what a float
holds of them.
"""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from prl_tui.core import checks
from prl_tui.core.config import RunConfig, Source, from_environment, resolve
from prl_tui.core.findings import Facts
from tests.built_in import RECIPES
from tests.export.scripts import Bench, Outcome, script


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("rules"))


_scripts: dict[str, str] = {}


ROUNDED = {"batch-rounds-down", "total-batch-rounds-down"}


def ran(bench: Bench, config: RunConfig, env: dict[str, str]) -> Outcome:
    """What the config's script does; where it does not start the launcher, one line says why."""
    own = {name: config.text(name) for name in config.changed()}
    key = f"{config.recipe.name}/{config.preset}/{own}"
    outcome = bench.run(_scripts.setdefault(key, script(config)), **env)
    if outcome.argv is None:
        assert outcome.code == 1
        *warned, error = outcome.err.splitlines()
        assert error.startswith("error: ")
        assert all(line.startswith("warning: ") for line in warned), outcome.err
    return outcome


def started(bench: Bench, config: RunConfig, env: dict[str, str]) -> bool:
    """The script's verdict."""
    return ran(bench, config, env).argv is not None


def agree(bench: Bench, config: RunConfig, env: dict[str, str]) -> None:
    """Of batches and GPUs; which flags of the file a picked generation knows is judged before there is a script."""
    report = checks.check(from_environment(config, env))
    wrong = [finding for finding in report.findings if finding.severity == "error"]
    errors = [finding.code for finding in wrong]
    given = {field.key for field in config.recipe.fields if env.get(field.override) and config.value(field.key) is None}
    refused = given & {finding.field for finding in wrong if finding.code == "flag-unknown"}
    outcome = ran(bench, config, env)
    assert (outcome.argv is not None) is (set(errors) <= {"flag-unknown"} and not refused), (env, errors)
    if refused and outcome.argv is None:
        assert "does not know" in outcome.err or set(errors) > {"flag-unknown"}, outcome.err
    if outcome.argv is not None:
        rounds = not ROUNDED.isdisjoint(finding.code for finding in report.findings)
        assert outcome.err.count("is rounded down to") == rounds, (env, outcome.err)
        assert not rounds or f" to {report.batch.global_batch}: " in outcome.err


def values(**strategies: st.SearchStrategy[object]) -> st.SearchStrategy[dict[str, str]]:
    """Some of these variables, as text."""
    return st.fixed_dictionaries({}, optional={name: one.map(str) for name, one in strategies.items()})


SMALL = st.integers(0, 9)
GPUS = st.integers(1, 9).map(lambda n: ",".join(map(str, range(n))))


@pytest.mark.slow
@given(
    values(
        PRL_NPROC_PER_NODE=SMALL, PRL_PER_DEVICE_TRAIN_BATCH_SIZE=SMALL, PRL_NUM_GENERATIONS=SMALL,
        PRL_PER_DEVICE_EVAL_BATCH_SIZE=SMALL, PRL_GRADIENT_ACCUMULATION_STEPS=SMALL, PRL_CUDA_VISIBLE_DEVICES=GPUS,
        PRL_NUM_INFER_WORKERS=SMALL, PRL_NNODES=st.integers(0, 3), PRL_USE_VLLM=st.sampled_from(["true", "false"]),
        PRL_EVAL_STRATEGY=st.sampled_from(["no", "steps", "epoch"]), PRL_TENSOR_PARALLEL_SIZE=st.integers(1, 3),
        PRL_ASYNC_GENERATE=st.sampled_from(["true", "false"]),
    )
)  # fmt: skip
@example({"PRL_ASYNC_GENERATE": "true"})
@example({"PRL_TENSOR_PARALLEL_SIZE": "2", "PRL_NUM_INFER_WORKERS": "2"})
@example({"PRL_NPROC_PER_NODE": "2", "PRL_CUDA_VISIBLE_DEVICES": "0,1", "PRL_NUM_INFER_WORKERS": "3"})
@example(
    {
        "PRL_NPROC_PER_NODE": "3",
        "PRL_CUDA_VISIBLE_DEVICES": "0,1,2,3",
        "PRL_USE_VLLM": "false",
        "PRL_NUM_GENERATIONS": "3",
    }
)
@settings(max_examples=90)
def test_prl_grpo_scripts_judge_as_core_does(shared: Bench, env: dict[str, str]) -> None:
    agree(shared, resolve(RECIPES["prl-grpo"], "standard-4gpu"), env)


@pytest.mark.slow
@given(
    values(
        PRL_NPROC_PER_NODE=SMALL, PRL_PER_DEVICE_TRAIN_BATCH_SIZE=SMALL, PRL_GLOBAL_BATCH_SIZE=st.integers(0, 40),
        PRL_NNODES=st.integers(0, 3), PRL_MAX_STEPS=st.integers(-1, 3), PRL_NODE_RANK=st.integers(-1, 3),
        PRL_FAIL_RANK=st.integers(-1, 9), PRL_HANG_RANK=st.integers(-1, 9),
    )
)  # fmt: skip
@settings(max_examples=60)
def test_demo_scripts_judge_as_core_does(shared: Bench, env: dict[str, str]) -> None:
    agree(shared, resolve(RECIPES["demo"], "two-ranks"), env)


@pytest.mark.slow
@given(
    values(
        PRL_NPROC_PER_NODE=SMALL, PRL_PER_DEVICE_TRAIN_BATCH_SIZE=SMALL, PRL_NUM_GENERATIONS=SMALL,
        PRL_PER_DEVICE_EVAL_BATCH_SIZE=SMALL, PRL_GRADIENT_ACCUMULATION_STEPS=SMALL, PRL_CUDA_VISIBLE_DEVICES=GPUS,
        PRL_STEPS_PER_GENERATION=SMALL, PRL_GENERATION_BATCH_SIZE=st.integers(0, 64), PRL_NUM_GENERATIONS_EVAL=SMALL,
        PRL_SEQUENCE_PARALLEL_SIZE=st.integers(1, 5), PRL_USE_VLLM=st.sampled_from(["true", "false"]),
        PRL_NNODES=st.integers(1, 3), PRL_VLLM_MODE=st.sampled_from(["", "colocate", "server"]),
        PRL_VLLM_TENSOR_PARALLEL_SIZE=st.integers(1, 4), PRL_DEEPSPEED=st.sampled_from(["zero2", "zero3"]),
        PRL_USE_CPU=st.sampled_from(["true", "false"]),
        PRL_EVAL_STRATEGY=st.sampled_from(["no", "steps"]), PRL_SPLIT_DATASET_RATIO=st.sampled_from(["0", "0.00", "0e0", "0.01"]),
    ),
    st.sampled_from(["", "swift-3.3-prl", "swift-3.4", "swift-3.5", "swift-3.12"]),
)  # fmt: skip
@example({"PRL_USE_VLLM": "false"}, "")
@example(
    {
        "PRL_NPROC_PER_NODE": "3",
        "PRL_CUDA_VISIBLE_DEVICES": "0,1,2",
        "PRL_SEQUENCE_PARALLEL_SIZE": "2",
        "PRL_NUM_GENERATIONS": "6",
    },
    "",
)
@example({"PRL_USE_VLLM": "false", "PRL_VLLM_MODE": "", "PRL_VLLM_TENSOR_PARALLEL_SIZE": "3"}, "")
@example({"PRL_VLLM_MODE": "server", "PRL_VLLM_TENSOR_PARALLEL_SIZE": "3"}, "")
@example(
    {
        "PRL_NPROC_PER_NODE": "3",
        "PRL_CUDA_VISIBLE_DEVICES": "0,1,2",
        "PRL_NNODES": "2",
        "PRL_NUM_GENERATIONS": "6",
        "PRL_VLLM_TENSOR_PARALLEL_SIZE": "2",
    },
    "",
)
@example({"PRL_STEPS_PER_GENERATION": "1"}, "swift-3.3-prl")
@example({"PRL_USE_CPU": "true", "PRL_CUDA_VISIBLE_DEVICES": "0"}, "")
@example({"PRL_USE_CPU": "false", "PRL_CUDA_VISIBLE_DEVICES": "0"}, "")
@example({"PRL_SPLIT_DATASET_RATIO": "0.00", "PRL_PER_DEVICE_EVAL_BATCH_SIZE": "1"}, "")
@example({"PRL_PER_DEVICE_EVAL_BATCH_SIZE": "1"}, "swift-3.5")
@settings(max_examples=90)
def test_swift_grpo_scripts_judge_as_core_does(shared: Bench, env: dict[str, str], stack: str) -> None:
    config = resolve(RECIPES["swift-grpo"], "colocate-4gpu")
    agree(shared, config.with_values({"stack": stack}, Source.SET) if stack else config, env)


VLM, SFT = "vlm-sft", "minionerec-sft/eight-gpu"


def whose_files_are_there(source: str) -> RunConfig:
    """A preset whose patterns match one file anywhere."""
    name, _, preset = source.partition("/")
    patterns = [field.key for field in RECIPES[name].fields if field.glob]
    return resolve(RECIPES[name], preset).with_values(dict.fromkeys(patterns, "/bin/sh"), Source.SET)


@pytest.mark.parametrize(
    ("source", "env", "told"),
    [
        (VLM, {"PRL_BATCH_SIZE": "7", "PRL_NPROC_PER_NODE": "4"}, "PRL_BATCH_SIZE=7 is rounded down to 4: 1 on each of 4"),
        (VLM, {"PRL_BATCH_SIZE": "8", "PRL_NPROC_PER_NODE": "4"}, ""),
        (VLM, {"PRL_BATCH_SIZE": "3", "PRL_NPROC_PER_NODE": "4"}, ""),
        (VLM, {"PRL_BATCH_SIZE": "7", "PRL_NPROC_PER_NODE": "1"}, ""),
        (VLM, {"PRL_BATCH_SIZE": "10", "PRL_NPROC_PER_NODE": "2", "PRL_NNODES": "2"}, " down to 8: 2 on each of 4"),
        (SFT, {"PRL_BATCH_SIZE": "1000"}, "PRL_BATCH_SIZE=1000 is rounded down to 896: 16 × 7 × 8"),
        (SFT, {"PRL_BATCH_SIZE": "1024"}, ""),
        (SFT, {"PRL_BATCH_SIZE": "1024", "PRL_NPROC_PER_NODE": "6"}, " down to 960: 16 × 10 × 6"),
        (SFT, {"PRL_MICRO_BATCH_SIZE": "3"}, " down to 1008: 3 × 42 × 8"),
        (SFT, {"PRL_BATCH_SIZE": "15"}, ""),
    ],
)  # fmt: skip
def test_a_script_tells_a_batch_that_the_trainer_rounds_down(
    shared: Bench, source: str, env: dict[str, str], told: str
) -> None:
    config = whose_files_are_there(source)
    agree(shared, config, env)
    outcome = ran(shared, config, env)
    warnings = [line for line in outcome.err.splitlines() if "rounded" in line]
    assert len(warnings) == bool(told)
    assert told in outcome.err
    if outcome.argv is not None:
        agree(shared, from_environment(config, env), {})


@pytest.mark.slow
@given(
    st.sampled_from([VLM, SFT]),
    values(PRL_BATCH_SIZE=st.integers(1, 200), PRL_NPROC_PER_NODE=st.integers(1, 8), PRL_NNODES=st.integers(1, 3)),
)
@settings(max_examples=60)
def test_scripts_round_a_batch_as_core_does(shared: Bench, source: str, env: dict[str, str]) -> None:
    agree(shared, whose_files_are_there(source), env)


@pytest.mark.slow
@given(
    values(
        PRL_PER_DEVICE_EVAL_BATCH_SIZE=SMALL,
        PRL_VAL_DATASET=st.sampled_from(["", "v.jsonl"]),
        PRL_EVAL_STRATEGY=st.sampled_from(["", "no", "steps"]),
    ),
    st.sampled_from(["prl-grpo", "swift-grpo"]),
    st.sampled_from(["swift-3.3-prl", "swift-3.4", "swift-3.6"]),
)
@settings(max_examples=40)
def test_scripts_know_the_default_split_as_core_does(shared: Bench, env: dict[str, str], name: str, stack: str) -> None:
    config = resolve(RECIPES[name], {"prl-grpo": "standard-4gpu", "swift-grpo": "colocate-4gpu"}[name])
    changes = {key: None for key in ("val_dataset", "split_dataset_ratio") if key in config.settings}
    agree(shared, config.with_values({**changes, "stack": stack, "num_generations": 4}, Source.SET), env)


@pytest.mark.parametrize("name", ["no", "none", "0"])
def test_a_validation_set_may_have_any_name(shared: Bench, name: str) -> None:
    # ms-swift takes each for a data set (3.3 to 4.6: `if args.val_dataset`), so it evaluates
    config, env = resolve(RECIPES["prl-grpo"], "task-trec"), {"PRL_PER_DEVICE_EVAL_BATCH_SIZE": "7"}
    assert not checks.check(from_environment(config, {**env, "PRL_VAL_DATASET": name})).ok
    agree(shared, config, {**env, "PRL_VAL_DATASET": name})


@pytest.mark.parametrize("spec", ["0,0", ".5", "inf", "a b", "1", "0,1,2"])
@pytest.mark.parametrize(
    ("source", "changes"),
    [
        ("demo/two-ranks", {}),
        ("custom", {"script": "t.py"}),
        ("swift-sft/lora-1gpu", {"use_cpu": True, "dataset": "a/b"}),
    ],
    ids=["demo", "custom", "cpu"],
)
def test_a_gpu_list_is_read_where_no_gpu_is_needed_too(
    shared: Bench, source: str, changes: dict[str, object], spec: str
) -> None:
    recipe, _, preset = source.partition("/")
    config = resolve(RECIPES[recipe], preset).with_values(changes, Source.SET)
    agree(shared, config, {"PRL_CUDA_VISIBLE_DEVICES": spec})


@pytest.mark.parametrize("spec", ["4,5", "4,5,6", "0,1,2,3", "7", "0,0", "", "-1", "GPU-a,GPU-b"])
@pytest.mark.parametrize(
    ("source", "changes"),
    [
        ("safe-mm-dpo/eight-gpu", {"nproc_per_node": 2}),
        ("prl-grpo/standard-2gpu", {"num_infer_workers": 3}),
        ("swift-grpo/colocate-2gpu", {"dataset": "a/b"}),
        ("swift-sft/lora-1gpu", {"nproc_per_node": 2, "dataset": "a/b"}),
        ("swift-sft/lora-1gpu", {"use_cpu": True, "torch_dtype": "float32", "dataset": "a/b"}),
        ("custom/torchrun", {"script": "t.py"}),
        ("demo/two-ranks", {}),
    ],
    ids=str,
)
def test_a_list_around_a_script_counts_where_it_has_none_of_its_own(
    shared: Bench, source: str, changes: dict[str, object], spec: str
) -> None:
    """It counted what `nvidia-smi -L` lists, and started with no GPU at all."""
    recipe, preset = source.split("/")
    config = resolve(RECIPES[recipe], preset).with_values({**changes, "cuda_visible_devices": None}, Source.SET)
    around = {"CUDA_VISIBLE_DEVICES": spec}
    report = checks.check(config, Facts(node_gpus=8, node_uuids=("GPU-a", "GPU-b"), inherited=around))
    outcome = ran(shared, config, around)
    assert (outcome.argv is not None) is report.ok, outcome.err
    if outcome.argv is not None:
        assert outcome.env["CUDA_VISIBLE_DEVICES"] == spec
    if not report.ok and spec in {"0,0", "-1", ""}:
        assert "CUDA_VISIBLE_DEVICES" in outcome.err


@pytest.mark.parametrize("launcher", ["python", "torchrun"])
@pytest.mark.parametrize("name", ["-x.py", "./-x.py", "x-.py"])
def test_a_script_that_a_launcher_reads_as_an_option_is_refused(shared: Bench, launcher: str, name: str) -> None:
    """As `check` does (tests/recipes/test_custom.py holds what the launchers say)."""
    config = resolve(RECIPES["custom"], launcher).with_values({"script": "t.py"}, Source.SET)
    agree(shared, config, {"PRL_SCRIPT": name})


HIDDEN = [
    ("demo/two-ranks", {}, True),
    ("custom", {"script": "t.py"}, True),
    *((f"swift-{name}", {"use_cpu": True, "dataset": "a/b"}, True) for name in ("sft", "dpo", "rm", "grpo")),
    ("swift-sft/lora-1gpu", {"dataset": "a/b"}, False),
    ("prl-grpo/standard-4gpu", {}, False),
]


@pytest.mark.parametrize(("source", "changes", "runs"), HIDDEN, ids=str)
def test_hidden_gpus_are_right_where_none_is_needed(
    shared: Bench, source: str, changes: dict[str, object], runs: bool
) -> None:
    recipe, _, preset = source.partition("/")
    config = resolve(RECIPES[recipe], preset).with_values(changes, Source.SET)
    env = {"PRL_CUDA_VISIBLE_DEVICES": "-1"}
    for facts in (Facts(), Facts(node_gpus=0 if runs else 4), Facts(node_gpus=8)):
        report = checks.check(from_environment(config, env), facts)
        assert report.ok is runs
        told = [one.severity for one in report.findings if one.field == "cuda_visible_devices"]
        assert told == (["note"] if runs else ["error"])
    agree(shared, config, env)
    agree(shared, from_environment(config, env), {})
    if changes.get("use_cpu"):
        agree(shared, from_environment(config, env), {"PRL_USE_CPU": "false"})


@pytest.mark.parametrize(
    ("source", "variable"),
    [
        ("swift-sft/lora-1gpu", "PRL_DATASET"),
        ("swift-sft/lora-1gpu", "PRL_TARGET_MODULES"),
        ("swift-sft/lora-1gpu", "PRL_VAL_DATASET"),
        ("prl-grpo/standard-4gpu", "PRL_REWARD_FUNCS"),
    ],
)
@pytest.mark.parametrize("text", ["  ", "''", "a ''", "a"])
def test_a_list_without_items_is_no_value_and_none_of_its_items_is_empty(
    shared: Bench, source: str, variable: str, text: str
) -> None:
    recipe, _, preset = source.partition("/")
    agree(shared, resolve(RECIPES[recipe], preset), {variable: text})


@pytest.mark.parametrize("spec", ["0,1,2,3,", "0,1,2,3,-1", "0,1,2,3,x", "0,1,2,3gpu", "00,1,2,3", "0,1,2,3,GPU-a"])
def test_a_gpu_list_that_torch_reads_in_an_odd_way_is_a_warning_in_core_and_refused_by_a_script(
    shared: Bench, spec: str
) -> None:
    config, env = resolve(RECIPES["prl-grpo"], "standard-4gpu"), {"PRL_CUDA_VISIBLE_DEVICES": spec}
    report = checks.check(from_environment(config, env))
    assert report.ok
    assert report.count("warning") == 1
    assert not started(shared, config, env)


@pytest.mark.parametrize("blank", [" ", "\t", "\n", "\r", "\u00a0", "\u3000"])
def test_blanks_around_a_number_of_the_environment_are_refused_by_both(shared: Bench, blank: str) -> None:
    config = resolve(RECIPES["prl-grpo"], "standard-4gpu")
    for text in (f"{blank}4", f"4{blank}"):
        for name in ("PRL_NUM_GENERATIONS", "PRL_LEARNING_RATE"):
            assert not checks.check(from_environment(config, {name: text})).ok
            agree(shared, config, {name: text})


@pytest.mark.parametrize("word", ["true", "false", "TRUE", "True", "1", "0", "yes", "no", "on", " true", "false\n"])
def test_yes_and_no_of_the_environment_are_one_word_each_for_both(shared: Bench, word: str) -> None:
    config = resolve(RECIPES["prl-grpo"], "standard-4gpu")
    assert checks.check(from_environment(config, {"PRL_USE_VLLM": word})).ok is (word in {"true", "false"})
    agree(shared, config, {"PRL_USE_VLLM": word})


def test_blanks_that_a_person_types_are_no_mistake() -> None:
    config = resolve(RECIPES["prl-grpo"], "standard-4gpu")
    typed = config.with_values({"num_generations": " 4 ", "use_vllm": "Yes"}, Source.FORM)
    assert checks.check(typed).ok
    assert (typed.text("num_generations"), typed.value("use_vllm")) == ("4", True)


@pytest.mark.parametrize(("address", "told"), [("127.0.0.1", True), ("localhost", True), ("10.0.0.1", False)])
def test_a_loopback_address_for_several_nodes_is_told_and_runs(shared: Bench, address: str, told: bool) -> None:
    config = resolve(RECIPES["demo"], "two-ranks")
    outcome = shared.run(script(config), PRL_NNODES="2", PRL_MASTER_ADDR=address)
    assert outcome.argv is not None
    assert ("cannot reach this address: PRL_MASTER_ADDR=" in outcome.err) is told


def test_prl_tuis_own_variables_are_no_unread_ones(shared: Bench) -> None:
    outcome = shared.run(script(resolve(RECIPES["demo"], "two-ranks")), PRL_TUI_LANG="zh", PRL_NODES="2")
    assert outcome.err.count("nothing reads") == 1


@pytest.mark.parametrize(
    ("source", "unset", "env"),
    [
        ("prl-grpo/quick-test", "num_generations", {}),
        ("prl-grpo/quick-test", "num_generations", {"PRL_PER_DEVICE_TRAIN_BATCH_SIZE": "4"}),
        ("prl-grpo/standard-4gpu", "per_device_train_batch_size", {"PRL_NUM_GENERATIONS": "8"}),
        ("prl-grpo/standard-4gpu", "nproc_per_node", {"PRL_NUM_INFER_WORKERS": "1"}),
        ("swift-grpo/colocate-2gpu", "num_generations", {"PRL_PER_DEVICE_TRAIN_BATCH_SIZE": "1"}),
        ("swift-grpo/colocate-2gpu", "per_device_eval_batch_size", {}),
        ("minionerec-sft/eight-gpu", "batch_size", {"PRL_MICRO_BATCH_SIZE": "32"}),
        ("minionerec-sft/eight-gpu", "micro_batch_size", {"PRL_BATCH_SIZE": "16"}),
        ("minionerec-rl/eight-gpu", "num_generations", {"PRL_TRAIN_BATCH_SIZE": "1"}),
    ],
)
def test_a_number_that_is_left_out_counts_as_what_the_program_takes(
    shared: Bench, source: str, unset: str, env: dict[str, str]
) -> None:
    # The programs' own defaults: ms-swift 3.3 to 4.6 (1, 1 and 8), MiniOneRec's sft.py (128, 4) and rl.py (32, 32, 16), torchrun (1).
    recipe, _, preset = source.partition("/")
    config = resolve(RECIPES[recipe], preset).with_values({unset: None}, Source.SET)
    assert unset in [finding.field for finding in checks.check(config).findings if finding.code == "left-out"]
    agree(shared, config, env)
