"""Findings beyond the batch rules: one case of each, with the figures that its sentence must have."""

from __future__ import annotations

import pytest

from prl_tui.core import advice, checks, engine
from prl_tui.core import words as text
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.core.findings import Facts, Finding, GpuUse
from prl_tui.core.plan import build
from prl_tui.core.value import replace
from tests.built_in import CATALOG

GIB = 2**30


def config(source: str, **values: object) -> RunConfig:
    recipe, _, preset = source.partition("/")
    return resolve(CATALOG.recipes[recipe], preset).with_values(values, Source.SET)


def finding(code: str, one: RunConfig, facts: Facts | None = None, stack: str = "") -> Finding:
    found = checks.check(one, facts or Facts(), stack).findings
    named = [entry for entry in found if entry.code == code]
    assert len(named) == 1, [entry.code for entry in found]
    return named[0]


def test_another_global_batch_notes_both_learning_rates_and_changes_nothing() -> None:
    one = config("prl-grpo/standard-4gpu", per_device_train_batch_size=16)
    found = finding("learning-rate-scaling", one)
    assert (found.severity, [dict(fix.changes) for fix in found.fixes]) == (
        "note",
        [{"learning_rate": 4e-6}, {"learning_rate": 2e-6}],
    )
    assert checks.check(one).first_fix is None, "a note is applied only when asked"


def test_a_run_of_weeks_is_a_warning_in_plain_words() -> None:
    """PRL on one GPU: 84,620 steps at 37 s each are five weeks."""
    facts = Facts(rows=8462, seconds_per_step=37.2, pace_source="v26")
    found = finding("takes-weeks", config("prl-grpo/single-gpu"), facts)
    assert found.severity == "warning"
    assert found.message == "About 5.2 weeks: 84,620 steps at 37.2 s each."


def test_a_run_of_hours_is_a_note() -> None:
    facts = Facts(rows=8462, seconds_per_step=0.5, pace_source="7f3a2c")
    assert finding("takes-time", config("prl-grpo/standard-4gpu"), facts).severity == "note"


def test_the_pace_of_another_config_is_told_with_what_differs_there() -> None:
    keys = ("per_device_train_batch_size", "num_generations", "model", "max_completion_length", "temperature")
    facts = Facts(rows=8462, seconds_per_step=0.5, pace_source="7f3a2c", pace_differs=keys[:1])
    told = finding("takes-time", config("prl-grpo/standard-4gpu"), facts).message
    assert told == (
        "About 88 minutes at the pace of run 7f3a2c, which differs in per-device batch: 10,580 steps at 0.5 s each."
    )
    many = Facts(rows=8462, seconds_per_step=372, pace_source="v26", pace_differs=keys)
    why = finding("takes-weeks", config("prl-grpo/standard-4gpu"), many).why
    assert why.startswith("That is the pace of run v26, which differs in per-device batch, generations, ")
    assert "2 more. Fewer epochs" in why


def test_saving_after_the_end_is_a_warning() -> None:
    assert finding("no-save-before-end", config("prl-grpo/standard-4gpu", max_steps=100)).field == "save_steps"


def test_the_evaluators_cost_is_completions_times_rows() -> None:
    assert "16 × 100 = 1,600" in finding("evaluator-cost", config("prl-grpo/standard-4gpu")).message


@pytest.mark.parametrize(
    "name", ["CUDA_VISIBLE_DEVICE", "CUDA_VISIBLE_DEVICESS", "CUDA_VISABLE_DEVICES", "cuda_visible_devices"]
)
def test_a_variable_that_nearly_has_the_name(name: str) -> None:
    found = finding("environment-near-miss", config("prl-grpo/standard-4gpu"), Facts(inherited={name: "1"}))
    assert name in found.message


def test_other_variables_of_cuda_are_no_near_miss() -> None:
    facts = Facts(inherited={"NVIDIA_VISIBLE_DEVICES": "all", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"})
    codes = {entry.code for entry in checks.check(config("prl-grpo/standard-4gpu"), facts).findings}
    assert "environment-near-miss" not in codes


def test_the_schedulers_gpus_are_not_overwritten_silently() -> None:
    facts = Facts(inherited={"CUDA_VISIBLE_DEVICES": "4,5,6,7", "SLURM_JOB_ID": "12"})
    found = finding("scheduler-gpus", config("prl-grpo/standard-4gpu"), facts)
    assert dict(found.fixes[0].changes) == {"cuda_visible_devices": "4,5,6,7"}


@pytest.mark.parametrize("given", ["4,5,6,7", ""])
def test_the_gpus_of_the_shell_are_not_replaced_silently(given: str) -> None:
    one = config("prl-grpo/standard-4gpu")
    found = finding("shell-gpus", one, Facts(inherited={"CUDA_VISIBLE_DEVICES": given}))
    assert found.message == f"CUDA_VISIBLE_DEVICES={given} is set here, and the config sets 0,1,2,3 instead."
    assert found.why == "PRL_CUDA_VISIBLE_DEVICES overrides the config's list."
    assert [dict(fix.changes) for fix in found.fixes] == ([{"cuda_visible_devices": given}] if given else [])
    same = Facts(inherited={"CUDA_VISIBLE_DEVICES": "0,1,2,3"})
    assert "shell-gpus" not in {entry.code for entry in checks.check(one, same).findings}


def test_vllms_share_against_free_memory() -> None:
    """A committed log of PRL: 0.9 of 79.25 GiB wanted, 49.85 free; 0.62 would have fitted."""
    gpu = GpuUse(0, "GPU-a", int(49.86 * GIB), int(79.25 * GIB))
    one = config("prl-grpo/single-gpu", vllm_gpu_memory_utilization="0.9")
    found = finding("vllm-share", one, Facts(node_gpus=1, gpus=(gpu,)))
    assert found.message == "vLLM wants 0.9 of GPU 0 (71.3 GiB), and 49.9 GiB are free."
    assert dict(found.fixes[0].changes) == {"vllm_gpu_memory_utilization": 0.62}


def box(*full: int, count: int = 8) -> tuple[GpuUse, ...]:
    """GPUs of 80 GiB, those named with 10 GiB left and the others all free."""
    return tuple(GpuUse(index, f"GPU-{index}", (10 if index in full else 80) * GIB, 80 * GIB) for index in range(count))


# ms-swift 3.3.0's grpo_trainer.py takes get_device(idx) for idx in range(get_device_count() − num_infer_workers, …); 3.5.3's
# and 4.6.0's prepare_vllm the rank's own GPU, and with vllm_mode server there is no engine in the job.
@pytest.mark.parametrize(
    ("source", "values", "around", "full", "named"),
    [
        ("prl-grpo/six-gpu", {}, {}, (0, 1, 2), ""),
        ("prl-grpo/six-gpu", {}, {}, (4,), "4"),
        ("prl-grpo/six-gpu", {"num_infer_workers": 1}, {}, (4,), ""),
        ("prl-grpo/six-gpu", {"cuda_visible_devices": "5,4,3,2,1,0"}, {}, (1,), "1"),
        ("prl-grpo/six-gpu", {"cuda_visible_devices": None}, {}, (7,), "7"),
        ("prl-grpo/standard-4gpu", {}, {}, (3,), "3"),
        ("swift-grpo/colocate-2gpu", {"cuda_visible_devices": None}, {"CUDA_VISIBLE_DEVICES": "0,1"}, (7,), ""),
        ("swift-grpo/colocate-2gpu", {"cuda_visible_devices": None}, {"CUDA_VISIBLE_DEVICES": "0,1"}, (1,), "1"),
        ("swift-grpo/colocate-2gpu", {"cuda_visible_devices": None}, {}, (7,), ""),
        ("swift-grpo/colocate-2gpu", {"vllm_mode": "server"}, {}, (0, 1), ""),
    ],
)
def test_vllms_share_is_of_the_gpus_that_it_runs_on(
    source: str, values: dict[str, object], around: dict[str, str], full: tuple[int, ...], named: str
) -> None:
    report = checks.check(config(source, **values), Facts(node_gpus=8, gpus=box(*full), inherited=around))
    found = [one.message for one in report.findings if one.code == "vllm-share"]
    assert len(found) == bool(named)
    assert all(f"of GPU {named} " in message for message in found)


def test_the_share_that_is_offered_fits_on_the_fullest_gpu() -> None:
    one = config("prl-grpo/standard-4gpu")
    gpus = (*box(count=1), *(replace(gpu, free_bytes=(30 - 8 * gpu.index) * GIB) for gpu in box()[1:4]))
    found = finding("vllm-share", one, Facts(node_gpus=4, gpus=gpus))
    mended = one.with_values(found.fixes[0].changes, Source.FIX)
    assert "vllm-share" not in {entry.code for entry in checks.check(mended, Facts(node_gpus=4, gpus=gpus)).findings}


def test_engines_beside_the_ranks_are_among_the_gpus_of_a_launch_without_a_list() -> None:
    taken = engine.takes(config("prl-grpo/six-gpu", cuda_visible_devices=None), box())
    assert [gpu.index for gpu in taken] == [0, 1, 2, 5, 6, 7]


def test_a_busy_gpu_offers_free_ones() -> None:
    gpus = tuple(GpuUse(index, f"GPU-{index}", None, None, "alice python" if index < 2 else "") for index in range(4))
    found = finding("gpu-busy", config("prl-grpo/standard-2gpu"), Facts(node_gpus=4, gpus=gpus))
    assert dict(found.fixes[0].changes) == {"cuda_visible_devices": "2,3"}


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"vllm_mode": None}, "vllm-mode-missing"),  # ms-swift 4.5.2: "vllm_mode is required when use_vllm is true"
        ({"use_vllm": False}, "vllm-mode-unused"),  # "vllm_mode is not supported when use_vllm is false"
    ],
)
def test_vllm_mode_goes_with_use_vllm(values: dict[str, object], code: str) -> None:
    found = finding(code, config("swift-grpo/colocate-4gpu", **values))
    assert checks.check(config("swift-grpo/colocate-4gpu", **values).with_values(found.fixes[0].changes, Source.FIX)).ok


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"num_infer_workers": 8}, "infer-workers-exceed-processes"),
        ({"nproc_per_node": 3, "num_infer_workers": 2}, "infer-workers-overlap"),
        ({"async_generate": True}, "async-generate-shares"),
        ({"tensor_parallel_size": 2, "nproc_per_node": 2, "num_infer_workers": 2}, "tensor-parallel-layout"),
        (
            {"tensor_parallel_size": 6, "num_infer_workers": None},
            "tensor-parallel-layout",
        ),  # not set: the program takes 1
        ({"async_generate": True, "num_infer_workers": None}, "async-generate-shares"),
        ({"num_infer_workers": None}, "infer-workers-overlap"),
        ({"nproc_per_node": 8}, "processes-exceed-gpus"),
        ({"use_vllm": False, "nproc_per_node": 3, "num_generations": 3, "num_infer_workers": 1}, "gpus-divide"),
        ({"cuda_visible_devices": "0,0"}, "devices-repeated"),
        *(
            ({"cuda_visible_devices": f"{before}{item}"}, "devices-unreadable")
            for item in ("-", "+", "--1", "+-1", "²", "- 1", "1" * 4301)
            for before in ("", "0,1,2,3,")
        ),
        ({"cuda_visible_devices": "-1"}, "devices-none"),
        ({"cuda_visible_devices": "0,1,2,3,"}, "devices-cut"),
        ({"cuda_visible_devices": "0-3", "nproc_per_node": 1}, "devices-odd"),
        ({"cuda_visible_devices": '"0,1"'}, "devices-none"),
    ],
)
def test_layouts_of_prls_fork(values: dict[str, object], code: str) -> None:
    """The layout table of ms-swift 3.3's GRPO trainer, and torch's reading of the device list."""
    finding(code, config("prl-grpo/standard-4gpu", **values))


@pytest.mark.parametrize(
    "values",
    [
        {},  # colocated
        {"nproc_per_node": 3, "num_infer_workers": 1, "num_generations": 3},  # dedicated: legal on 4 cards
        {"nproc_per_node": 2, "num_infer_workers": 2, "async_generate": True},
        {"tensor_parallel_size": 2},
    ],
)
def test_layouts_that_run(values: dict[str, object]) -> None:
    report = checks.check(config("prl-grpo/standard-4gpu", **values))
    assert not [entry for entry in report.findings if entry.severity != "note"]


@pytest.mark.parametrize(
    ("values", "code"),
    [
        (
            {"nproc_per_node": 2},
            "vllm-one-gpu-each",
        ),  # ms-swift 3.6: "GRPO with vLLM is not compatible with `device_map`"
        ({"vllm_tensor_parallel_size": 3}, "tensor-parallel-divides"),
        # 4.6.0, three ranks: rank 2 is in no group, "IndexError" in device_mesh.get_group; two ranks run
        (
            {
                "nproc_per_node": 3,
                "cuda_visible_devices": "0,1,2",
                "sequence_parallel_size": 2,
                "num_generations": 6,
            },
            "sequence-parallel-divides",
        ),
        ({"use_vllm": False, "vllm_mode": None, "nproc_per_node": 2, "deepspeed": "zero2"}, "sharding-one-gpu-each"),
        ({"sequence_parallel_size": 8}, "sequence-parallel-divides"),
        ({"generation_batch_size": 24}, "generation-batch-divides"),
        ({"generation_batch_size": 32, "steps_per_generation": 4}, "generation-batch-agrees"),
        ({"steps_per_generation": "0"}, "steps-per-generation-positive"),
    ],
)
def test_layouts_and_batches_of_ms_swift_4(values: dict[str, object], code: str) -> None:
    finding(code, config("swift-grpo/colocate-4gpu", **values))


# ms-swift 4.6.0 and the 3.5.3 to 4.3.0 wheels: without vLLM "set vllm_tensor_parallel_size to 1 since use_vllm false"; a
# server's engines are its own; colocated, accelerator.num_processes of all nodes is divided (rollout_mixin.py).
@pytest.mark.parametrize(
    "values",
    [
        {"use_vllm": False, "vllm_mode": None, "vllm_tensor_parallel_size": 3},
        {"vllm_mode": "server", "vllm_tensor_parallel_size": 3},
        {
            "nproc_per_node": 3, "cuda_visible_devices": "0,1,2", "nnodes": 2, "vllm_tensor_parallel_size": 2,
            "num_generations": 6, "master_addr": "10.0.0.1",
        },
    ],
)  # fmt: skip
def test_tensor_parallel_is_for_the_ranks_that_share_an_engine(values: dict[str, object]) -> None:
    codes = {one.code for one in checks.check(config("swift-grpo/colocate-4gpu", **values)).findings}
    assert "tensor-parallel-divides" not in codes


def test_both_batch_fields_are_refused_before_4_4() -> None:
    one = config("swift-grpo/colocate-4gpu", generation_batch_size=16, steps_per_generation=1)
    assert finding("generation-batch-and-steps", one, stack="swift-3.12").severity == "error"
    assert checks.check(one).ok


def test_validation_rows_must_fill_an_evaluation_batch() -> None:
    one = config("swift-grpo/colocate-4gpu", val_dataset="val.jsonl", per_device_eval_batch_size=8)
    assert "3 rows" in finding("eval-rows", one, Facts(val_rows=3)).message
    assert checks.check(one, Facts(val_rows=4)).ok


def test_too_few_rows_for_one_generation_batch() -> None:
    one = config("swift-grpo/colocate-4gpu", gradient_accumulation_steps=4)
    assert finding("too-few-rows", one, Facts(rows=7)).severity == "error"
    assert checks.check(one, Facts(rows=8)).ok


def test_an_engine_whose_version_lacks_the_recipes_flags() -> None:
    found = finding("engine-version", config("prl-grpo/standard-4gpu"), Facts(versions={"ms-swift": "4.6.0"}))
    assert "4.6.0" in found.message
    assert checks.check(config("prl-grpo/standard-4gpu"), Facts(versions={"ms-swift": "3.3.0.dev0"})).ok


@pytest.mark.parametrize(
    ("installed", "wanted", "answer"),
    [
        ("4.6.0", ">=4.0", True),
        ("3.12.6", ">=4.0", False),
        ("3.3.0.dev0", "<3.5", True),
        ("3.5.0", "<3.5", False),
        ("4.0", "==4.0.0", True),
    ],
)
def test_versions(installed: str, wanted: str, answer: bool) -> None:
    assert engine.fits(installed, wanted) is answer


def test_the_probed_stack_gives_way_to_what_the_person_picks() -> None:
    one = config("swift-grpo/colocate-4gpu")
    assert checks.check(one, Facts(stack="swift-3.12")).stack.name == "swift-3.12"
    picked = one.with_values({"stack": "swift-3.7"}, Source.FORM)
    assert checks.check(picked, Facts(stack="swift-3.12")).stack.name == "swift-3.7"


def test_missing_files_and_a_taken_port_are_errors() -> None:
    facts = Facts(missing_files=("a.jsonl",), port_owner="python, pid 7")
    one = config("prl-grpo/standard-4gpu")
    assert "a.jsonl" in finding("file-missing", one, facts).message
    assert "29500" in finding("port-taken", one, facts).message


def test_a_node_rank_beyond_the_nodes_is_an_error_with_ways_out() -> None:
    found = finding("node-rank-beyond", config("prl-grpo", node_rank=2, nnodes=2, master_addr="10.0.0.1"))
    assert (found.severity, found.field) == ("error", "node_rank")
    assert [dict(fix.changes) for fix in found.fixes] == [{"node_rank": 1}, {"nnodes": 3}]


@pytest.mark.parametrize("address", ["127.0.0.1", "127.1.2.3", "localhost", "LOCALHOST", "::1", ""])
def test_a_loopback_address_for_several_nodes_is_a_warning(address: str) -> None:
    found = finding("master-addr-loopback", config("prl-grpo/standard-4gpu", nnodes=2, master_addr=address))
    assert (found.severity, found.field) == ("warning", "master_addr")
    assert checks.check(config("prl-grpo/standard-4gpu", master_addr=address)).ok


@pytest.mark.parametrize("address", ["10.0.0.1", "node0.cluster", "fe80::1%eth0"])
def test_an_address_that_others_reach_is_no_finding(address: str) -> None:
    found = checks.check(config("prl-grpo/standard-4gpu", nnodes=2, master_addr=address)).findings
    assert "master-addr-loopback" not in {one.code for one in found}


def test_a_variable_that_no_field_reads_is_named_with_the_nearest() -> None:
    facts = Facts(inherited={"PRL_NUM_GENERATION": "4", "PRL_NUM_GENERATIONS": "2"})
    found = finding("environment-unread", config("prl-grpo/standard-4gpu"), facts)
    assert (found.severity, found.field) == ("warning", "num_generations")
    assert "PRL_NUM_GENERATION " in found.message
    assert "PRL_NUM_GENERATIONS" in found.why


@pytest.mark.parametrize(
    ("seconds", "words"), [(20, "1 minute"), (80, "1 minute"), (300, "5 minutes"), (7200, "2.0 hours")]
)
def test_a_length_of_time_is_grammatical(seconds: float, words: str) -> None:
    assert advice.span(seconds) == words


def test_one_step_is_one_step() -> None:
    report = checks.check(config("demo", max_steps=1, save_steps=1))
    assert (text.length(report), text.on_the_way(report)) == ("1 step", "1 checkpoint and 0 evaluations on the way")


def test_a_share_for_vllm_that_leaves_policy_and_evaluator_no_room_is_a_warning() -> None:
    # Measured on an 80 GB card with ms-swift 3.3.0.dev0: 29.4 GiB are held before vLLM starts; above 0.629 it stops.
    warned = finding("beyond-known", config("prl-grpo/standard-4gpu", vllm_gpu_memory_utilization="0.95"))
    assert (warned.severity, dict(warned.fixes[0].changes)) == ("warning", {"vllm_gpu_memory_utilization": 0.62})
    assert not [f for f in checks.check(config("prl-grpo/standard-4gpu")).findings if f.code == "beyond-known"]


@pytest.mark.parametrize("empty", ["", None])
def test_an_empty_list_of_gpus_says_that_it_is_not_set_and_sets_nothing(empty: str | None) -> None:
    """Case E06, empty: torch 2.13.0's parser reads an empty variable as no device, but none reaches the engine."""
    one = config("prl-grpo/standard-4gpu", cuda_visible_devices=empty)
    found = finding("every-gpu", one, Facts(node_gpus=4))
    assert (found.severity, found.field) == ("note", "cuda_visible_devices")
    assert found.message == "cuda_visible_devices is not set: the job sees all GPUs of its node."
    assert "-1 hides every GPU" in found.why
    assert "CUDA_VISIBLE_DEVICES" not in dict(build(one).env)
    around = finding("every-gpu", one, Facts(inherited={"CUDA_VISIBLE_DEVICES": ""}))
    assert around.message.endswith("the job keeps CUDA_VISIBLE_DEVICES=, which is set here.")


def test_gpus_that_nobody_took_away_have_no_such_note() -> None:
    for one in (config("swift-grpo"), config("prl-grpo"), config("prl-grpo", cuda_visible_devices="-1")):
        assert "every-gpu" not in {entry.code for entry in checks.check(one).findings}
