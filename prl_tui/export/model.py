"""What an exporter gives: the text, and what it could not carry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from prl_tui import __version__
from prl_tui.core import seal
from prl_tui.core.config import Setting, Source
from prl_tui.core.config_file import digest
from prl_tui.core.plan import LaunchPlan
from prl_tui.i18n import t


@dataclass(frozen=True, slots=True)
class Export:
    """A launch plan in one format."""

    text: str
    losses: tuple[str, ...] = ()
    """One sentence for each thing that the format has no place for."""
    executable: bool = False

    @property
    def begins(self) -> int:
        """Lines before this config's own part: the functions that every script has."""
        before, found, _ = self.text.partition(values_mark())
        return before.count("\n") if found else 0


def _fits(plan: LaunchPlan) -> str:  # noqa: ARG001
    return ""


@dataclass(frozen=True, slots=True)
class Format:
    """One way to write a launch plan; calling it writes one."""

    name: str
    suffix: str
    """The ending of its files, by which the app's dialog knows it."""
    make: Callable[..., Export]
    """The plan's text; what the format `asks` for comes by those names, as texts."""
    refusal: Callable[[LaunchPlan], str] = _fits
    """One sentence why a plan cannot be written so, or ""."""
    asks: tuple[str, ...] = ()
    """What it takes that no run config has, each a text that may be empty: `image`, `gpu_type`."""
    whole: bool = True
    """Whether its text has all settings; a command lacks what stands in a file or in how the run is started."""

    def refused(self, plan: LaunchPlan) -> str:
        """One sentence why the plan is not written, or "": a secret in it, or what the format itself refuses."""
        from prl_tui.export import losses

        return losses.secret(plan) or self.refusal(plan)

    def __call__(self, plan: LaunchPlan, **told: str) -> Export:
        """The plan's text, sealed, with what every format has to say of it among its losses."""
        from prl_tui.export import losses

        made = self.make(plan, **{name: told[name] for name in self.asks if name in told})
        text = seal.sealed(made.text)
        unsealed = (losses.unsealed(),) if text == made.text else ()
        return replace(made, text=text, losses=(*made.losses, *unsealed, *losses.placeholders(plan)))


def values_mark() -> str:
    """The line of a script from which on it speaks of its own config."""
    return "# --- " + t("values") + " ---"


def header(plan: LaunchPlan) -> list[str]:
    """What every exported file says of itself: version, recipe, preset, changes, the config's hash."""
    config = plan.config
    source = f"{config.recipe.name}/{config.preset}" if config.preset else config.recipe.name
    lines = [t("{source}, written by prl-tui {version}.", source=source, version=__version__)]
    base = config.baseline()
    for key in config.changed():
        old, new = base.text(key) or "–", config.text(key) or "–"
        lines.append(one_line(f"  {key}: {old} → {new}  ({_origin(config.settings[key])})"))
    lines.append(f"config sha256: {digest(config)}")
    return lines


def _origin(setting: Setting) -> str:
    """Who changed a value, of a run's which one."""
    return f"run {setting.origin}" if setting.source is Source.RUN and setting.origin else setting.source.word


def one_line(text: str) -> str:
    """Text that cannot leave its comment line."""
    return "".join(c if c.isprintable() else "�" for c in text)
