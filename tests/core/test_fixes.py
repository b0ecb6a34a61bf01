"""Every fix passes every rule, and where one field alone can mend a config, one is offered: against brute force."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prl_tui.core import assess, candidates, checks, constraints
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.core.findings import Facts
from prl_tui.core.space import Space
from prl_tui.core.value import replace
from tests.built_in import CATALOG

GRID = range(1, 17)


def broken(source: str, values: dict[str, object]) -> RunConfig:
    recipe, _, preset = source.partition("/")
    return resolve(CATALOG.recipes[recipe], preset).with_values(values, Source.SET)


def offers(config: RunConfig, facts: Facts) -> list[dict[str, object]]:
    report = checks.check(config, facts)
    errors = [finding for finding in report.findings if finding.severity == "error"]
    return [dict(fix.changes) for finding in errors for fix in finding.fixes]


def passes(config: RunConfig, changes: dict[str, object], facts: Facts) -> bool:
    return checks.check(config.with_values(changes, Source.FIX), facts).ok


def mended_by(config: RunConfig, fields: tuple[str, ...], facts: Facts, grid: range) -> int | None:
    """The smallest sum of distances of a change of exactly these fields that works; None where none on the grid does."""
    now = [config.value(field) for field in fields]
    found = [
        sum(abs(value - old) for value, old in zip(values, now, strict=True) if isinstance(old, int))
        for values in product(grid, repeat=len(fields))
        if all(value != old for value, old in zip(values, now, strict=True))
        and passes(config, dict(zip(fields, values, strict=True)), facts)
    ]
    return min(found, default=None)


small = st.integers(1, 8)
TUNED = {
    "prl-grpo": ("num_generations", "per_device_train_batch_size", "per_device_eval_batch_size", "nproc_per_node"),
    "swift-grpo": (
        "num_generations", "per_device_train_batch_size", "gradient_accumulation_steps", "steps_per_generation",
        "nproc_per_node",
    ),
    "minionerec-sft": ("batch_size", "micro_batch_size", "nproc_per_node"),
    "demo": ("global_batch_size", "per_device_train_batch_size", "nproc_per_node"),
    "vlm-sft": ("batch_size", "nproc_per_node"),
}  # fmt: skip

BAD: dict[str, st.SearchStrategy[dict[str, object]]] = {
    name: st.dictionaries(
        st.sampled_from(fields), st.sampled_from([0, -3, "", "2abc", "08", 10**8, "a[$(cmd)]"]), max_size=2
    )
    for name, fields in {
        "prl-grpo": (
            *TUNED["prl-grpo"],
            "gradient_accumulation_steps",
            "num_infer_workers",
            "learning_rate",
            "max_steps",
        ),
        "swift-grpo": (*TUNED["swift-grpo"], "sequence_parallel_size", "vllm_mode", "learning_rate", "eval_strategy"),
        "minionerec-sft": (*TUNED["minionerec-sft"], "num_epochs", "category"),
        "demo": (*TUNED["demo"], "learning_rate", "nnodes", "fail_rank"),
        "vlm-sft": (*TUNED["vlm-sft"], "master_port"),
    }.items()
}
"""Values that no field takes, one or two of them beside the others."""


@st.composite
def cases(draw: st.DrawFn, recipe: str) -> dict[str, object]:
    values: dict[str, object] = {key: draw(small) for key in TUNED[recipe]}
    if "num_generations" in values:
        values["num_generations"] = draw(st.integers(2, 17))
    if recipe == "swift-grpo" and draw(st.booleans()):
        del values["steps_per_generation"]
    if recipe in {"minionerec-sft", "vlm-sft"}:
        values["batch_size"] = draw(st.integers(1, 64))
    if recipe == "demo":
        values["global_batch_size"] = draw(st.integers(1, 40))
        values |= {key: draw(st.integers(0, 9)) for key in ("fail_rank", "hang_rank") if draw(st.booleans())}
    if recipe == "prl-grpo":
        values["cuda_visible_devices"] = ",".join(map(str, range(draw(small))))
        values["num_infer_workers"] = draw(st.integers(1, 4))
    return values


@st.composite
def bad_cases(draw: st.DrawFn, recipe: str) -> dict[str, object]:
    return {**draw(cases(recipe)), **draw(BAD[recipe])}


def facts_for(recipe: str) -> Facts:
    return Facts(node_gpus=16 if recipe == "prl-grpo" else None)


@pytest.mark.slow
@pytest.mark.parametrize("recipe", list(TUNED))
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_fixes_beside_brute_force(recipe: str, data: st.DataObject) -> None:
    """Bad values in a second or third field too: a fix mends them all, or it is none."""
    config = broken(recipe, data.draw(bad_cases(recipe)))
    facts = facts_for(recipe)
    if checks.check(config, facts).ok:
        return
    found = offers(config, facts)
    assert found, "there is always a way out"
    for changes in found:
        assert passes(config, changes, facts), changes
    wrong = [key for key, setting in config.settings.items() if setting.problem]
    alone = [mended_by(config, (key,), facts, GRID) for key in TUNED[recipe] if set(wrong) <= {key}]
    if any(cost is not None for cost in alone):
        assert any(len(changes) == 1 for changes in found)


@pytest.mark.parametrize("recipe", ["prl-grpo", "swift-grpo", "minionerec-sft"])
@settings(max_examples=12, deadline=None)
@given(data=st.data())
@pytest.mark.slow
def test_where_two_fields_must_change_the_nearest_two_are_offered(recipe: str, data: st.DataObject) -> None:
    """Against every pair of values from 1 to 16, on a node whose GPUs never run out."""
    fields = TUNED[recipe][:3]
    values: dict[str, object] = {key: data.draw(st.integers(0, 15)) for key in fields}
    values["nproc_per_node"] = data.draw(st.sampled_from([1, 3]))
    config, facts = broken(recipe, values), Facts()
    if checks.check(config, facts).ok:
        return
    found = [changes for changes in offers(config, facts) if set(changes) <= set(fields)]
    if any(len(changes) == 1 for changes in offers(config, facts)):
        return
    costs = [mended_by(config, pair, facts, range(1, 17)) for pair in combinations(fields, 2)]
    best = min((cost for cost in costs if cost is not None), default=None)
    if best is None:
        return
    everything = offers(config, facts)
    assert min(len(changes) for changes in everything) == 2
    mine = [sum(abs(int(v) - int(config.value(k))) for k, v in c.items()) for c in everything if not isinstance(c, str)
            and all(isinstance(v, int) for v in c.values())]  # fmt: skip
    if any(config.settings[key].problem for key in fields) and min(mine) > best:
        return  # not mended yet: for a value wrong by itself the preset's is offered where the search for a nearer one gives up
    assert min(mine) <= best, (found, best)


@pytest.mark.slow
@pytest.mark.parametrize("recipe", list(TUNED))
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_the_constraints_never_hold_back_a_sound_change(recipe: str, data: st.DataObject) -> None:
    config = broken(recipe, data.draw(cases(recipe)))
    stack = data.draw(st.sampled_from(["", "swift-3.5", "swift-3.12", "trl-0.27"]))
    rows, val_rows = (data.draw(st.none() | st.integers(0, 40)) for _ in range(2))
    case = assess.case(config, assess.stack_of(config, stack), 16, rows, val_rows)
    changes = data.draw(st.dictionaries(st.sampled_from(TUNED[recipe]), st.integers(1, 12), min_size=1, max_size=2))
    if assess.assess(case.with_values(changes)).errors:
        return
    place = Space(case, constraints.of_case(case), changes)
    for part, value in changes.items():
        within = place.within(part, 1, 16)
        assert within is not None
        assert value in set(within.nearest(case.values[part] or 1))
        place.put(part, value)


ISSUE = [
    ("prl-grpo/standard-4gpu", {"gradient_accumulation_steps": 0, "num_generations": 9},
     {"gradient_accumulation_steps": 1, "num_generations": 8}),
    ("prl-grpo/standard-4gpu", {"per_device_train_batch_size": 0, "num_generations": 6},
     {"per_device_train_batch_size": 3}),
    ("prl-grpo", {"nproc_per_node": 1, "per_device_train_batch_size": 7, "num_generations": 15,
                  "per_device_eval_batch_size": 3},
     {"num_generations": 7, "per_device_eval_batch_size": 7}),
    ("minionerec-sft", {"batch_size": 1}, {"batch_size": 128}),
    ("minionerec-sft", {"batch_size": 1, "micro_batch_size": 7, "nproc_per_node": 5}, {"batch_size": 35}),
    ("minionerec-sft", {"batch_size": 0, "micro_batch_size": 3, "nproc_per_node": 1}, {"batch_size": 3}),
    ("prl-grpo", {"learning_rate": "fast", "num_generations": 3}, {"learning_rate": 1e-6, "num_generations": 2}),
    ("prl-grpo", {"max_steps": 0}, {"max_steps": None}),
    ("prl-grpo", {"per_device_eval_batch_size": "x"}, {"per_device_eval_batch_size": 4}),
    ("prl-grpo/standard-4gpu", {"cuda_visible_devices": [0, 1]}, {"cuda_visible_devices": "0,1,2,3"}),
    ("prl-grpo", {"async_generate": "perhaps", "num_generations": 3}, {"num_generations": 2, "async_generate": None}),
    ("prl-grpo", {"async_generate": "true"}, {"async_generate": False}),
    ("prl-grpo", {"tensor_parallel_size": 2, "num_infer_workers": 2}, {"tensor_parallel_size": None}),
    ("swift-grpo", {"sequence_parallel_size": 16}, {"sequence_parallel_size": 4}),
    ("swift-grpo", {"vllm_tensor_parallel_size": 3}, {"vllm_tensor_parallel_size": 2}),
    ("swift-grpo", {"use_vllm": "maybe", "num_generations": 3}, {"num_generations": 2, "use_vllm": True}),
    ("swift-grpo/colocate-4gpu", {"vllm_mode": None, "num_generations": 3},
     {"num_generations": 2, "vllm_mode": "colocate"}),
]  # fmt: skip


@pytest.mark.parametrize(("source", "values", "first"), ISSUE)
def test_the_first_way_out(source: str, values: dict[str, object], first: dict[str, object]) -> None:
    config = broken(source, values)
    found = offers(config, Facts())
    assert found[0] == first
    assert all(passes(config, changes, Facts()) for changes in found)


def test_too_few_rows_have_a_way_out() -> None:
    facts = Facts(rows=3)
    config = broken("swift-grpo", {"per_device_train_batch_size": 32})
    found = offers(config, facts)
    assert found[0] == {"per_device_train_batch_size": 6}
    assert all(passes(config, changes, facts) for changes in found)


def test_a_number_far_off_still_finds_two_fields() -> None:
    values = {"nproc_per_node": 1, "per_device_train_batch_size": 7, "num_generations": 60000,
              "per_device_eval_batch_size": 3}  # fmt: skip
    config = broken("prl-grpo", values)
    found = offers(config, Facts())
    assert {len(changes) for changes in found} == {2}
    assert all(passes(config, changes, Facts()) for changes in found)


def test_a_value_out_of_bounds_is_told_alone_whatever_its_batch_would_come_to() -> None:
    report = checks.check(broken("minionerec-sft", {"batch_size": 20_000_001, "micro_batch_size": 16}))
    assert not report.ok
    assert [(finding.code, finding.field) for finding in report.findings] == [("out-of-range", "batch_size")]


def test_free_gpus_are_offered_only_where_no_rule_breaks() -> None:
    """Dedicated generation: 1 process and 1 worker need two GPUs of their own with async_generate."""
    from prl_tui.core.findings import GpuUse

    config = broken("prl-grpo/standard-2gpu", {"nproc_per_node": 1, "num_infer_workers": 1, "async_generate": "true"})
    gpus = tuple(GpuUse(n, f"GPU-{n}", 1, 2, "somebody" if n == 0 else "") for n in range(4))
    found = [one for one in checks.check(config, Facts(node_gpus=4, gpus=gpus)).findings if one.code == "gpu-busy"]
    assert [dict(fix.changes) for fix in found[0].fixes] == [{"cuda_visible_devices": "1,2"}]


def test_the_guides_example_gets_its_own_ways_out() -> None:
    """The guide's example: 4 × 4 = 16 on 3 generations; its ways out are 2 generations or a batch of 3."""
    report = checks.check(broken("prl-grpo", {"num_generations": 3}))
    labels = [fix.label for fix in report.findings[0].fixes]
    assert labels[0] == "generations 3 → 2"
    assert "per-device batch 4 → 3" in labels


def test_seven_processes_and_eight_generations_offer_seven() -> None:
    """A report to open-r1: one of eight cards kept for vLLM, "(7 x 1)" on 8 generations."""
    values = {
        "nproc_per_node": 7,
        "per_device_train_batch_size": 1,
        "num_generations": 8,
        "cuda_visible_devices": "0,1,2,3,4,5,6",
    }
    fixes = offers(broken("prl-grpo", values), Facts())
    assert {"num_generations": 7} in fixes
    assert {"per_device_train_batch_size": 8} in fixes


def test_a_fix_names_its_fields_in_the_same_order_every_time():
    wrong = {"num_generations": "100000000", "nnodes": "08"}
    for seed in range(4):  # sets of names have another order in every interpreter
        command = [sys.executable, "-m", "prl_tui", "check", "prl-grpo/standard-4gpu", "--json"]
        for key, value in wrong.items():
            command += ["--set", f"{key}={value}"]
        environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        fixes = [fix for finding in json.loads(done.stdout)["findings"] for fix in finding["fixes"]]
        assert fixes
        order = [key for key in candidates.TUNABLE if key in wrong]
        assert all([key for key in fix["set"] if key in wrong] == order for fix in fixes), seed


@pytest.mark.parametrize(
    ("key", "typed", "meant"),
    [("torch_dtype", "fp16", "float16"), ("torch_dtype", "BF16", "bfloat16"), ("vllm_mode", "Server", "server"),
     ("vllm_mode", "colocated", "colocate"), ("vllm_mode", "foo", "colocate")],
)  # fmt: skip
def test_a_mistyped_choice_becomes_the_one_that_was_meant(key, typed, meant):
    offered = offers(broken("swift-grpo", {key: typed}), Facts())
    assert offered == [{key: meant}]


@pytest.mark.parametrize(
    ("preset", "number"), [("eight-gpu", 12), ("eight-gpu", 20), ("eight-gpu", 24), ("four-gpu", 12)]
)
def test_no_way_out_asks_for_more_processes_and_fewer_come_last(preset: str, number: int) -> None:
    """12 generations on 8 GPUs: 9 processes would do, and the preset has no ninth GPU; 6 leave two idle."""
    config = broken(f"minionerec-rl/{preset}", {"num_generations": number})
    found = offers(config, Facts())
    assert [*found[0]] == ["num_generations"]
    processes = [
        changes.get("nproc_per_node", 0) for changes in found[: len(found) // 2]
    ]  # two findings, the same ways out
    assert max(processes) <= config.value("nproc_per_node")
    assert processes == sorted(processes)


def test_back_to_as_many_processes_as_the_preset_has_is_offered() -> None:
    config = broken("prl-grpo/high-throughput-4gpu", {"nproc_per_node": 3, "num_generations": 16})
    assert {"nproc_per_node": 4} in offers(config, Facts())


def test_more_processes_say_what_they_need_where_nothing_else_would_do() -> None:
    case_of = checks._case

    def nothing_else(*given):
        stack, case = case_of(*given)
        parts = frozenset(case.values) - {"nproc_per_node"}
        return stack, replace(case, fixed=parts)

    config = broken("minionerec-rl/eight-gpu", {"num_generations": 12})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "_case", nothing_else)
        found = next(one.fixes for one in checks.check(config).findings if one.fixes)
    assert [fix.label for fix in found] == ["processes 8 → 6"]
    config = broken("minionerec-rl/eight-gpu", {"num_generations": 3 * 1024})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "_case", nothing_else)
        found = next(one.fixes for one in checks.check(config).findings if one.fixes)
    assert [fix.label for fix in found] == ["processes 8 → 48, which needs 48 GPUs"]


def test_no_way_out_leads_to_a_warning_where_another_leads_to_none() -> None:
    """Four processes and three workers would share the six GPUs of the preset."""
    config = broken("prl-grpo/six-gpu", {"num_generations": 8})
    found = offers(config, Facts())
    assert {"num_generations": 6} in found
    assert all(not checks.check(config.with_values(one, Source.FIX)).count("warning") for one in found)
    shared = checks.check(broken("prl-grpo/six-gpu", {"nproc_per_node": 4})).findings[0]
    assert shared.code == "infer-workers-overlap"
    assert "processes + workers" in shared.why


def test_of_two_values_the_one_that_nothing_warns_of_is_offered() -> None:
    """A batch of 5 on two processes would mend it too, and be rounded down."""
    config, facts = (
        broken("vlm-sft/two-gpu", {"batch_size": 8, "accumulation_steps": 4, "config_source": "generate"}),
        Facts(rows=14),
    )
    found = offers(config, facts)
    assert {"batch_size": 4} in found
    assert {"batch_size": 5} not in found


def test_a_way_out_that_brings_a_new_warning_comes_last():
    config, facts = broken("prl-grpo/high-throughput-4gpu", {"num_generations": 3}), Facts(node_gpus=4)
    warned = [
        checks.check(config.with_values(one, Source.FIX), facts).count("warning") for one in offers(config, facts)
    ]
    assert warned == sorted(warned)
    assert warned[0] == 0
