"""Where curves are sent, said among free arguments: a word that transformers does not know ends the program at its start.

Source: `get_reporting_integration_callbacks` and `INTEGRATION_TO_CALLBACK` in transformers' integration_utils.py, with what
versions up to 5 added; older ones know fewer.
"""

from __future__ import annotations

from collections.abc import Iterator

from prl_tui.core import wordlist
from prl_tui.core.config import RunConfig, nearest
from prl_tui.core.findings import Finding, Fix
from prl_tui.i18n import t

KNOWN = ("tensorboard", "wandb", "swanlab", "none", "all", "mlflow", "comet_ml", "clearml", "neptune", "trackio", "dvclive",
         "dagshub", "codecarbon", "flyte", "kubeflow", "azure_ml")  # fmt: skip
SHORT = {"tb": "tensorboard", "tboard": "tensorboard", "wb": "wandb", "w&b": "wandb", "swan": "swanlab", "comet": "comet_ml",
         "null": "none", "no": "none", "false": "none"}  # fmt: skip
"""What people write for a word."""
FLAGS = ("--report_to", "--report-to")


def findings(config: RunConfig) -> Iterator[Finding]:
    """A warning for each word behind `--report_to` that is none and nearly one: another program may have its own."""
    for field in config.recipe.fields:
        if field.type != "arguments" or field.before:
            continue
        words = config.value(field.key)
        for at, word in _named(words or ()):
            flag, equals, given = word.rpartition("=")
            near = SHORT.get(given.lower()) or nearest(given, list(KNOWN))
            if given in KNOWN or near is None:
                continue
            mended = wordlist.shown((*words[:at], f"{flag}{equals}{near}", *words[at + 1 :]))
            yield Finding(
                "report-to-unknown",
                "warning",
                field.key,
                t("--report_to {given}: transformers knows no such word; did you mean {near}?", given=given, near=near),
                t("A word that it does not know ends the program when it starts."),
                (Fix({field.key: mended}, f"--report_to {given} → {near}"),),
            )


def _named(words: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """The words behind the flag with their places, up to the next flag; `--report_to=x` is one itself."""
    behind = False
    for at, word in enumerate(words):
        if word.startswith("--"):
            behind = word in FLAGS
            if word.partition("=")[0] in FLAGS and "=" in word:
                yield at, word
        elif behind:
            yield at, word
