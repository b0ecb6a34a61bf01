"""An override that a plan takes: what the head of an exported script names as its example."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from prl_tui.core import assess, checks, files, values, wordlist
from prl_tui.core.config import RunConfig, Source, usual
from prl_tui.core.plan import PORT, LaunchPlan, build
from prl_tui.core.recipe import Field
from prl_tui.core.value import Value

_GPUS, _PROCESSES = "cuda_visible_devices", "nproc_per_node"
_LAST = ("variables", "arguments")
_PORTS = range(1024, 65536)
_QUOTING = frozenset("'\"\\$`!#")
_LONGEST = 80
"""Characters of a value up to which it is read as an example."""


class Override(Value):
    """A variable and a value that the plan's script starts with."""

    variable: str
    value: str
    """As the variable holds it, without a shell's quotes."""
    plan: LaunchPlan
    """What runs then."""


def example(plan: LaunchPlan, fixed: Collection[str] = ()) -> Override | None:
    """The first override that reaches the command or its environment and breaks no rule that is not broken now; or None.

    `fixed` are fields that a script does not let change, or whose value comes from elsewhere. Numbers of the batch come
    first, as the most usual to change.
    """
    before = checks.broken(plan.config)
    for field in _fields(plan, fixed):
        for value in _values(plan, field):
            changed = plan.config.with_values({field.key: value}, Source.ENVIRONMENT)
            made = build(changed)
            if _reaches(plan, made, field.key) and checks.broken(changed) <= before:
                return Override(field.override, value, made)
    return None


def _reaches(plan: LaunchPlan, made: LaunchPlan, key: str) -> bool:
    """The program is started differently by words or variables of this field."""
    words = [(one.words, two.words) for one, two in zip(plan.arguments, made.arguments, strict=False) if two.key == key]
    variables = [tuple((v.name, v.value) for v in one.variables if v.key == key) for one in (plan, made)]
    return any(two and one != two for one, two in words) or variables[0] != variables[1]


def _fields(plan: LaunchPlan, fixed: Collection[str]) -> Iterator[Field]:
    """Fields from the most usual to change to those of the launch, whose change a box may refuse."""
    free = [field for field in usual(plan.config.recipe) if field.key not in fixed]
    own = [field for field in free if field.key not in files.LAUNCH]
    numbers = [field for field in own if field.type in {"int", "float"}]
    yield from (field for field in numbers if field.group == "batch")
    yield from (field for field in numbers if field.group != "batch")
    yield from (field for field in own if field.type in {"choice", "bool"})
    yield from (field for field in free if field.key == PORT)
    for kind in _LAST:
        yield from (field for field in own if field.type == kind)
    yield from (field for field in free if field.key in {_GPUS, _PROCESSES})


def _values(plan: LaunchPlan, field: Field) -> Iterator[str]:
    """Values of a field that differ from the plan's, near ones first."""
    config = plan.config
    now = config.value(field.key)
    if field.key == _GPUS:
        yield from (text for text in _gpus(config) if text != config.text(_GPUS))
    elif field.key == _PROCESSES:
        if (count := config.number(_PROCESSES) or 1) > 1:  # more would need more GPUs
            yield str(count // 2)
    elif field.key == PORT:
        if isinstance(now, int):
            yield str(now + 1 if now + 1 in _PORTS else now - 1)
    elif field.type in wordlist.FREE:
        text = wordlist.join((*(now or ()), *wordlist.split(values.example(field))))
        if len(text) <= _LONGEST and text.isprintable() and _QUOTING.isdisjoint(text):
            yield text
    elif now is not None and not config.wrong(field.key):
        yield from (text for text in _near(field, now) if text != config.text(field.key))


def _gpus(config: RunConfig) -> Iterator[str]:
    """The first GPUs of a node, and those after them."""
    count = assess.gpus(config) or 0
    for first in (0, 1) if count else ():
        yield ",".join(str(number) for number in range(first, first + count))


def _near(field: Field, now: object) -> Iterator[str]:
    if field.type == "choice":
        yield from field.choices
    elif isinstance(now, bool):
        yield values.show(field, not now)
    elif isinstance(now, int):
        yield from (str(value) for value in (now * 2, now // 2, now + 1, now - 1))
    elif isinstance(now, float):
        yield from (values.decimal(value) for value in (now * 2, now / 2))
