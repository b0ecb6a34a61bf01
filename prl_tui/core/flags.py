"""Flags that came and went in ms-swift, against the version that is installed; and a launcher inside a launcher.

A flag that the version does not know stops every rank at its start (`ValueError: remaining_argv`), so it is named
before. Sources: the argument classes of ms-swift 3.3.0, 3.5.3 and 4.6.0 (tests/fixtures/flags) and its releases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prl_tui.core.config import RunConfig
from prl_tui.core.findings import Facts, Finding, Fix
from prl_tui.core.plan import Argument, LaunchPlan, build
from prl_tui.core.recipe import Field
from prl_tui.core.value import Value
from prl_tui.core.versions import release
from prl_tui.i18n import t

PACKAGE = "ms-swift"
SUBCOMMANDS = frozenset({"pt", "sft", "rlhf", "infer"})
"""What the swift command starts through torchrun when NPROC_PER_NODE or NNODES is set. Source: swift/cli/main.py."""
ASKS_FOR_TORCHRUN = ("NPROC_PER_NODE", "NNODES")


class Life(Value):
    """From which version to which a flag is known."""

    since: str = ""
    """The first version that knows it; "" for all before `until`."""
    until: str = ""
    """The first version that does not know it any more; "" for none."""
    other: str = ""
    """The flag that says it in the other versions."""

    def knows(self, version: str) -> bool:
        """Whether that version takes the flag."""
        at = release(version)
        return (not self.since or at >= release(self.since)) and (not self.until or at < release(self.until))


LIVES: dict[str, Life] = {
    "--sft_type": Life(until="3.0", other="--train_type"),
    "--train_type": Life(since="3.0", until="4.1", other="--tuner_type"),
    "--tuner_type": Life(since="4.0", other="--train_type"),
    "--use_lmdeploy": Life(until="3.5"),
    "--num_infer_workers": Life(until="3.6", other="--vllm_mode"),
    "--vllm_device": Life(until="3.6", other="--vllm_mode"),
    "--tensor_parallel_size": Life(until="3.6", other="--vllm_tensor_parallel_size"),
    "--vllm_tensor_parallel_size": Life(since="3.5", other="--tensor_parallel_size"),
    "--vllm_mode": Life(since="3.5", other="--num_infer_workers"),
    "--steps_per_generation": Life(since="3.5"),
    "--generation_batch_size": Life(since="3.5"),
    "--center_rewards_coefficient": Life(since="3.5"),
    "--num_generations_eval": Life(since="3.12"),
    "--gc_collect_after_offload": Life(until="3.12"),
}
"""Flag → the versions that know it. A flag that is not here is not judged."""
ALIKE = {("--train_type", "--tuner_type"), ("--tuner_type", "--train_type"),
         ("--tensor_parallel_size", "--vllm_tensor_parallel_size")}  # fmt: skip
"""Pairs whose values mean the same, so that one can take the other's."""


def findings(config: RunConfig, facts: Facts) -> Iterator[Finding]:
    """Flags of the plan that the installed ms-swift does not know, and launchers that start launchers."""
    version = facts.versions.get(PACKAGE)
    around = {name: facts.inherited[name] for name in ASKS_FOR_TORCHRUN if name in facts.inherited}
    if not (version or around or any(_may_ask(field) for field in config.recipe.fields)):
        return  # nothing to say: a keystroke does not pay for a plan
    plan = build(config)
    if version and speaks_swift(plan):
        yield from _unknown(plan, version)
    if _nests(plan.argv):
        yield from _nested(plan, around)
    elif plan.launcher == "swift":
        yield from _asked_from_around(plan, around)


def _may_ask(field: Field) -> bool:
    """Whether a field can set a variable that tells the swift command to start ranks."""
    return field.env in ASKS_FOR_TORCHRUN or field.type == "variables"


def speaks_swift(plan: LaunchPlan) -> bool:
    """Whether ms-swift's own parser will read the command's flags."""
    return any(word.startswith("swift.") or _name(word) == "swift" for word in plan.argv)


def _unknown(plan: LaunchPlan, version: str) -> Iterator[Finding]:
    for argument in plan.arguments:
        for word in argument.words:
            flag = word.partition("=")[0]
            life = LIVES.get(flag)
            if life is not None and not life.knows(version):
                yield _finding(plan.config, argument, flag, life, version)


def _finding(config: RunConfig, argument: Argument, flag: str, life: Life, version: str) -> Finding:
    message = t("ms-swift {version} does not know {flag}.", version=version, flag=flag)
    key = argument.key if argument.key in config.recipe.by_key else ""
    return Finding("flag-unknown", "error", key, message, _why(flag, life, version), _fixes(config, key, life))


def successor(flag: str) -> str:
    """What came after a flag that the newest version does not know; "" where nothing is known of it."""
    life = LIVES.get(flag)
    return _why(flag, life, life.until) if life is not None and life.until else ""


def _why(flag: str, life: Life, version: str) -> str:
    """The successor, or where the flag came from."""
    if life.until and not life.knows(version) and release(version) >= release(life.until):
        if flag == "--use_lmdeploy":
            return t("LMDeploy is gone since 3.5; vLLM generates (use_vllm).")
        if flag == "--num_infer_workers":
            return t("Since 3.6 vllm_mode says where vLLM runs: colocate on the training's GPUs, server elsewhere.")
        if life.other:
            since = LIVES[life.other].since if life.other in LIVES else life.until
            return t("Since {since} it is called {other}.", since=since or life.until, other=life.other)
        return t("It is gone since {until}.", until=life.until)
    if life.other:
        return t("It came with {since}; before, it was {other}.", since=life.since, other=life.other)
    return t("It came with {since}.", since=life.since)


def _fixes(config: RunConfig, key: str, life: Life) -> tuple[Fix, ...]:
    """The same value under its other name where the recipe has that field, else nothing to carry the flag."""
    flag = config.recipe.by_key[key].flag if key else ""
    if not flag or not _others_fit(config):  # a flag among free arguments is the person's to change
        return ()
    label = config.recipe.by_key[key].label
    heir = next((field for field in config.recipe.fields if field.flag == life.other and life.other), None)
    if heir is not None and (flag, life.other) in ALIKE:
        changes = {key: None, heir.key: config.value(key)}
        return (Fix(changes, f"{flag} → {life.other}"),)
    if heir is None and life.other:
        return ()
    return (Fix({key: None}, t("leave out {label}", label=label)),)


def _others_fit(config: RunConfig) -> bool:
    """A recipe that names the versions it speaks is not mended by leaving out single flags."""
    return PACKAGE not in config.recipe.data.versions


def _nested(plan: LaunchPlan, around: Mapping[str, str]) -> Iterator[Finding]:
    """A torchrun or accelerate that starts the swift command, which starts torchrun itself when it is told to."""
    told = {**around, **dict(plan.env)}
    name = next((name for name in ASKS_FOR_TORCHRUN if told.get(name)), None)
    if name is None:
        return
    message = t(
        "{launcher} starts the ranks, and the swift command in each of them starts its own: {name}={value} is set.",
        launcher=_name(plan.argv[0]),
        name=name,
        value=told[name],
    )
    why = t("One launcher starts the ranks: the swift command alone, or torchrun -m swift.cli.rlhf.")
    key = next((v.key for v in plan.variables if v.name == name and v.key in plan.config.recipe.by_key), "")
    own = name in dict(plan.env) and key and plan.config.recipe.by_key[key].env == name
    fix = (Fix({key: None}, t("leave out {label}", label=name)),) if own else ()
    yield Finding("launcher-in-launcher", "error", key, message, why, fix)


def _asked_from_around(plan: LaunchPlan, around: Mapping[str, str]) -> Iterator[Finding]:
    """A variable of the surrounding environment that tells the swift command to start ranks; the plan's own wins."""
    for name in around.keys() - dict(plan.env).keys():
        message = t(
            "{name}={value} is set around this launch, and the swift command starts its ranks by it.",
            name=name,
            value=around[name],
        )
        why = t("Then it is not the command shown here that decides how many processes run.")
        yield Finding("environment-launcher", "error", "nproc_per_node", message, why)
        return


def _nests(words: tuple[str, ...]) -> bool:
    """Whether one launcher starts another: `torchrun … swift rlhf`."""
    outer = False
    for word, following in zip(words, (*words[1:], ""), strict=True):
        name = _name(word)
        if name in {"torchrun", "accelerate", "deepspeed", "torch.distributed.run", "torch.distributed.launch"}:
            outer = True
        elif outer and name in {"swift", "swift.cli.main"} and following in SUBCOMMANDS:
            return True
    return False


def _name(word: str) -> str:
    return word.rsplit("/", 1)[-1]
