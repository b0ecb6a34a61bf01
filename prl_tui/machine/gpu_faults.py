"""Why GPUs cannot be read: each cause as a code with its details, and the one sentence that a person reads.

Codes travel from the sampler's process to the screen, so the sentence is made where the language is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prl_tui.core.value import Value
from prl_tui.i18n import t

if TYPE_CHECKING:
    from collections.abc import Mapping


class GpuFault(Value):
    """Why no GPU, or one GPU, can be read."""

    code: str
    details: Mapping[str, str] = {}
    """What the sentence names: versions, a path, seconds, the driver's own words."""

    @property
    def sentence(self) -> str:
        """One sentence: what is wrong and the way out."""
        return _sentence(self.code, self.details)


def _sentence(code: str, details: Mapping[str, str]) -> str:
    """The sentence of a code; an unknown code shows the driver's own words."""
    values = dict(details)
    if code == "version-mismatch" and values.get("kernel") and values.get("library"):
        return t(
            "The NVIDIA library is {library} but the loaded kernel driver is {kernel}: the driver was updated "
            "under a running system; reboot, or in a container restart it",
            library=values["library"],
            kernel=values["kernel"],
        )
    if code in ("binding-shadowed", "hung", "reader-ended") and values:
        return _with_details(code, values)
    return _plain().get(code) or t("The NVIDIA driver reports: {message}", message=values.get("message", code))


def _with_details(code: str, values: dict[str, str]) -> str:
    if code == "binding-shadowed":
        return t(
            "Another module named pynvml hides the one of nvidia-ml-py: uninstall the package pynvml, "
            "or move {path} away",
            path=values.get("path", "–"),
        )
    if code == "hung":
        return t(
            "The NVIDIA driver has not answered for {seconds} s: a GPU may be hung, `dmesg` on the host would show it",
            seconds=values.get("seconds", "–"),
        )
    return t("The process that reads the GPUs ended by itself: {how}", how=values.get("how", "–"))


def _plain() -> dict[str, str]:
    return {
        "hung": t("The NVIDIA driver did not answer: a GPU may be hung, `dmesg` on the host would show it"),
        "reader-ended": t("The process that reads the GPUs ended by itself"),
        "binding-shadowed": t(
            "Another module named pynvml hides the one of nvidia-ml-py: uninstall the package pynvml"
        ),
        "binding-missing": t("GPUs cannot be read without the Python package nvidia-ml-py: pip install nvidia-ml-py"),
        "no-driver": t("This box has no NVIDIA driver: libnvidia-ml.so.1 is not found"),
        "library-missing": t(
            "The NVIDIA driver is loaded but libnvidia-ml.so.1 is not found: a container needs the NVIDIA runtime "
            "(docker run --gpus all)"
        ),
        "wsl": t(
            "WSL has no NVIDIA library: install the NVIDIA driver in Windows, which puts libnvidia-ml.so.1 "
            "into /usr/lib/wsl/lib"
        ),
        "driver-not-loaded": t("The NVIDIA kernel driver is not loaded: reboot, or load it with `modprobe nvidia`"),
        "version-mismatch": t(
            "The NVIDIA library and the loaded kernel driver have different versions: reboot, "
            "or in a container restart it"
        ),
        "no-permission": t(
            "This user may not use the NVIDIA devices: ask for access to /dev/nvidia*, or for GPUs in this container"
        ),
        "no-gpus": t("The NVIDIA driver answers but shows no GPU here"),
        "lost": t("A GPU has fallen off the bus: only a reset or a reboot brings it back"),
        "unknown-error": t(
            "The NVIDIA driver gives only an unknown error: a container that lost its devices must be restarted; "
            "otherwise `dmesg` shows the cause"
        ),
        "reset-required": t("A GPU must be reset before it can be used: nvidia-smi --gpu-reset, or a reboot"),
    }


def missing_reason(code: str) -> str:
    """Why one value is not known, in a few words."""
    words = {
        "not-supported": t("this GPU does not report it"),
        "wsl": t("WSL does not show it: Windows has it"),
        "mig": t("not reported while MIG is on"),
        "no-permission": t("not allowed for this user"),
        "lost": t("the GPU is lost"),
        "driver-too-old": t("this driver does not know it"),
        "binding-too-old": t("this nvidia-ml-py does not know it"),
        "not-visible": t("not visible from here"),
        "implausible": t("the driver gave an impossible number"),
        "reset-required": t("the GPU must be reset"),
        "unknown-error": t("the driver gave an unknown error"),
        "timeout": t("the driver did not answer in time"),
    }
    return words.get(code, code)
