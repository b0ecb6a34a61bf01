"""Fields that need each other, in every recipe.

What judged them: ms-swift 4.6.0's own argument classes (tests/swift/test_swift_needs.py asks them again), and the sources of
MiniOneRec at 81b4ba9: `sft.py` uses an `original_vocab_size` that it never defines once freeze_LLM is true; `rl.py` loads the
embeddings from ada_path and the recommender from cf_path for the two rewards that need them. What a run on the CPU takes,
ms-swift 4.6.0 with transformers 5.19.0 and accelerate 1.15.0 said (tests/swift/test_swift_cpu.py asks them again), and for the
stages DeepSpeed 0.19.8 beside them: zero0 and zero2 ran with two processes, zero3 with one; with two it stopped, and so did
zero3_offload.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from prl_tui.core import catalog, checks, needs
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.core.findings import Facts, Finding
from prl_tui.core.plan import build
from prl_tui.export import bash
from tests.built_in import RECIPES


def config(name: str, **values: object) -> RunConfig:
    if name == "swift-grpo" and "use_cpu" in values:
        values = {**NO_VLLM, **values}
    return resolve(RECIPES[name], RECIPES[name].data.default_preset).with_values(values, Source.SET)


def needed(of: RunConfig) -> list[Finding]:
    return [finding for finding in checks.check(of).findings if finding.code in needs.codes(of.recipe)]


SWIFT = ("swift-sft", "swift-dpo", "swift-rm", "swift-grpo")
NO_VLLM = {"use_vllm": False, "vllm_mode": None}
CPU = {"use_cpu": True, "cuda_visible_devices": None}
ALONE = {"launcher": "swift", "nproc_per_node": 1, "cuda_visible_devices": "0", "gradient_accumulation_steps": 16}
REFUSED = [
    ("minionerec-sft", {"freeze_LLM": "True"}, "freeze_LLM", "freeze_LLM=True does not work; False does."),
    ("minionerec-rl", {"reward_type": "semantic"}, "ada_path", "With reward_type=semantic, ada_path must be set."),
    ("minionerec-rl", {"reward_type": "sasrec"}, "cf_path", "With reward_type=sasrec, cf_path must be set."),
    ("minionerec-rl", {"accelerate_config": "file", "config_file": None}, "config_file",
     "With accelerate_config=file, config_file must be set."),
    ("minionerec-sft", {"num_epochs": 0}, "num_epochs", "num_epochs=0 does not work; 10 does."),
    ("minionerec-rl", {"num_train_epochs": "0.0"}, "num_train_epochs", "num_train_epochs=0.0 does not work; 2 does."),
    *((name, {"num_train_epochs": 0}, "num_train_epochs", "With num_train_epochs=0, max_steps must be set.")
      for name in ("prl-grpo", "swift-grpo", "swift-sft", "swift-dpo", "swift-rm")),
    ("swift-sft", {"packing": True}, "packing", "With packing=true, attn_impl=flash_attn is needed."),
    ("swift-sft", {"packing": True, "attn_impl": "sdpa"}, "packing", "With packing=true, attn_impl=flash_attn is needed."),
    ("swift-grpo", {"vllm_mode": "server"}, "vllm_server_host",
     "With use_vllm=true and vllm_mode=server, vllm_server_host or vllm_server_base_url must be set."),
    ("swift-grpo", {"vllm_server_host": "10.0.0.2"}, "vllm_server_host",
     "With vllm_server_host=10.0.0.2 and use_vllm=true, vllm_mode=server is needed."),
    ("swift-grpo", {"vllm_server_base_url": "http://10.0.0.2:8000"}, "vllm_server_base_url",
     "With vllm_server_base_url=http://10.0.0.2:8000 and use_vllm=true, vllm_mode=server is needed."),
    *((name, {**CPU, "ddp_backend": "nccl"}, "ddp_backend", "With use_cpu=true, ddp_backend=gloo is needed.")
      for name in SWIFT),
    *((name, {**CPU, "attn_impl": "flash_attn"}, "attn_impl", "With use_cpu=true, attn_impl=sdpa is needed.")
      for name in SWIFT),
    *((name, {**CPU, "nproc_per_node": 2, "deepspeed": stage}, "deepspeed",
       f"With deepspeed={stage} and use_cpu=true, nproc_per_node=1 is needed.")
      for name in SWIFT for stage in ("zero3", "zero3_offload")),
    *((name, {**ALONE, "ddp_backend": backend}, "ddp_backend",
       "With launcher=swift and nproc_per_node=1 and nnodes=1, ddp_backend must not be set.")
      for name in SWIFT[:3] for backend in ("nccl", "gloo")),
    *(("swift-grpo", {**ALONE, **NO_VLLM, "ddp_backend": backend}, "ddp_backend",
       "With launcher=swift and nproc_per_node=1 and nnodes=1 and use_vllm=false, ddp_backend must not be set.")
      for backend in ("nccl", "gloo")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "values", "field", "message"), REFUSED)
def test_what_the_program_stops_with_is_an_error_at_its_field_with_a_way_out(
    name: str, values: dict[str, object], field: str, message: str
) -> None:
    (found,) = needed(config(name, **values))
    assert (found.severity, found.field, found.message) == ("error", field, message)
    assert found.why
    assert found.fixes
    for fix in found.fixes:
        assert checks.check(config(name, **values).with_values(fix.changes, Source.FIX)).ok


@pytest.mark.parametrize(("name", "values"), [
    ("minionerec-sft", {"freeze_LLM": None}),
    ("minionerec-rl", {"reward_type": "semantic", "ada_path": "emb.npy"}),
    ("minionerec-rl", {"reward_type": "sasrec", "cf_path": "sasrec.pt"}),
    ("minionerec-rl", {"reward_type": "rule"}),
    ("swift-sft", {"packing": True, "attn_impl": "flash_attn"}),
    ("prl-grpo", {"num_train_epochs": 0, "max_steps": 5}),
    ("swift-sft", {"num_train_epochs": 0.5}),
    ("minionerec-sft", {"num_epochs": "1e-3"}),
    ("swift-sft", {"packing": False}),
    ("swift-grpo", {"vllm_mode": "server", "vllm_server_host": "10.0.0.2", "vllm_server_port": 8001}),
    ("swift-grpo", {"vllm_mode": "server", "vllm_server_base_url": ["http://10.0.0.2:8000", "http://10.0.0.3:8000"]}),
])  # fmt: skip
def test_what_it_takes_has_no_finding(name: str, values: dict[str, object]) -> None:
    assert needed(config(name, **values)) == []


def test_a_port_that_nothing_reads_is_a_warning() -> None:
    (found,) = needed(config("swift-grpo", vllm_server_port=8001))
    assert (found.severity, found.field) == ("warning", "vllm_server_port")


def test_the_server_reaches_the_command() -> None:
    words = build(config("swift-grpo", vllm_mode="server", vllm_server_host="10.0.0.2", vllm_server_port=8001)).argv
    assert words[words.index("--vllm_server_host") :][:4] == (
        "--vllm_server_host", "10.0.0.2", "--vllm_server_port", "8001")  # fmt: skip


def test_every_preset_has_what_it_needs() -> None:
    for recipe in RECIPES.values():
        for preset in recipe.presets:
            assert list(needs.findings(resolve(recipe, preset), needs.of(recipe))) == [], (recipe.name, preset)


def test_an_exported_script_refuses_the_value_that_fails_too() -> None:
    script = bash.export(build(config("minionerec-sft"))).text
    assert 'one_of PRL_FREEZE_LLM "$v_freeze_LLM" False\n' in script


def test_a_need_that_names_no_field_is_a_problem_of_its_file(config_dir: Path) -> None:
    (config_dir / "own.toml").write_text(
        'schema = 1\nname = "own"\ntitle = { en = "own" }\n[program.python]\nscript = "a.py"\n[[needs]]\n'
        'where = { mastr_port = "*" }\nfield = "workdir"\nwhy = { en = "so" }\n'
    )
    (problem,) = catalog.load([config_dir]).problems
    assert "needs[0]: there is no such field as mastr_port; did you mean master_port?" in problem.message


def test_a_server_without_vllm_is_waited_for_and_each_way_out_leads_on() -> None:
    """ms-swift 4.6.0: `_init_external_vllm` connects whatever use_vllm says, and vllm_mode is refused without it."""
    one = config("swift-grpo", use_vllm=False, vllm_server_host="10.0.0.1")
    for _ in range(4):
        wrong = [found for found in checks.check(one, Facts()).findings if found.severity == "error"]
        if not wrong:
            break
        assert all(found.fixes for found in wrong)
        one = one.with_values(wrong[0].fixes[0].changes, Source.FIX)
    assert checks.check(one, Facts()).ok


def test_a_recipe_of_ones_own_whose_default_is_no_pass_has_a_way_out(config_dir: Path) -> None:
    """-1 is the HF Trainer's own default of max_steps."""
    (config_dir / "own.toml").write_text(
        'schema = 1\nname = "own"\ntitle = { en = "own" }\nlauncher = "python"\n[program.python]\nscript = "a.py"\n'
        '[[field]]\nkey = "num_epochs"\ntype = "float"\ngroup = "schedule"\ndefault = 0\nlabel = { en = "epochs" }\n'
        '[[field]]\nkey = "max_steps"\ntype = "int"\ngroup = "schedule"\ndefault = -1\nlabel = { en = "max steps" }\n'
    )
    loaded = catalog.load([config_dir])
    assert loaded.problems == ()
    own = resolve(loaded.recipes["own"])
    (found,) = needed(own)
    assert [fix.changes for fix in found.fixes] == [{"num_epochs": 1}]
    assert needed(own.with_values(found.fixes[0].changes, Source.FIX)) == []


@pytest.mark.parametrize(("values", "ways"), [
    ({"ddp_backend": "nccl"}, [{"ddp_backend": "gloo"}, {"ddp_backend": None}, {"use_cpu": None}]),
    ({"attn_impl": "flash_attn"}, [{"attn_impl": "sdpa"}, {"attn_impl": None}, {"use_cpu": None}]),
])  # fmt: skip
def test_on_the_cpu_what_needs_gpus_is_replaced_or_left_out(
    values: dict[str, object], ways: list[dict[str, object]]
) -> None:
    (found,) = needed(config("swift-sft", **CPU, **values))
    assert [fix.changes for fix in found.fixes] == ways
    assert found.code == ("backend-on-cpu" if "ddp_backend" in values else "attention-on-cpu")


def test_where_one_field_breaks_two_needs_a_way_out_meets_both() -> None:
    """gloo is right for the CPU and as wrong as nccl for a process that no torchrun starts."""
    one = config("swift-sft", **{**ALONE, **CPU}, ddp_backend="nccl")
    found = needed(one)
    assert [finding.code for finding in found] == ["backend-of-one", "backend-on-cpu"]
    assert [[fix.changes for fix in finding.fixes] for finding in found] == [[{"ddp_backend": None}]] * 2


@pytest.mark.parametrize("values", [
    {**CPU, "ddp_backend": "gloo"}, {**CPU, "ddp_backend": None}, {**CPU, "attn_impl": "sdpa"}, {"ddp_backend": "nccl"},
    {**CPU, **ALONE, "cuda_visible_devices": None}, {**ALONE, "launcher": "torchrun", "ddp_backend": "nccl"},
    {**CPU, "nproc_per_node": 1, "deepspeed": "zero3"}, {**CPU, "deepspeed": "zero2"}, {"deepspeed": "zero3"},
    {"launcher": "swift", "ddp_backend": "gloo"}, {**CPU, "torch_dtype": "float16"}, {**CPU, "torch_dtype": "bfloat16"},
])  # fmt: skip
@pytest.mark.parametrize("name", SWIFT)
def test_what_runs_on_the_cpu_or_through_torchrun_has_no_finding(name: str, values: dict[str, object]) -> None:
    assert needed(config(name, **values)) == []


def test_an_exported_script_refuses_nccl_on_the_cpu_too() -> None:
    text = bash.export(build(config("swift-sft", **CPU))).text
    assert "With PRL_USE_CPU=true, PRL_DDP_BACKEND=gloo is needed." in text


def test_grpo_with_vllm_makes_itself_a_group_of_one() -> None:
    """ms-swift 4.6.0: `RLHFArguments._init_grpo` calls `set_default_ddp_config` where use_vllm is on."""
    assert needed(config("swift-grpo", **ALONE, ddp_backend="nccl")) == []


@pytest.mark.parametrize(
    ("name", "gone", "values"),
    [
        ("swift-sft", "nproc_per_node", {"launcher": "swift", "ddp_backend": "gloo"}),
        ("swift-sft", "nnodes", {"launcher": "swift", "nproc_per_node": 1, "ddp_backend": "gloo"}),
        (
            "swift-grpo",
            "use_vllm",
            {"launcher": "swift", "nproc_per_node": 1, "ddp_backend": "gloo", "vllm_mode": None},
        ),
    ],
)
def test_what_is_not_set_counts_as_what_the_program_takes(name: str, gone: str, values: dict[str, object]) -> None:
    """ms-swift 4.6.0 stopped each: “Default process group has not been initialized”; `check` said nothing."""
    one = resolve(RECIPES[name], RECIPES[name].data.default_preset).with_values({**values, gone: None}, Source.SET)
    assert [found.code for found in needed(one)] == ["backend-of-one"]


@pytest.mark.parametrize(("processes", "nodes", "count"), [(1, 1, 0), (None, None, 0), (1, 2, 1), (2, 2, 2)])
def test_zero_3_on_the_cpu_counts_the_processes_of_all_nodes(
    processes: int | None, nodes: int | None, count: int
) -> None:
    """DeepSpeed 0.19.8 by two torchruns of one process: “train_batch_size is not equal to …  2 != 1 * 1 * 1”."""
    several = {"nproc_per_node": processes, "nnodes": nodes, "master_addr": "10.0.0.1"}
    one = config("swift-sft", **CPU, **several, deepspeed="zero3")
    assert [found.code for found in needed(one)] == ["zero3-on-cpu"] * count


def test_one_process_without_torchrun_is_warned_of_deepspeed() -> None:
    """ms-swift 4.6.0 with DeepSpeed 0.19.8 stopped: “No module named 'mpi4py'”."""
    alone = {**ALONE, "deepspeed": "zero2"}
    [found] = list(needs.findings(config("swift-sft", **alone), RECIPES["swift-sft"].data.needs))
    assert (found.code, found.severity) == ("deepspeed-of-one", "warning")
    with_vllm = config("swift-grpo", **alone, use_vllm=True)
    assert not list(needs.findings(with_vllm, RECIPES["swift-grpo"].data.needs))
