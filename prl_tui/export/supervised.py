"""A bash script that runs its config through prl-tui itself, where the platform has it: supervised, with logs, state and
exit code in a state folder on shared storage, so that `watch` works on the run from another machine.
"""

from __future__ import annotations

import hashlib

from prl_tui import __version__
from prl_tui.core.config_file import dump
from prl_tui.core.plan import LaunchPlan
from prl_tui.export import bash_overrides
from prl_tui.export.bash_files import end_of
from prl_tui.export.model import Export, Format, header, one_line
from prl_tui.export.shell import literal, no_arguments
from prl_tui.i18n import t

STATE = "PRL_TUI_JOB_STATE"
"""The variable that names the state folder; without it one below the directory in which the job starts."""

_OLDER = """older() { # true when the version $1 is before $2
  local at
  local -a one other
  IFS=. read -r -a one <<<"$1"
  IFS=. read -r -a other <<<"$2"
  for at in 0 1 2; do
    one[at]=${one[at]-} other[at]=${other[at]-}
    one[at]=${one[at]//[!0-9]/} other[at]=${other[at]//[!0-9]/}
    if (( 10#${one[at]:-0} != 10#${other[at]:-0} )); then (( 10#${one[at]:-0} < 10#${other[at]:-0} )); return; fi
  done
  return 1
}"""


def export(plan: LaunchPlan, stack: str = "") -> Export:
    """The script of a plan; `stack` is the engine's generation where the config itself has no field for it."""
    config = dump(plan.config)
    name = hashlib.sha256(config.encode()).hexdigest()[:12]
    end = end_of(config)
    missing = t("prl-tui is not installed here; the bash format runs without it.")
    older = t("this script needs prl-tui {version} or later; here is ", version=__version__)
    unwritable = t("the state folder cannot be written: ")
    words = ["launch", "--foreground", "--use-env", *(["--stack", literal(stack)] if stack else [])]
    lines = [
        "#!/usr/bin/env bash",
        "# shellcheck disable=SC2016",
        '[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"',
        *(one_line(f"# {line}".rstrip()) for line in header(plan)),
        "# " + t("{variable} names the state folder; it belongs on shared storage.", variable=STATE),
        "set -euo pipefail",
        "fail() { printf '" + t("error: ") + "%s\\n' \"$*\" >&2; exit 1; }",
        no_arguments(bash_overrides.example_of(plan)),
        *_OLDER.split("\n"),
        f"command -v prl-tui >/dev/null || fail {literal(missing)}",
        f"said=$(prl-tui --version 2>/dev/null) || fail {literal(missing)}",
        f"if older \"${{said##* }}\" {literal(__version__)}; then fail {literal(older)}\"${{said##* }}\"; fi",
        f'state=${{{STATE}:-$PWD/prl-tui-state}}',
        "if [[ $state != /* ]]; then state=$PWD/$state; fi",
        f'mkdir -p "$state/configs" 2>/dev/null || fail {literal(unwritable)}"$state"',
        f'config=$state/configs/{name}.toml',
        f"{{ cat >\"$config.$$\" && mv -f \"$config.$$\" \"$config\"; }} <<'{end}' || fail {literal(unwritable)}\"$state\"",
        *config.removesuffix("\n").split("\n"),
        end,
        'export XDG_STATE_HOME=$state',
        "printf '%s XDG_STATE_HOME=%q prl-tui watch\\n' " + literal(t("watch it from another machine:")) + ' "$state" >&2',
        f'exec prl-tui {" ".join([words[0], chr(34) + "$config" + chr(34), *words[1:]])}',
    ]  # fmt: skip
    return Export("\n".join(lines) + "\n", _losses(plan), executable=True)


def _losses(plan: LaunchPlan) -> tuple[str, ...]:
    source = f"{plan.config.recipe.name}/{plan.config.preset}" if plan.config.preset else plan.config.recipe.name
    told = [
        t(
            "The platform needs prl-tui {version} or later, which must know {source}.",
            version=__version__,
            source=source,
        )
    ]
    if plan.config.recipe.origin:
        told.append(
            t("{recipe} is a recipe of your own: copy its file to the platform.", recipe=plan.config.recipe.name)
        )
    return tuple(told)


FORMAT = Format("bash", ".sh", export, asks=("stack",))
