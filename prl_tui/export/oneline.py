"""One `&&` line of POSIX sh for a platform's box: enter, activate, set, run; nothing goes on after a failure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from prl_tui.core.plan import FOLDER, LaunchPlan
from prl_tui.export import losses
from prl_tui.export.model import Export, Format
from prl_tui.export.shell import bare, literal
from prl_tui.i18n import t

_CONTROL = re.compile(r"[\x01-\x1f\x7f]")


def export(plan: LaunchPlan) -> Export:
    """The line of a plan."""
    files = list(_files(plan))
    steps = [*_workdir(plan), *_activation(plan), *_variables(plan), *files, " ".join(map(word, plan.argv))]
    line = " && ".join(steps)
    controls = sorted(set(_NAME.findall(line)))
    line = " && ".join(
        [*(f"{name}=$(printf '\\{int(name[4:], 16):03o}.') && {name}=${{{name}%.}}" for name in controls), line]
    )
    return Export(line + "\n", tuple(losses.fixed_values(plan)))


_NAME = re.compile(r'(?<="\$\{)prl_[0-9a-f]{2}(?=\}")')


def word(text: str) -> str:
    """Text as one word of one line: a control character comes from a variable that printf made."""
    if bare(text) and not _CONTROL.search(text):
        return literal(text)
    pieces = re.split(r"([\x01-\x1f\x7f])", text)
    return "".join(
        f'"${{prl_{ord(piece):02x}}}"' if index % 2 else literal(piece)
        for index, piece in enumerate(pieces)
        if piece or len(pieces) == 1
    )


def _must(test: str, sentence: str) -> str:
    return f"{{ {test} || {{ printf '%s\\n' {word(t('error: ') + sentence)} >&2; false; }}; }}"


def _path(text: str) -> str:
    """A path as one word; `~/` is the home, and nothing looks like an option."""
    if text.startswith("~/"):
        return '"${HOME-}"/' + word(text[2:])
    return word(text if text.startswith("/") else f"./{text}")


def _workdir(plan: LaunchPlan) -> Iterator[str]:
    if plan.workdir:
        told = t("the working directory cannot be entered: ") + plan.workdir
        yield _must(f"cd {_path(plan.workdir)} 2>/dev/null", told)


def _activation(plan: LaunchPlan) -> Iterator[str]:
    found = plan.activation
    if found.kind == "venv":
        file = _path(found.name.rstrip("/") + "/bin/activate")
        yield _must(f"[ -r {file} ]", t("there is no virtual environment here: ") + found.name)
        yield f". {file}"
        at = f'[ "$(cd "$VIRTUAL_ENV" 2>/dev/null && pwd -P)" = "$(cd {_path(found.name)} && pwd -P)" ]'
        same = f'{{ [ -z "${{VIRTUAL_ENV-}}" ] || {at}; }}'
        moved = t("this virtual environment was made for another place, which it would activate: ")
        yield _must(same, moved + found.name)
    elif found.kind == "python":
        yield _must(f"[ -x {_path(found.name)} ]", t("there is no such interpreter here: ") + found.name)
        yield f'export PATH={_path(found.name.rpartition("/")[0] or "/")}:"$PATH"'
    elif found.kind == "conda":
        hook = _path(found.hook) if found.hook else '"$(conda info --base 2>/dev/null)/etc/profile.d/conda.sh"'
        yield _must(f"[ -r {hook} ]", t("conda's etc/profile.d/conda.sh is not here; set conda_hook: ") + found.hook)
        yield f". {hook}"
        yield _must(
            f"conda activate {word(found.name)}", t("this conda environment could not be activated: ") + found.name
        )


def _variables(plan: LaunchPlan) -> Iterator[str]:
    for name in losses.inherited(plan):
        yield _must(f'[ -n "${{{name}-}}" ]', t("this variable is needed and not set: ") + name)
        yield f"export {name}"
    for name, value in plan.env:
        yield f"export {name}={word(value)}"


def _files(plan: LaunchPlan) -> Iterator[str]:
    if plan.files:
        yield f"mkdir -p {FOLDER}"
    for file in plan.files:
        yield f"printf '%s' {word(file.text(FOLDER))} >{FOLDER}/{literal(file.name)}"


FORMAT = Format("oneline", ".line", export, whole=False)
