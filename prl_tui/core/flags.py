"""Flags that came and went in ms-swift, against the version that is installed or meant; and a launcher inside a launcher.

A flag that the version does not know stops every rank at its start (`ValueError: remaining_argv`), so it is named
before (flag_lives.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from prl_tui.core.config import RunConfig
from prl_tui.core.findings import Facts, Finding, Fix
from prl_tui.core.flag_lives import ALIKE, LIVES, WITHOUT, Life
from prl_tui.core.plan import Argument, LaunchPlan, build
from prl_tui.core.recipe import Recipe
from prl_tui.core.stacks import Stack, swift_span
from prl_tui.core.versions import fits, release
from prl_tui.i18n import t
from prl_tui.lists import listed

PACKAGE = "ms-swift"
SUBCOMMANDS = frozenset({"pt", "sft", "rlhf", "infer"})
"""What the swift command starts through torchrun when NPROC_PER_NODE or NNODES is set. Source: swift/cli/main.py."""
ASKS_FOR_TORCHRUN = ("NPROC_PER_NODE", "NNODES")


def findings(config: RunConfig, facts: Facts, chosen: Stack | None = None, by_field: bool = True) -> Iterator[Finding]:
    """Flags of the plan that the ms-swift which is installed does not know, and launchers that start launchers.

    `chosen`: the stack that a person picked. Its versions are judged where none is installed. `by_field`: the config's
    own field says it, so that another value there would change it.
    """
    version = facts.versions.get(PACKAGE)
    span = swift_span(chosen.name) if chosen is not None and not version else None
    around = {name: facts.inherited[name] for name in ASKS_FOR_TORCHRUN if name in facts.inherited}
    if not (version or span or around or _may_ask(config.recipe)):
        return  # nothing to say: a keystroke does not pay for a plan
    plan = build(config)
    if version and speaks_swift(plan):
        yield from _unknown(plan, version)
    if chosen is not None and span and speaks_swift(plan):
        back = _own_stack(config) if by_field else ()
        yield from _unknown_to(plan, chosen, span, back)
        yield from _mode_missing(plan, chosen, back)
    if _nests(plan.argv):
        yield from _nested(plan, around)
    elif plan.launcher == "swift":
        yield from _asked_from_around(plan, around)


def _may_ask(recipe: Recipe) -> bool:
    """Whether some field can set a variable that tells the swift command to start ranks."""
    return "variables" in recipe.types or not recipe.variables.isdisjoint(ASKS_FOR_TORCHRUN)


def speaks_swift(plan: LaunchPlan) -> bool:
    """Whether ms-swift's own parser will read the command's flags."""
    return any(word.startswith("swift.") or _name(word) == "swift" for word in plan.argv)


def _unknown(plan: LaunchPlan, version: str) -> Iterator[Finding]:
    for argument, flag, life in _judged(plan):
        if not life.knows(version):
            message = t("ms-swift {version} does not know {flag}.", version=version, flag=flag)
            key = _key(plan, argument)
            wanted = plan.config.recipe.data.versions.get(PACKAGE)  # another error where it is not that
            changes = _changes(plan.config, key, life) if wanted is None or fits(version, wanted) else {}
            fixes = (_fix(plan.config, changes),) if changes else ()
            yield Finding("flag-unknown", "error", key, message, _why(flag, life, version), fixes)


def _unknown_to(plan: LaunchPlan, chosen: Stack, span: tuple[str, str], back: tuple[Fix, ...]) -> Iterator[Finding]:
    """Flags that no version of the stack takes: errors; those that not every one takes: warnings."""
    lacking = [(arg, flag, life, version) for arg, flag, life in _judged(plan) if (version := life.lacking(*span))]
    mended = _whole(plan.config, span, [(_key(plan, arg), life) for arg, _, life, _ in lacking])
    changes = {key: value for one in mended.values() for key, value in one.items()}
    all_known = all(_key(plan, arg) in mended for arg, *_ in lacking) and not any(_mode_missing(plan, chosen, ()))
    for argument, flag, life, version in lacking:
        key, why = _key(plan, argument), _why(flag, life, version)
        whole = (_fix(plan.config, changes),) if key in mended else ()
        if life.known_between(*span):
            message = t("Not every version of {stack} knows {flag}.", stack=chosen.said, flag=flag)
            yield Finding("flag-unknown-to-some", "warning", key, message, why, whole)
        else:
            message = t("{stack} does not know {flag}.", stack=chosen.said, flag=flag)
            fixes = (*whole, *back) if all_known else (*back, *whole)  # first what leaves no error
            yield Finding("flag-unknown", "error", key, message, why, fixes)


def not_for(plan: LaunchPlan, stack: Stack) -> dict[str, str]:
    """Field without a value → why none can be given to it: no version of the stack takes its flag."""
    span = swift_span(stack.name)
    if not span or not speaks_swift(plan):
        return {}
    lives = [
        (field, LIVES[field.flag])
        for field in plan.config.recipe.fields
        if field.flag in LIVES and plan.config.value(field.key) is None
    ]
    return {
        field.key: f"{t('{stack} does not know {flag}.', stack=stack.said, flag=field.flag)} "
        f"{_why(field.flag, life, life.lacking(*span))}"
        for field, life in lives
        if not life.known_between(*span)
    }


def _whole(config: RunConfig, span: tuple[str, str], lacking: list[tuple[str, Life]]) -> dict[str, dict[str, Any]]:
    """Field → what makes its flag known, for all of these that can be; the others stay, each with its own sentence."""
    each = {key: changes for key, life in lacking if (changes := _changes(config, key, life))}
    return {
        key: changes for key, changes in each.items() if not any(_lacks(config, span, *one) for one in changes.items())
    }


def _lacks(config: RunConfig, span: tuple[str, str], key: str, value: object) -> bool:
    """Whether a field would be given to a stack some version of which does not take it."""
    life = LIVES.get(config.recipe.by_key[key].flag)
    return value is not None and life is not None and bool(life.lacking(*span))


def _own_stack(config: RunConfig) -> tuple[Fix, ...]:
    """Back to the generation that the recipe is made for, where a field says another."""
    if "stack" not in config.settings or not config.value("stack"):
        return ()
    return (Fix({"stack": None}, t("back to the recipe's own rules")),)


def _mode_missing(plan: LaunchPlan, chosen: Stack, back: tuple[Fix, ...]) -> Iterator[Finding]:
    """A command that generates with vLLM and has no way to say where, for a stack that wants to be told."""
    said = {flag: words for argument in plan.arguments for flag, words in _said(argument.words)}
    if "vllm_mode" in plan.config.recipe.by_key or not chosen.vllm_mode or "--vllm_mode" in said:
        return
    if [word.lower() for word in said.get("--use_vllm", ("false",))] == ["false"]:
        return
    key = next((one.key for one in plan.arguments if any(_flag(word) == "--use_vllm" for word in one.words)), "")
    message = t("{stack} wants {needed} with {flag}.", stack=chosen.said, needed="--vllm_mode", flag="--use_vllm")
    why = t("colocate: vLLM on the training's GPUs; server: a swift rollout elsewhere.")
    key = key if key in plan.config.recipe.by_key else ""
    yield Finding("vllm-mode-missing", "error", key, message, why, back)


def _judged(plan: LaunchPlan) -> Iterator[tuple[Argument, str, Life]]:
    """Every flag of the command whose life is known."""
    for argument in plan.arguments:
        for word in argument.words:
            if (life := LIVES.get(_flag(word))) is not None:
                yield argument, _flag(word), life


def _said(words: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each flag with the words behind it."""
    flag = ""
    values: list[str] = []
    for word in words:
        if word.startswith("--"):
            if flag:
                yield flag, tuple(values)
            flag, equals, value = word.partition("=")
            values = [value] if equals else []
        else:
            values.append(word)
    if flag:
        yield flag, tuple(values)


def _flag(word: str) -> str:
    return word.partition("=")[0]


def _key(plan: LaunchPlan, argument: Argument) -> str:
    return argument.key if argument.key in plan.config.recipe.by_key else ""


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
            other = _heir(life, version)
            since = LIVES[other].since if other in LIVES else life.until
            return t("Since {since} it is called {other}.", since=since or life.until, other=other)
        return t("It is gone since {until}.", until=life.until)
    if life.other:
        return t("It came with {since}; before, it was {other}.", since=life.since, other=life.other)
    return t("It came with {since}.", since=life.since)


def _heir(life: Life, version: str) -> str:
    """What a flag is called in a version: its successor, or that one's."""
    other = life.other
    while (later := LIVES.get(other)) and later.until and release(version) >= release(later.until) and later.other:
        other = later.other
    return other


def _changes(config: RunConfig, key: str, life: Life) -> dict[str, Any]:
    """The same value under its other name where the recipe has that field, else without one that changes nothing by it."""
    flag = config.recipe.by_key[key].flag if key else ""
    if not flag:  # a flag among free arguments is the person's to change
        return {}
    heir = next((field for field in config.recipe.fields if field.flag == life.other and life.other), None)
    if heir is not None and (flag, life.other) in ALIKE:
        return {key: None, heir.key: config.value(key)}
    return {key: None} if _as_without(config, key, flag) else {}


def _as_without(config: RunConfig, key: str, flag: str) -> bool:
    """Whether the engine, which does not know the flag, does what it says all the same."""
    if config.wrong(key) or config.recipe.by_key[key].required:
        return False
    if flag == "--num_infer_workers":  # vLLM on every GPU of the training: later the only way without a server
        return not _uses_vllm(config) or bool(config.value(key) == config.number("nproc_per_node"))
    if flag == "--vllm_mode":
        return not _uses_vllm(config)
    if flag == "--num_generations_eval":
        return bool(config.value(key) == config.value("num_generations"))
    return str(config.value(key)).lower() == WITHOUT.get(flag)


def _uses_vllm(config: RunConfig) -> bool:
    return "use_vllm" in config.settings and bool(config.value("use_vllm"))


def _fix(config: RunConfig, changes: Mapping[str, Any]) -> Fix:
    by_key = config.recipe.by_key
    heirs = [key for key, value in changes.items() if value is not None]
    renamed = {old: new for new in heirs for old in changes if LIVES[by_key[old].flag].other == by_key[new].flag}
    words = [
        f"{by_key[key].flag} → {by_key[renamed[key]].flag}" if key in renamed
        else t("leave out {label}", label=by_key[key].label)
        for key in changes if key not in heirs
    ]  # fmt: skip
    return Fix(dict(changes), listed(words))


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
