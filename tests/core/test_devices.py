"""CUDA_VISIBLE_DEVICES, judged by torch 2.13.0's own `torch.cuda._parse_visible_devices` and what it does with UUIDs."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from prl_tui.core import checks, devices, engine
from prl_tui.core.config import RunConfig, Source, resolve
from prl_tui.core.findings import Facts, GpuUse
from prl_tui.core.value import replace
from tests.built_in import CATALOG

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "fixtures" / "cases" / "E06.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_reported_forms_count_as_torch_counts_them(case: dict[str, object]) -> None:
    read = devices.read(case["CUDA_VISIBLE_DEVICES"], 4)  # type: ignore[arg-type]
    assert ("all" if read.listed is None else read.listed) == case["torch_parse_count"]
    if case["usable_on_a_4_gpu_host"] is not None:
        assert read.usable == case["usable_on_a_4_gpu_host"]


def test_a_full_width_digit_is_no_number() -> None:
    # torch's parser takes any Unicode digit, but the driver, which decides, reads bytes with strtoul.
    assert devices.read("１").entries == ()


def test_without_a_count_of_the_node_nothing_is_said_about_it() -> None:
    assert devices.read("0,1").usable is None
    assert devices.read("0,1").count == 2


ITEM = st.one_of(
    st.integers(-2, 12).map(str),
    st.sampled_from(["", " ", " 1", "1 ", "+1", "-", "+", "--1", "+-1", "- 1", "²", "1²", "9" * 4301,
                     "01", "1gpu", "x", "0-3", "0 1", "1.5", "GPU-a", "GPU-b", "MIG-a",
                     "MIG-b", "GPU-a ", " GPU-a", "MIG-GPU-a/1/2", "9" * 30, "\t2"]),
    st.text(st.characters(max_codepoint=127, exclude_characters="\x00,"), max_size=4),
)  # fmt: skip


@pytest.mark.torch
@given(st.lists(ITEM, min_size=0, max_size=6).map(",".join))
@settings(max_examples=600)
def test_any_list_is_read_as_torch_reads_it(spec: str) -> None:
    cuda = pytest.importorskip("torch.cuda")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUDA_VISIBLE_DEVICES", spec)
        try:
            judged = cuda._parse_visible_devices()
        except ValueError:  # torch itself fails: no program starts
            judged = None
    read = devices.read(spec)
    assert bool(read.unreadable) is (judged is None)
    assert list(read.entries) == (judged or [])


@pytest.mark.parametrize("spec", ["0,1,2,3,-", "+", "--1", "+-1", "0,-,1", "²"])
def test_what_torch_fails_on_is_an_error_with_a_way_out(spec: str) -> None:
    for source, preset in (("prl-grpo", "standard-4gpu"), ("swift-sft", "lora-1gpu"), ("custom", "torchrun")):
        one = resolve(CATALOG.recipes[source], preset).with_values({"cuda_visible_devices": spec}, Source.SET)
        [found] = [one for one in checks.check(one).findings if one.code == "devices-unreadable"]
        assert found.severity == "error"
        after = checks.check(one.with_values(found.fixes[0].changes, Source.FIX))
        assert not [one for one in after.findings if one.code.startswith("devices-")]


def listed(chance: random.Random) -> tuple[tuple[str, ...], list[str]]:
    """A node's UUIDs, many of which begin alike, and a list of prefixes, most of which fit one of them."""
    node = tuple(
        dict.fromkeys(
            f"GPU-{''.join(chance.choices('ab', k=chance.randint(2, 4)))}" for _ in range(chance.randint(0, 8))
        )
    )
    items = []
    for _ in range(chance.randint(1, 5)):
        whole = chance.choice(node) if node and chance.random() < 0.9 else "GPU-abba0"
        items.append(whole[: max(4, len(whole) - chance.choice((0, 0, 0, 1, 2)))] + chance.choice(("",) * 9 + (" ",)))
    return node, items


@pytest.mark.torch
def test_uuids_count_on_a_node_as_torch_counts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda, outcomes = pytest.importorskip("torch.cuda"), set()
    for seed in range(600):
        node, items = listed(random.Random(seed))
        spec = ",".join(items)
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", spec)
        parsed = cuda._parse_visible_devices()
        ordinals = cuda._transform_uuid_to_ordinals(parsed, list(node))
        read = devices.read(spec, len(node), (*node, "MIG-abba"))
        assert (read.usable, read.count) == (len(ordinals), len(ordinals)), (seed, spec, node)
        cards = tuple(GpuUse(index, uuid, None) for index, uuid in enumerate(node))
        reserved = [gpu.index for gpu in engine.chosen(cards, spec)]
        assert reserved == ordinals, (seed, spec, node, "a launch reserves what torch uses")
        outcomes.add((bool(ordinals), len(ordinals) < len(parsed), read.fits > 1, read.repeated))
    assert {(True, False, False, False), (True, True, False, False), (True, True, True, False),
            (False, True, False, False), (False, True, True, False), (False, True, False, True)} <= outcomes  # fmt: skip


def test_of_mig_instances_the_first_one_must_be_there() -> None:
    node = ("GPU-a", "MIG-1", "MIG-2", "GPU-b")
    for spec, usable in (("MIG-1", 1), ("MIG-2,MIG-9", 1), ("MIG-9,MIG-2", 0), ("MIG-GPU-a/1/0", 1), ("MIG-", 0)):
        assert devices.read(spec, 2, node).usable == usable, spec
        assert devices.read(spec, 2).usable == 1, "nothing is said of a node whose UUIDs are not known"


NODE = Facts(node_gpus=4, node_uuids=("GPU-aa1", "GPU-aa2", "GPU-bb1", "GPU-bb2"))
SOURCES = [
    "prl-grpo/standard-4gpu",
    "prl-grpo/standard-2gpu",
    "swift-sft/lora-1gpu",
    "custom/torchrun",
    "demo/two-ranks",
]


def on(source: str, spec: str) -> RunConfig:
    recipe, _, preset = source.partition("/")
    script = {"script": "a.py"} if recipe == "custom" else {}
    return resolve(CATALOG.recipes[recipe], preset).with_values({"cuda_visible_devices": spec, **script}, Source.SET)


@pytest.mark.parametrize(
    ("spec", "code", "sentence"),
    [
        ("9", "devices-beyond-node", "CUDA_VISIBLE_DEVICES=9 names GPU 9, which the node does not have;"),
        ("GPU-cc", "devices-unknown", "“GPU-cc” in CUDA_VISIBLE_DEVICES is no GPU of the node;"),
        ("GPU-aa11,GPU-bb1", "devices-unknown", "“GPU-aa11” in CUDA_VISIBLE_DEVICES is no GPU of the node;"),
        ("MIG-1", "devices-unknown", "“MIG-1” in CUDA_VISIBLE_DEVICES is no GPU of the node;"),
        ("GPU-a", "devices-ambiguous", "“GPU-a” in CUDA_VISIBLE_DEVICES fits several GPUs of the node (2), and torch takes none of them;"),
        ("GPU-aa1,GPU-aa1", "devices-repeated", "CUDA_VISIBLE_DEVICES=GPU-aa1,GPU-aa1 names a GPU twice:"),
        ("GPU-bb1,GPU-bb", "devices-ambiguous", "“GPU-bb” in CUDA_VISIBLE_DEVICES fits several GPUs of the node (2)"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("source", SOURCES)
def test_a_list_that_the_node_does_not_have_has_ways_out_that_pass(
    source: str, spec: str, code: str, sentence: str
) -> None:
    one = on(source, spec)
    [found] = [each for each in checks.check(one, NODE).findings if each.code.startswith("devices-")]
    assert found.code == code
    assert found.message.startswith(sentence)
    bad = [each for each in checks.check(one, NODE).findings if each.severity == "error"] or [found]
    assert bad[0].fixes
    for fix in (fix for each in bad for fix in each.fixes):
        assert checks.check(one.with_values(fix.changes, Source.FIX), NODE).ok
    first = checks.check(one.with_values(bad[0].fixes[0].changes, Source.FIX), NODE)
    assert not [left for left in first.findings if left.code.startswith("devices-")]


@pytest.mark.parametrize("source", SOURCES)
def test_two_prefixes_of_one_card_leave_none(source: str) -> None:
    one = on(source, "GPU-bb1,GPU-bb11")
    twins = Facts(node_gpus=2, node_uuids=("GPU-bb111", "GPU-cc"))
    report = checks.check(one, twins)
    [found] = [each for each in report.findings if each.code.startswith("devices-")]
    assert (found.code, found.severity, report.devices.usable) == ("devices-repeated", "error", 0)


@pytest.mark.parametrize(
    ("spec", "seen"), [("0,9", "0"), ("GPU-aa1,GPU-cc", "GPU-aa1"), ("GPU-aa2,GPU-a,GPU-bb1", "GPU-aa2")]
)
def test_what_a_run_does_not_see_can_be_left_out_of_the_list(spec: str, seen: str) -> None:
    [found] = [each for each in checks.check(on("swift-sft/lora-1gpu", spec), NODE).findings if "devices-" in each.code]
    assert (found.severity, [dict(fix.changes) for fix in found.fixes]) == ("warning", [{"cuda_visible_devices": seen}])


@pytest.mark.parametrize(
    ("given", "codes"),
    [
        ("GPU-cc", ["devices-unknown", "processes-exceed-gpus"]),
        ("GPU-a", ["devices-ambiguous", "processes-exceed-gpus"]),
        ("9", ["devices-beyond-node", "processes-exceed-gpus"]),
        ("0,1,0", ["devices-repeated", "processes-exceed-gpus"]),
        ("", ["devices-none", "processes-exceed-gpus"]),
        ("GPU-aa1", ["processes-exceed-gpus"]),
        ("GPU-aa1,GPU-bb2", []),
        ("GPU-aa1,GPU-bb2,GPU-cc", []),
    ],
)
def test_a_list_around_the_launch_is_read_where_the_job_keeps_it(given: str, codes: list[str]) -> None:
    facts = replace(NODE, inherited={"CUDA_VISIBLE_DEVICES": given})
    recipe = CATALOG.recipes["safe-mm-dpo"]
    one = resolve(recipe, "eight-gpu").with_values({"nproc_per_node": 2}, Source.SET)
    wrong = [each for each in checks.check(one, facts).findings if each.severity == "error"]
    assert [each.code for each in wrong] == codes
    for each in wrong:
        assert f"CUDA_VISIBLE_DEVICES={given}, which is set here" in each.why
        assert dict(each.fixes[0].changes) == {"cuda_visible_devices": "0,1"}
        assert all(checks.check(one.with_values(fix.changes, Source.FIX), facts).ok for fix in each.fixes)
    slurm = replace(facts, inherited={**facts.inherited, "SLURM_JOB_ID": "12"})
    left = [each for each in checks.check(one, slurm).findings if each.severity == "error"]
    assert [each.code for each in left] == codes
    offered = [dict(fix.changes) for each in left for fix in each.fixes]
    assert offered == [{"nproc_per_node": 1}] * (given == "GPU-aa1"), "the scheduler's is not replaced"
    assert checks.check(one, replace(facts, node_gpus=None)).ok, "of another node nothing is known"


@pytest.mark.parametrize("given", ["0", "GPU-aa1", "GPU-cc", "0,0", ""])
def test_more_processes_than_the_node_has_gpus_are_counted_on_the_list_around_them(given: str) -> None:
    """The node's own GPUs were counted: “4 visible”, and the way out made an error of its own."""
    facts = replace(NODE, inherited={"CUDA_VISIBLE_DEVICES": given})
    one = resolve(CATALOG.recipes["safe-mm-dpo"], "eight-gpu")
    wrong = [each for each in checks.check(one, facts).findings if each.severity == "error"]
    codes = [each.code for each in wrong]
    exceeds = wrong[codes.index("processes-exceed-gpus")]
    if given in {"0", "GPU-aa1"}:
        assert (codes, "1 visible" in exceeds.message) == (["processes-exceed-gpus"], True)
        assert all(checks.check(one.with_values(fix.changes, Source.FIX), facts).ok for fix in exceeds.fixes)
    else:
        assert all(each.fixes for each in wrong)
        whole = {key: value for each in wrong for key, value in each.fixes[0].changes.items()}
        assert checks.check(one.with_values(whole, Source.FIX), facts).ok


def test_a_list_of_the_configs_own_is_of_gpus_that_work() -> None:
    broken = GpuUse(0, "GPU-aa1", None, fault="GPU 0 is lost")
    used, free = GpuUse(1, "GPU-aa2", None, busy_with="pid 7"), GpuUse(2, "GPU-bb1", None)
    facts = replace(NODE, gpus=(broken, used, free), inherited={"CUDA_VISIBLE_DEVICES": "0,0"})
    one = resolve(CATALOG.recipes["safe-mm-dpo"], "eight-gpu").with_values({"nproc_per_node": 1}, Source.SET)
    [found] = [each for each in checks.check(one, facts).findings if each.code == "devices-repeated"]
    assert [dict(fix.changes) for fix in found.fixes] == [{"cuda_visible_devices": "2"}]


def box(count: int, **of: dict[int, str]) -> tuple[GpuUse, ...]:
    """Idle GPUs but for those that `fault`, `busy_with` or `claimed_by` name."""
    return tuple(
        GpuUse(at, f"GPU-{at}", None, **{kind: words[at] for kind, words in of.items() if at in words})  # type: ignore[arg-type]
        for at in range(count)
    )


SHARED = "swift-grpo/colocate-2gpu"


def unlisted(source: str, nproc: int) -> RunConfig:
    recipe, preset = source.split("/")
    return resolve(CATALOG.recipes[recipe], preset).with_values(
        {"nproc_per_node": nproc, "cuda_visible_devices": None}, Source.SET
    )


def ways(one: RunConfig, facts: Facts, code: str) -> list[str]:
    """The lists that the ways out of a finding set."""
    found = next(each for each in checks.check(one, facts).findings if each.code == code)
    return [str(fix.changes["cuda_visible_devices"]) for fix in found.fixes if "cuda_visible_devices" in fix.changes]


@pytest.mark.parametrize(
    ("kind", "code"), [("fault", "gpu-unusable"), ("claimed_by", "gpu-claimed"), ("busy_with", "gpu-busy")]
)
def test_of_what_a_scheduler_shared_out_no_other_gpu_is_offered(kind: str, code: str) -> None:
    """GPU 0 and 1 were, which may be another job's; and free ones of the job's own list were passed over."""
    known = Facts(node_gpus=8, gpus=box(8, **{kind: {4: "words"}}))
    for around, shared, expected in (
        ("4,5", True, []),
        ("3,6,4,2", True, ["3,6"]),
        ("4,5", False, ["0,5"]),
        ("4,7,6", False, ["6,7"]),
    ):
        facts = replace(known, inherited={"CUDA_VISIBLE_DEVICES": around} | ({"SLURM_JOB_ID": "7"} if shared else {}))
        offered = ways(unlisted("swift-sft/lora-1gpu", 2), facts, code)
        assert [sorted(each.split(",")) for each in offered] == [sorted(each.split(",")) for each in expected], around


@pytest.mark.parametrize("own", ["0,1,2", "0,1", "4,5,6", "4"])
def test_inside_a_scheduler_a_list_of_the_configs_own_is_mended_by_what_it_gave(own: str) -> None:
    facts = Facts(node_gpus=8, gpus=box(8), inherited={"CUDA_VISIBLE_DEVICES": "4,5,6", "SLURM_JOB_ID": "7"})
    one = unlisted(SHARED, 2).with_values({"cuda_visible_devices": own}, Source.SET)
    found = checks.check(one, facts).findings
    named = [str(fix.changes.get("cuda_visible_devices") or "4") for each in found for fix in each.fixes]
    assert {gpu for each in named for gpu in each.split(",")} <= {"4", "5", "6"}
    wrong = [each for each in found if each.code == "vllm-one-gpu-each"]
    assert all("4,5" in [fix.changes.get("cuda_visible_devices") for fix in each.fixes] for each in wrong)


def test_a_gpu_that_another_run_has_reserved_is_the_last_to_be_offered() -> None:
    """Those of the list around came first, reserved or not: `f` led to the next error."""
    facts = Facts(
        node_gpus=8, gpus=box(8, claimed_by={4: "run a", 5: "run a"}), inherited={"CUDA_VISIBLE_DEVICES": "4"}
    )
    one = unlisted("swift-sft/lora-1gpu", 2)
    assert ways(one, facts, "processes-exceed-gpus") == ["0,1"]
    assert checks.check(one.with_values({"cuda_visible_devices": "0,1"}, Source.FIX), facts).ok


def test_no_way_out_leads_back_to_a_gpu_in_use() -> None:
    """“use GPU 0,1” for a busy one, then “use GPU 4,5” since the shell says so, and so on."""
    facts = Facts(node_gpus=8, gpus=box(8, busy_with={5: "pid 7"}), inherited={"CUDA_VISIBLE_DEVICES": "4,5"})
    one = unlisted(SHARED, 2)
    [first] = ways(one, facts, "gpu-busy")
    assert sorted(first.split(",")) == ["0", "4"]
    assert ways(one.with_values({"cuda_visible_devices": first}, Source.FIX), facts, "shell-gpus") == []
    free = replace(facts, gpus=box(8))
    assert ways(one.with_values({"cuda_visible_devices": first}, Source.FIX), free, "shell-gpus") == ["4,5"]


@pytest.mark.parametrize("around", [{}, {"CUDA_VISIBLE_DEVICES": "7"}])
def test_a_run_on_the_cpu_takes_no_gpu_that_is_in_use(around: dict[str, str]) -> None:
    facts = Facts(node_gpus=8, gpus=box(8, busy_with={7: "pid 7"}), inherited=around)
    one = unlisted("swift-sft/lora-1gpu", 1)
    on_cpu = one.with_values({"use_cpu": True, "torch_dtype": "float32"}, Source.SET)
    assert [found.code for found in checks.check(on_cpu, facts).findings if found.code.startswith("gpu-")] == []
    assert "gpu-busy" in [found.code for found in checks.check(one, facts).findings]


PLACED = [  # presets whose rules count the GPUs that the ranks see
    "prl-grpo/standard-2gpu", "prl-grpo/standard-4gpu", "prl-grpo/high-throughput-4gpu", "swift-grpo/colocate-2gpu",
    "swift-grpo/colocate-4gpu", "swift-sft/lora-1gpu", "swift-sft/full-8gpu", "swift-dpo/lora-4gpu", "safe-mm-dpo/eight-gpu",
    "custom/torchrun", "demo/two-ranks",
]  # fmt: skip


@given(
    st.sampled_from(PLACED),
    st.integers(1, 8),
    st.sampled_from([1, 2, 4, 8]),
    st.one_of(
        st.lists(st.integers(0, 9), min_size=1, max_size=8).map(lambda found: ",".join(map(str, found))),
        st.sampled_from(["", "-1", "0,0", "1gpu", "0,-1,2", "-", "GPU-aa1,GPU-bb2", "GPU-a", "GPU-cc", "MIG-1"]),
    ),
    st.booleans(),
)
@example("prl-grpo/standard-2gpu", 1, 2, "1gpu", True)
@settings(max_examples=300, deadline=None)
def test_a_list_around_the_launch_counts_as_the_same_list_in_the_config(
    source: str, nproc: int, node: int, spec: str, slurm: bool
) -> None:
    """Every rule about GPUs but one was judged by the whole node, so 2 processes on `4,5` were refused: “visible 8”."""
    recipe, preset = source.split("/")
    bare = resolve(CATALOG.recipes[recipe], preset).with_values(
        {"nproc_per_node": nproc, "cuda_visible_devices": None}, Source.SET
    )
    own = bare.with_values({"cuda_visible_devices": spec}, Source.SET)
    known = Facts(node_gpus=node, node_uuids=("GPU-aa1", "GPU-aa2", "GPU-bb1", "GPU-bb2")[:node] if node < 8 else None)
    around = replace(known, inherited={"CUDA_VISIBLE_DEVICES": spec} | ({"SLURM_JOB_ID": "1"} if slurm else {}))
    kept, given_here = checks.check(bare, around), checks.check(own, known)
    if own.settings["cuda_visible_devices"].problem or not spec:
        return  # said of the field itself; an empty field is one that is not set
    assert (kept.devices.count, kept.devices.entries) == (given_here.devices.count, given_here.devices.entries)
    strict = bare.recipe.data.needs_gpu
    found, expected, elsewhere = (
        {(each.code, each.field) for each in report.findings if each.severity == "error"}
        for report in (kept, given_here, checks.check(own))
    )
    expected = {error for error in expected if strict or not error[0].startswith("devices-")}
    if given_here.devices.usable == given_here.devices.listed:
        assert found == expected
    else:  # a list of the config's own is judged for nodes that have all of its GPUs too
        assert expected - elsewhere <= found <= expected
    for each in kept.findings:
        for fix in each.fixes:
            mended = checks.check(bare.with_values(fix.changes, Source.FIX), around)
            if each.severity == "error":
                assert mended.ok, (each, fix)
            named = str(fix.changes.get("cuda_visible_devices") or "").split(",")
            given_gpus = map(str, devices.read(spec).entries)  # `1gpu` is GPU 1
            assert not slurm or set(named) <= {"", *given_gpus}, "no GPU that the scheduler gave to others"


@pytest.mark.parametrize("spec", ["9", "GPU-a", "GPU-cc", "0,9"])
def test_a_list_that_the_node_does_not_have_is_no_error_of_a_run_on_the_cpu(spec: str) -> None:
    one = on("swift-sft/lora-1gpu", spec).with_values({"use_cpu": True, "torch_dtype": "float32"}, Source.SET)
    report = checks.check(one, NODE)
    [found] = [each for each in report.findings if each.code.startswith("devices-")]
    assert found.severity == "warning"
    for wrong in ("-", "0,0"):  # of these torch sees none on any node
        again = one.with_values({"cuda_visible_devices": wrong}, Source.SET)
        assert not checks.check(again, NODE).ok


@pytest.mark.parametrize(("given", "code"), [("GPU-cc", "devices-unknown"), ("", ""), ("-1", ""), ("3", "")])
def test_a_list_around_a_program_that_may_do_without_gpus_is_a_warning(given: str, code: str) -> None:
    one = resolve(CATALOG.recipes["custom"], "python").with_values({"script": "a.py"}, Source.SET)
    report = checks.check(one, replace(NODE, inherited={"CUDA_VISIBLE_DEVICES": given}))
    assert [each.code for each in report.findings if each.code.startswith("devices-")] == ([code] if code else [])
    assert report.ok


@pytest.mark.parametrize("facts", [Facts(), Facts(node_gpus=4), Facts(node_uuids=("GPU-aa1",))])
def test_of_a_node_whose_uuids_are_not_known_nothing_is_said(facts: Facts) -> None:
    report = checks.check(on("prl-grpo/standard-4gpu", "GPU-1,GPU-2,GPU-3,GPU-4"), facts)
    assert report.devices.usable is None
    assert not [each for each in report.findings if each.severity != "note"]
